// Package jobs keeps what jobs were submitted with. Zeta does not give a job's
// config back and takes any other one for it without a word, so a job can be
// restored only from the very text that it was submitted with: out of a folder
// of registered configs, or kept when the job was submitted through us.
package jobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/trouble"
	"github.com/zeta-scaler/zeta-scaler/web/handler"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// Errors that callers tell apart.
var (
	// ErrNotRegistered: there is no config for the job.
	ErrNotRegistered = errors.New("no config is registered")
	// ErrAmbiguous: two different configs are for one job.
	ErrAmbiguous = errors.New("two configs are registered")
	// ErrOther: what is registered is not what the job runs with.
	ErrOther = errors.New("what is registered is not the config of the job")
)

// MaxConfig is the longest config that is read or taken, in bytes.
const MaxConfig = 512 << 10

// Options are where configs come from. Each may be left out.
type Options struct {
	// Folder has the registered configs, empty for none.
	Folder string
	// Secrets is the folder of the files that ${file:NAME} names; empty: no config
	// may name one.
	Secrets string
	// Store keeps the submitted configs; nil: none are kept.
	Store state.Store
	// Keys reads the keys that seal what is kept, at every use, so that they can
	// be changed while we run; nil: nothing is kept.
	Keys func() (*Keys, error)
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Logger is told what was left aside; nil discards it.
	Logger *slog.Logger
}

// Library finds and keeps configs of all clusters. It is safe for concurrent
// use, and reads everything anew each time: what is changed counts at once.
type Library struct {
	Options
	records *state.Table[state.JobRecord]
	// unreadable is that some of the records cannot be decoded.
	unreadable *trouble.State
}

// New makes a library. It reads nothing yet.
func New(o Options) *Library {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	l := &Library{Options: o, unreadable: trouble.New(o.Logger, slog.LevelError,
		"submitted configs cannot be read: no drain moves their jobs until their records are removed from the state store (docs/state.md)",
		"all submitted configs can be read again")}
	if o.Store != nil {
		l.records = state.Jobs(o.Store)
	}
	return l
}

// Cluster is the library of one cluster's jobs.
type Cluster struct {
	library *Library
	name    string
}

// Cluster gives the configs of one cluster by the name that the configuration
// has for it.
func (l *Library) Cluster(name string) Cluster { return Cluster{l, name} }

// found is one config that is registered for a job.
type found struct {
	control.Config
	// where names it for people.
	where string
}

// Config finds the one config of a job: in the folder by id or name, or among
// the submitted ones by id. It fails with ErrNotRegistered, ErrAmbiguous or
// ErrOther, each with the files and the job. What Zeta does not say of the job
// is not compared.
func (c Cluster) Config(ctx context.Context, j control.Job) (control.Config, error) {
	f, err := c.find(ctx, j)
	if err != nil {
		return control.Config{}, err
	}
	if err := compare(f.Config, j); err != nil {
		return control.Config{}, fmt.Errorf("%w %s: %s: %w", ErrOther, title(j), f.where, err)
	}
	text, secrets, err := c.library.resolve(f.Config)
	if err != nil {
		return control.Config{}, fmt.Errorf("reading the config of job %s: %s: %w", title(j), f.where, err)
	}
	return control.Config{Format: f.Format, Text: text, Where: f.where, Digest: digest(f.Config), Named: f.Named, Secrets: secrets}, nil
}

// digest tells a text from any other. Secrets in it, or that it names, do not count:
// they are rotated, and whoever may read the digest must not try them out on it.
func digest(c control.Config) string {
	return fmt.Sprintf("%s:%x", c.Format, sha256.Sum256(masked(c.Text)))
}

func (c Cluster) find(ctx context.Context, j control.Job) (found, error) {
	all, err := c.library.inFolder(c.name, j)
	if err != nil {
		return found{}, fmt.Errorf("looking for the config of job %s: %w", title(j), err)
	}
	kept, err := c.submitted(ctx, j.ID)
	if err != nil {
		return found{}, fmt.Errorf("looking for the config of job %s: %w", title(j), err)
	}
	if all = append(all, kept...); len(all) == 0 {
		return found{}, fmt.Errorf("%w for job %s: %s", ErrNotRegistered, title(j), c.library.howTo(j))
	}
	for _, other := range all[1:] {
		if other.Format != all[0].Format || !bytes.Equal(other.Text, all[0].Text) {
			return found{}, fmt.Errorf("%w for job %s: %s and %s differ; keep the one that it was submitted with",
				ErrAmbiguous, title(j), all[0].where, other.where)
		}
	}
	if at := slices.IndexFunc(all, func(f found) bool { return !f.Named }); at > 0 {
		return all[at], nil
	}
	return all[0], nil
}

// howTo says how a config is registered.
func (l *Library) howTo(j control.Job) string {
	var ways []string
	if l.Folder != "" {
		ways = append(ways, fmt.Sprintf("put it into %s as %s.json", l.Folder, handler.Shown(fileName(j))))
	}
	if l.Keys != nil && l.records != nil {
		ways = append(ways, "submit the job with `zeta-scaler submit`")
	}
	if len(ways) == 0 {
		return "set jobs.folder, or jobs.key_file and submit the job with `zeta-scaler submit`"
	}
	return strings.Join(ways, ", or ")
}

// title is a job as messages name it.
func title(j control.Job) string {
	if j.Name == "" {
		return fmt.Sprintf("%q", handler.Shown(j.ID))
	}
	return fmt.Sprintf("%q (%s)", handler.Shown(j.Name), handler.Shown(j.ID))
}
