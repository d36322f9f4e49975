package jobs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// Bounds of what is kept.
const (
	// maxKept is how many submitted configs are kept.
	maxKept = 1000
	// maxKeptBytes is how many bytes all of them may have, sealed.
	maxKeptBytes = 32 << 20
	// maxLooks is how many jobs Zeta is asked for to find one that is over.
	maxLooks = 20
)

// Errors of keeping.
var (
	// ErrNoKeys: nothing can be kept, because nothing could seal it.
	ErrNoKeys = errors.New("submitted configs cannot be kept: they may have secrets in them, so set jobs.key_file to a file with a key (openssl rand -base64 32)")
	// ErrFull: too much is kept already.
	ErrFull = errors.New("no more submitted configs can be kept: none of the oldest jobs is over for good")
)

// recordKey names the record of one job.
func recordKey(cluster, id string) string { return cluster + "/" + id }

// about ties what is sealed to its place.
func about(r *state.JobRecord) string {
	return fmt.Sprintf("%q %q %q %q", r.Cluster, r.Job, r.Name, r.Format)
}

func (l *Library) keys() (*Keys, error) {
	if l.Keys == nil || l.records == nil {
		return nil, ErrNoKeys
	}
	k, err := l.Keys()
	if err != nil {
		return nil, fmt.Errorf("reading the keys of submitted configs: %w", err)
	}
	return k, nil
}

// submitted finds what was submitted under an id.
func (c Cluster) submitted(ctx context.Context, id string) ([]found, error) {
	if c.library.records == nil || id == "" {
		return nil, nil
	}
	row, err := c.library.records.Get(ctx, recordKey(c.name, id))
	if errors.Is(err, state.ErrUnreadable) {
		return nil, fmt.Errorf("%w; %s, and put the config that it was submitted with into jobs.folder", err, remedy(row.Key))
	}
	if err != nil || row.Version == 0 {
		return nil, err
	}
	r := &row.Value
	where := fmt.Sprintf("what was submitted at %s", scaling.At(r.At))
	k, err := c.library.keys()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	text, err := k.open(r.Sealed, about(r))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	return []found{{control.Config{Format: r.Format, Text: text}, where}}, nil
}

// remedy is what a person does about a record that cannot be read.
func remedy(key string) string {
	return fmt.Sprintf("remove the record of kind %s with the key %q from the state store (docs/state.md)", state.Job, key)
}

// list reads the records of all clusters, and tells of those that cannot be read.
func (l *Library) list(ctx context.Context) ([]state.Row[state.JobRecord], []state.Unreadable, error) {
	rows, bad, err := l.records.ListReadable(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the submitted configs: %w", err)
	}
	state.NoteUnreadable(l.unreadable, bad)
	return rows, bad, nil
}

// keep stores a config under a version that was read, after it has made room if
// it has to.
func (c Cluster) keep(ctx context.Context, z Zeta, k *Keys, r state.JobRecord, text []byte) error {
	rows, bad, err := c.library.list(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	r.Sealed = k.seal(text, about(&r))
	w := state.NewWrite(c.library.Store, state.NoFence)
	size := len(r.Sealed)
	for _, row := range rows {
		size += len(row.Value.Sealed)
	}
	for _, b := range bad {
		size += b.Size
	}
	if len(rows)+len(bad) >= maxKept || size > maxKeptBytes {
		old, ok := c.over(ctx, z, rows)
		if !ok || size-len(old.Value.Sealed) > maxKeptBytes {
			return ErrFull
		}
		c.library.records.Remove(w, old.Key)
		c.library.Logger.Info("config of a job that is over is not kept any longer",
			"cluster", old.Value.Cluster, "job", old.Value.Job, "name", old.Value.Name)
	}
	if err := c.library.records.Replace(w, state.Row[state.JobRecord]{Key: recordKey(r.Cluster, r.Job)}, r); err != nil {
		return err
	}
	if err := w.Commit(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	return nil
}

// over finds the oldest job of this cluster that is over for good. One that was
// stopped with a savepoint or that failed may still be restored.
func (c Cluster) over(ctx context.Context, z Zeta, rows []state.Row[state.JobRecord]) (state.Row[state.JobRecord], bool) {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b state.Row[state.JobRecord]) int { return a.Value.At.Compare(b.Value.At) })
	looks := 0
	for _, row := range rows {
		if row.Value.Cluster != c.name {
			continue
		}
		if looks++; looks > maxLooks {
			break
		}
		j, err := z.Job(ctx, row.Value.Job)
		if err == nil && (j.Status == control.Finished || j.Status == control.Canceled) {
			return row, true
		}
	}
	return state.Row[state.JobRecord]{}, false
}

// forget drops what has not become a job.
func (c Cluster) forget(ctx context.Context, id string) error {
	w := state.NewWrite(c.library.Store, state.NoFence)
	c.library.records.Remove(w, recordKey(c.name, id))
	return w.Commit(ctx)
}

// same reports whether a kept config is the one that is submitted now.
func (c Cluster) same(k *Keys, r *state.JobRecord, s Submission) (bool, error) {
	text, err := k.open(r.Sealed, about(r))
	if err != nil {
		return false, err
	}
	return r.Name == s.Name && r.Format == s.Config.Format && bytes.Equal(text, s.Config.Text), nil
}

// Kept is one submitted config as it is listed: everything but its text.
type Kept struct {
	Cluster string    `json:"cluster"`
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Format  string    `json:"format"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`
}

// Kept lists the submitted configs of all clusters, newest first, and says how many
// records cannot be read; the log names those.
func (l *Library) Kept(ctx context.Context) (kept []Kept, unreadable int, err error) {
	if l.records == nil {
		return nil, 0, nil
	}
	rows, bad, err := l.list(ctx)
	if err != nil {
		return nil, 0, err
	}
	out := make([]Kept, len(rows))
	for i, row := range rows {
		r := &row.Value
		out[i] = Kept{Cluster: r.Cluster, ID: r.Job, Name: r.Name, Format: r.Format, At: r.At, By: r.By}
	}
	slices.SortFunc(out, func(a, b Kept) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.ID, b.ID))
	})
	return out, len(bad), nil
}
