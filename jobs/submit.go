package jobs

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/web/handler"
	"github.com/zeta-scaler/zeta-scaler/zeta"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// Zeta is what a submission asks of the cluster. The errors are those of
// control.
type Zeta interface {
	Job(ctx context.Context, id string) (control.Job, error)
	// Submit starts a job under an id that nobody has used.
	Submit(ctx context.Context, id, name string, c control.Config) error
}

// Errors of a submission, beside those of Zeta, which are control's.
var (
	// ErrInvalid: the submission cannot be passed on as it is.
	ErrInvalid = errors.New("invalid submission")
	// ErrTaken: the id is that of another job.
	ErrTaken = errors.New("the id is taken")
	// ErrNoCluster: there is no such cluster, or several and none was named.
	ErrNoCluster = errors.New("no such cluster")
	// ErrStore: what is kept could not be read or written.
	ErrStore = errors.New("the store of submitted configs failed")
)

// Submission is one job for Zeta.
type Submission struct {
	// ID is a positive whole number that no other job has, empty for one of our
	// own. Who gives one may ask again when the answer was lost: the job starts
	// once.
	ID     string
	Name   string
	Config control.Config
	// By names who submits, for people.
	By string
}

// Submitted is what became of a submission that Zeta has accepted.
type Submitted struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Kept is true if the config is kept, so that the job can be moved. A batch
	// job's is not: it is never moved, but waited for.
	Kept bool `json:"kept"`
	// Again is true if an earlier request has started the job.
	Again bool `json:"again"`
}

const (
	maxJobName = 200
	// confirmFor is how long a job is looked for whose submission had no answer,
	// confirmEvery how often.
	confirmFor, confirmEvery = 8 * time.Second, 500 * time.Millisecond
)

// Submit passes a job on to Zeta and keeps its config. The config is stored
// before Zeta gets it, and dropped if Zeta does not get it or refuses; after a
// lost answer of Zeta's it stays (control.ErrUnknownOutcome), and the same
// submission under the same id finds out.
func (c Cluster) Submit(ctx context.Context, z Zeta, s Submission) (Submitted, error) {
	mode, err := s.check()
	if err != nil {
		return Submitted{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if s.ID == "" {
		s.ID = NewID()
	}
	out := Submitted{ID: s.ID, Name: s.Name, Kept: mode != control.Batch}
	text, secrets, err := c.library.resolve(s.Config)
	if err != nil {
		return Submitted{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	known, err := c.earlier(ctx, z, s, out.Kept)
	switch {
	case err != nil:
		return Submitted{}, err
	case known == started:
		out.Again = true
		return out, nil
	case known == unknown && out.Kept:
		if err := c.store(ctx, z, s); err != nil {
			return Submitted{}, err
		}
	}
	err = z.Submit(ctx, s.ID, s.Name, control.Config{Format: s.Config.Format, Text: text, Secrets: secrets})
	if errors.Is(err, control.ErrUnknownOutcome) {
		err = c.confirm(ctx, z, s.ID, err)
	}
	if err != nil && !errors.Is(err, control.ErrUnknownOutcome) && out.Kept {
		if failed := c.forget(context.WithoutCancel(ctx), s.ID); failed != nil {
			c.library.Logger.Warn("config of a job that was not started could not be dropped", "cluster", c.name, "job", s.ID, "err", failed)
		}
	}
	if err != nil {
		return Submitted{}, fmt.Errorf("submitting job %q under id %s: %w", handler.Shown(s.Name), s.ID, err)
	}
	return out, nil
}

// before is what is known of a submission before it is passed on.
type before int

const (
	// unknown to us and to Zeta; stored, but not known to Zeta; started.
	unknown before = iota
	stored
	started
)

// earlier finds out whether the same submission was made before.
func (c Cluster) earlier(ctx context.Context, z Zeta, s Submission, kept bool) (before, error) {
	known := unknown
	if kept {
		k, err := c.library.keys()
		if err != nil {
			return 0, err
		}
		row, err := c.library.records.Get(ctx, recordKey(c.name, s.ID))
		switch {
		case errors.Is(err, state.ErrUnreadable):
			return 0, fmt.Errorf("%w: %w; %s", ErrTaken, err, remedy(row.Key))
		case err != nil:
			return 0, fmt.Errorf("%w: %w", ErrStore, err)
		}
		if row.Version > 0 {
			same, err := c.same(k, &row.Value, s)
			switch {
			case errors.Is(err, errNoKey):
				return 0, fmt.Errorf("%w: what was submitted under id %s cannot be read: %w; put the key back into jobs.key_file, or take another id", ErrTaken, s.ID, err)
			case err != nil:
				return 0, fmt.Errorf("reading what was submitted under id %s: %w", s.ID, err)
			case !same:
				return 0, fmt.Errorf("%w: another config was submitted under id %s", ErrTaken, s.ID)
			}
			known = stored
		}
	}
	j, err := z.Job(ctx, s.ID)
	switch {
	case errors.Is(err, control.ErrNoJob):
		return known, nil
	case err != nil:
		return 0, fmt.Errorf("looking whether Zeta knows id %s: %w", s.ID, err)
	case known == stored, !kept && j.Name == s.Name && compare(s.Config, j) == nil:
		return started, nil
	}
	return 0, fmt.Errorf("%w: Zeta has a job %q under id %s", ErrTaken, handler.Shown(j.Name), s.ID)
}

func (c Cluster) store(ctx context.Context, z Zeta, s Submission) error {
	k, err := c.library.keys()
	if err != nil {
		return err
	}
	return c.keep(ctx, z, k, state.JobRecord{
		Cluster: c.name, Job: s.ID, Name: s.Name, Format: s.Config.Format, By: s.By, At: state.Instant(c.library.Now()),
	}, s.Config.Text)
}

// confirm looks for a job whose submission had no answer.
func (c Cluster) confirm(ctx context.Context, z Zeta, id string, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, confirmFor)
	defer cancel()
	for {
		if _, err := z.Job(ctx, id); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; submit the same again under this id", cause)
		case <-time.After(confirmEvery):
		}
	}
}

var jobID = regexp.MustCompile(`^[1-9][0-9]{0,18}$`)

// check says what is wrong with a submission, and its mode: empty if the text
// does not tell.
func (s *Submission) check() (control.Mode, error) {
	if _, err := strconv.ParseInt(s.ID, 10, 64); s.ID != "" && (err != nil || !jobID.MatchString(s.ID)) {
		return "", errors.New("the id is not a whole number from 1 to 9223372036854775807")
	}
	switch n := utf8.RuneCountInString(s.Name); {
	case strings.TrimSpace(s.Name) == "":
		return "", errors.New("the name of the job is missing")
	case n > maxJobName:
		return "", fmt.Errorf("the name of the job has %d characters, at most %d are possible", n, maxJobName)
	case strings.HasPrefix(s.Name, zeta.HoldPrefix):
		return "", fmt.Errorf("names that begin with %s are those of jobs that hold a worker's slots", zeta.HoldPrefix)
	case !utf8.ValidString(s.Name) || strings.ContainsFunc(s.Name, unicode.IsControl):
		return "", errors.New("the name of the job has control characters in it or is not UTF-8")
	}
	known := slices.Compact(slices.Sorted(maps.Values(formats())))
	if !slices.Contains(known, s.Config.Format) {
		return "", fmt.Errorf("the format %q is not known, expected one of %s", handler.Shown(s.Config.Format), strings.Join(known, ", "))
	}
	switch n := len(s.Config.Text); {
	case n == 0:
		return "", errors.New("the config is empty")
	case n > MaxConfig:
		return "", fmt.Errorf("the config is longer than %d KiB", MaxConfig>>10)
	case !utf8.Valid(s.Config.Text):
		return "", errors.New("the config is not UTF-8")
	}
	return s.mode()
}

func (s *Submission) mode() (control.Mode, error) {
	mode := textMode(string(s.Config.Text))
	if s.Config.Format == "json" {
		o, err := readOutline(s.Config.Text)
		if err != nil {
			return "", err
		}
		if mode = strings.ToUpper(o.mode()); mode != string(control.Batch) && mode != string(control.Streaming) {
			return "", fmt.Errorf("its job.mode is %q, expected BATCH or STREAMING", handler.Shown(mode))
		}
	}
	return control.Mode(mode), nil
}

// NewID draws an id for a job that is above those that Zeta gives itself until far beyond
// this century, and that no two submissions share.
func NewID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	const lowest = 1 << 62
	return strconv.FormatUint(lowest|binary.BigEndian.Uint64(b[:])>>2, 10)
}
