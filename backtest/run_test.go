package backtest

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// result is all that a backtest says, as text.
func result(t require.TestingT, r *Report) string {
	b, err := json.Marshal(r)
	require.NoError(t, err)
	return string(b)
}

// TestResultDoesNotDependOnPieces: however much is read at once, whatever the
// server allows, and wherever it is interrupted, a backtest says the same.
func TestResultDoesNotDependOnPieces(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "ticks")
		tp := drawTape(t, n)
		sets := []*rules.RuleSet{parseRules(t, "1.0.0", "30s", "60")}
		switch rapid.IntRange(0, 2).Draw(t, "second rule set") {
		case 1:
			sets = append(sets, parseRules(t, "2.0.0", "30s", "100"))
		case 2:
			sets = append(sets, parseRules(t, "2.0.0", "1m10s", "100"))
		}
		two := 2
		o := Options{
			Source: tp, SourceName: "tape", RuleSets: sets, Plots: true,
			Start: period, End: period.Add(time.Duration(n) * step), Now: period.Add(365 * 24 * time.Hour),
			Limits: NewLimits([]LimitChange{{MaxWorkers: &two, From: period.Add(time.Duration(n/2) * step)}}),
		}
		var lines bytes.Buffer
		o.Lines, o.Ticks = JSONLines(&lines, false), block
		want, err := Run(t.Context(), o)
		require.NoError(t, err)
		wantLines := lines.String()

		lines.Reset()
		o.Lines = JSONLines(&lines, false)
		o.Ticks = rapid.IntRange(0, 3*n).Draw(t, "ticks at once")
		tp.most = rapid.SampledFrom([]int{0, 1, 7, 64, 200}).Draw(t, "points allowed")
		o.Checkpoint = filepath.Join(dir, "checkpoint")
		got, err := interrupted(t, tp, o, rapid.IntRange(1, 40).Draw(t, "interrupted after"))
		require.NoError(t, err)
		require.JSONEq(t, result(t, want), result(t, got))
		require.Equal(t, wantLines, lines.String())
		require.NoFileExists(t, o.Checkpoint)
	})
}

// interrupted runs a backtest that is interrupted after some questions, and then
// goes on.
func interrupted(t *rapid.T, tp *tape, o Options, after int) (*Report, error) {
	for {
		ctx, cancel := context.WithCancel(t.Context())
		tp.asked = 0
		tp.called = func(n int) error {
			if n == after {
				cancel()
			}
			return nil
		}
		r, err := Run(ctx, o)
		cancel()
		tp.called = nil
		if err == nil {
			return r, nil
		}
		require.ErrorIs(t, err, ErrStopped)
		require.True(t, r.Partial)
		after *= 10
	}
}

func TestFailingTicksAreMarked(t *testing.T) {
	at := func(n int) time.Time { return period.Add(time.Duration(n) * step) }
	tp := &tape{values: steady(0.5), failed: func(expr string, i time.Time) bool { return expr == "cpu" && !i.Before(at(100)) && i.Before(at(102)) }}
	r, err := Run(t.Context(), Options{
		Source: tp, SourceName: "tape", RuleSets: []*rules.RuleSet{parseRules(t, "1.0.0", "30s", "60")}, Start: period, End: at(299),
	})
	require.NoError(t, err)
	require.Len(t, r.Failures, 1)
	f := r.Failures[0]
	require.Equal(t, "cpu", f.Expr)
	require.Equal(t, 2, f.Ticks, "the ticks beside those that fail have their value")
	require.Contains(t, f.Error, "many-to-many")
	for _, s := range r.Scopes {
		require.Equal(t, 2, s.Verdicts[0].Failed)
		require.Equal(t, 2, s.Verdicts[0].Rows[scaling.RowBlind], "%v", s.Verdicts[0].Rows)
	}
}

// steady has three workers that report, no waiting job, and a CPU.
func steady(cpu float64) func(string, string, time.Time) (float64, bool) {
	return func(expr, _ string, _ time.Time) (float64, bool) {
		return map[string]float64{"current": 3, "reporting": 3, "age": 0, "cpu": cpu}[expr], true
	}
}

func TestServerAway(t *testing.T) {
	tp := &tape{values: steady(0.5)}
	tp.called = func(n int) error {
		if n > 8 {
			return source.NoAnswer(errAway)
		}
		return nil
	}
	o := Options{
		Source: tp, SourceName: "tape", RuleSets: []*rules.RuleSet{parseRules(t, "1.0.0", "30s", "60")},
		Start: period, End: period.Add(12 * time.Hour), Ticks: block,
	}
	require.NoError(t, o.prepare())
	r, err := newRun(&o)
	require.NoError(t, err)
	waits := []time.Duration{}
	r.shared.past.(*reader).wait = func(_ context.Context, d time.Duration) error {
		tp.mu.Lock()
		defer tp.mu.Unlock()
		waits = append(waits, d)
		return nil
	}
	err = r.all(t.Context())
	require.ErrorIs(t, err, errAway)
	require.Contains(t, waits, 4*time.Second, "asked again, ever later")
	err = r.stopped(t.Context(), err)
	require.ErrorIs(t, err, ErrStopped)
	require.True(t, r.tally.report.Partial)
	require.Contains(t, r.tally.report.Stopped, "connection refused")
	require.Positive(t, r.tally.report.Ticks)
}

type away struct{}

func (away) Error() string { return "connection refused" }

var errAway = away{}

func TestNotes(t *testing.T) {
	set := parseRules(t, "1.0.0", "30s", "60")
	begin, end := period.Add(3*time.Hour), period.Add(5*time.Hour)
	within := func(expr, c string, at time.Time) (float64, bool) {
		v, _ := steady(0.5)(expr, c, at)
		return v, !at.Before(begin) && !at.After(end)
	}
	run := func(o Options) *Report {
		o.SourceName, o.RuleSets = "tape", []*rules.RuleSet{set}
		r, err := Run(t.Context(), o)
		require.NoError(t, err)
		return r
	}
	r := run(Options{Source: &tape{values: within}, Start: period, End: period.Add(24 * time.Hour), Now: period.Add(10 * time.Hour), Scopes: []string{"a", "gone"}})
	notes := r.Notes
	require.Len(t, notes, 4)
	require.Contains(t, notes[0], "ends in the future: what is judged ends at 2026-03-01T10:00:00Z")
	require.Contains(t, notes[1], "The first sample is of 2026-03-01T03:00")
	require.Contains(t, notes[2], "The last sample is of 2026-03-01T04:59")
	require.Contains(t, notes[3], "no scope gone")
	require.Len(t, r.Scopes, 1)
	v := r.Scopes[0].Verdicts[0]
	require.InDelta(t, 6, v.ObservedWorkerHours, 0.1, "three workers for two hours")
	require.InDelta(t, 3*3600/30, v.Ticks, 3, "a scope is forgotten an hour after its last sample")

	nothing := func(string, string, time.Time) (float64, bool) { return 0, false }
	r = run(Options{Source: &tape{values: nothing}, Start: period, End: period.Add(time.Hour)})
	require.Contains(t, r.Notes[0], "no sample of workers.current")
	require.Empty(t, r.Scopes)
}

func TestComparison(t *testing.T) {
	at := func(n int) time.Time { return period.Add(time.Duration(n) * step) }
	values := func(expr, c string, i time.Time) (float64, bool) {
		if expr == "age" && !i.Before(at(100)) && i.Before(at(120)) {
			return 80, true // above the threshold of A, below that of B
		}
		return steady(0.5)(expr, c, i)
	}
	for _, interval := range []string{"30s", "1m"} {
		r, err := Run(t.Context(), Options{
			Source: &tape{values: values}, SourceName: "tape", Start: period, End: at(299), Scopes: []string{"a"},
			RuleSets: []*rules.RuleSet{parseRules(t, "1.0.0", "30s", "60"), parseRules(t, "2.0.0", interval, "100")},
		})
		require.NoError(t, err)
		c := r.Scopes[0].Comparison
		require.InDelta(t, 299, c.Ticks, 2)
		require.InDelta(t, 16, c.Differ, 1, "from the end of the window of 2m on")
		require.Len(t, c.Differences, 1)
		require.Equal(t, scaling.ScaleOut, c.Differences[0].First.Action)
		require.Equal(t, scaling.NoAction, c.Differences[0].Second.Action)
	}
}

func TestSharedExpressionsAreAskedOnce(t *testing.T) {
	one, two := &tape{values: steady(0.5)}, &tape{values: steady(0.5)}
	o := Options{SourceName: "tape", Start: period, End: period.Add(2 * time.Hour), RuleSets: []*rules.RuleSet{parseRules(t, "1.0.0", "30s", "60")}}
	o.Source = one
	_, err := Run(t.Context(), o)
	require.NoError(t, err)
	o.Source, o.RuleSets = two, append(o.RuleSets, parseRules(t, "2.0.0", "30s", "100"))
	_, err = Run(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, one.asked, two.asked)
}

func TestOptionsAreChecked(t *testing.T) {
	set := parseRules(t, "1.0.0", "30s", "60")
	other := *set
	other.ScopeBy = []string{"cluster", "group"}
	nine, one := 9, 1
	for want, o := range map[string]Options{
		"expected one or two": {Start: period, End: period.Add(time.Hour)},
		"not after its start": {Start: period, End: period, RuleSets: []*rules.RuleSet{set}},
		"not in the past":     {Start: period, End: period.Add(time.Hour), Now: period, RuleSets: []*rules.RuleSet{set}},
		"at most 10512000":    {Start: period.AddDate(-20, 0, 0), End: period, Now: period, RuleSets: []*rules.RuleSet{set}},
		"cannot be compared":  {Start: period, End: period.Add(time.Hour), RuleSets: []*rules.RuleSet{set, &other}},
		"min_workers 9 is greater": {
			Start: period, End: period.Add(time.Hour), RuleSets: []*rules.RuleSet{set},
			Limits: NewLimits([]LimitChange{{MinWorkers: &nine}, {MaxWorkers: &one}}),
		},
	} {
		_, err := Run(t.Context(), o)
		require.ErrorContains(t, err, want)
	}
}

func TestCheckpointOfAnother(t *testing.T) {
	o := Options{
		Source: &tape{values: steady(0.5)}, SourceName: "tape", RuleSets: []*rules.RuleSet{parseRules(t, "1.0.0", "30s", "60")},
		Start: period, End: period.Add(10 * time.Hour), Checkpoint: filepath.Join(t.TempDir(), "checkpoint"), Period: "10h", Ticks: block,
	}
	o.Source.(*tape).called = func(n int) error {
		if n > 10 {
			return context.Canceled
		}
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, o)
	require.ErrorIs(t, err, ErrStopped)
	require.FileExists(t, o.Checkpoint)
	o.Period = "20h"
	_, err = Run(t.Context(), o)
	require.ErrorContains(t, err, "these differ: [the period]")
}
