package backtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// saveEvery is how often a checkpoint is written at most.
const saveEvery = 5 * time.Second

// checkpoint is a backtest between two ticks, as it is written to a file.
type checkpoint struct {
	Identity identity              `json:"identity"`
	Start    time.Time             `json:"start"`
	End      time.Time             `json:"end"`
	Now      time.Time             `json:"now"`
	Sides    []json.RawMessage     `json:"sides"`
	Report   *Report               `json:"report"`
	Newest   map[string]second     `json:"newest"`
	Open     map[string]Difference `json:"open"`
	Changes  int                   `json:"changes"`
	Seen     span                  `json:"seen"`
}

// identity is what has to be the same for a backtest to go on.
type identity struct {
	Source      string        `json:"source"`
	RuleSets    []string      `json:"ruleSets"`
	Limits      []LimitChange `json:"limits"`
	Scopes      []string      `json:"scopes"`
	ForgetAfter time.Duration `json:"forgetAfter"`
	Plots       bool          `json:"plots"`
	Period      string        `json:"period"`
}

func (o *Options) identity() identity {
	id := identity{
		Source: o.SourceName, Limits: o.Limits.changes, Scopes: o.Scopes, ForgetAfter: o.ForgetAfter, Plots: o.Plots, Period: o.Period,
	}
	for _, rs := range o.RuleSets {
		id.RuleSets = append(id.RuleSets, rs.Digest)
	}
	return id
}

// differs names what is not the same.
func (id *identity) differs(o *identity) []string {
	var names []string
	for _, part := range []struct {
		name string
		a, b any
	}{
		{"the source", id.Source, o.Source},
		{"the rule sets", id.RuleSets, o.RuleSets},
		{"the limits", id.Limits, o.Limits},
		{"the scopes", id.Scopes, o.Scopes},
		{"the period", id.Period, o.Period},
		{"plots", id.Plots, o.Plots},
		{"forget_after", id.ForgetAfter, o.ForgetAfter},
	} {
		a, _ := json.Marshal(part.a) //nolint:errchkjson // none of them can fail
		b, _ := json.Marshal(part.b) //nolint:errchkjson // none of them can fail
		if !slices.Equal(a, b) {
			names = append(names, part.name)
		}
	}
	return names
}

// load reads the checkpoint of a backtest, nil if there is none.
func (o *Options) load() (*checkpoint, error) {
	if o.Checkpoint == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	data, err := os.ReadFile(o.Checkpoint)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("reading the checkpoint: %w", err)
	}
	var c checkpoint
	if err := json.Unmarshal(data, &c); err != nil || c.Report == nil || len(c.Sides) != len(o.RuleSets) {
		return nil, fmt.Errorf("%s is no checkpoint of this backtest: name another file, or delete it (%v)", o.Checkpoint, err) //nolint:errorlint // it may be nil
	}
	mine := o.identity()
	if names := mine.differs(&c.Identity); len(names) > 0 {
		return nil, fmt.Errorf("the checkpoint %s is of another backtest, these differ: %v; name another file, or delete it", o.Checkpoint, names)
	}
	return &c, nil
}

// resume goes on where a checkpoint was written.
func (r *run) resume(c *checkpoint) error {
	if c == nil {
		return nil
	}
	for i := range r.sides {
		if err := r.sides[i].replay.Resume(c.Sides[i]); err != nil {
			return fmt.Errorf("reading the checkpoint %s: %w", r.o.Checkpoint, err)
		}
	}
	r.before, _ = r.sides[0].replay.Ticks()
	t := r.tally
	t.report, t.newest, t.changes, t.seen = c.Report, c.Newest, c.Changes, c.Seen
	t.report.Partial, t.report.Stopped = false, ""
	scopes := t.report.Scopes
	t.report.Scopes = nil
	for _, s := range scopes {
		t.add(s)
		if s.Plot != nil {
			t.plots++
		}
		if d, ok := c.Open[s.Scope.Key]; ok {
			t.open[s.Scope.Key] = &d
			if n := len(s.Comparison.Differences); n > 0 && s.Comparison.Differences[n-1].From.Equal(d.From) {
				t.open[s.Scope.Key] = s.Comparison.Differences[n-1]
			}
		}
	}
	return nil
}

// save writes the checkpoint, whole or not at all.
func (r *run) save() error {
	if r.o.Lines != nil {
		if err := r.o.Lines.Flush(); err != nil {
			return err
		}
	}
	t := r.tally
	c := checkpoint{
		Identity: r.o.identity(), Start: r.o.Start, End: r.o.End, Now: r.o.Now, Report: t.report,
		Newest: t.newest, Open: map[string]Difference{}, Changes: t.changes, Seen: t.seen,
	}
	for key, d := range t.open {
		c.Open[key] = *d
	}
	for _, s := range r.sides {
		state, err := s.replay.Save()
		if err != nil {
			return fmt.Errorf("writing the checkpoint: %w", err)
		}
		c.Sides = append(c.Sides, state)
	}
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("writing the checkpoint: %w", err)
	}
	if err := replaceFile(r.o.Checkpoint, data); err != nil {
		return fmt.Errorf("writing the checkpoint: %w", err)
	}
	return nil
}

// replaceFile writes a file beside the old one and puts it in its place.
func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// finish deletes the checkpoint of a backtest that is done.
func (r *run) finish() error {
	if r.o.Checkpoint == "" {
		return nil
	}
	if err := os.Remove(r.o.Checkpoint); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("deleting the checkpoint: %w", err)
	}
	return nil
}
