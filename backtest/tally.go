package backtest

import (
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// What a report holds at most; what goes beyond is counted.
const (
	// maxChanges are those of one scope, maxAllChanges those of all.
	maxChanges    = 500
	maxAllChanges = 20_000
	maxFailures   = 100
	// maxPlots is for how many scopes plots are drawn.
	maxPlots = 40
)

// tally adds a report up, tick by tick.
type tally struct {
	o       *Options
	report  *Report
	sides   []*side
	byKey   map[string]*Scope
	changes int
	// newest is what the second rule set said last, by scope.
	newest map[string]second
	// open are the differences that may go on.
	open  map[string]*Difference
	seen  span
	plots int
}

// second is the newest word of the second rule set on a scope.
type second struct {
	Said Said      `json:"said"`
	At   time.Time `json:"at"`
}

// span is when there were samples of any scope.
type span struct {
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

func newTally(o *Options, sides []*side) *tally {
	t := &tally{
		o: o, sides: sides, byKey: map[string]*Scope{}, newest: map[string]second{}, open: map[string]*Difference{},
		report: &Report{
			Source: o.SourceName, Start: o.Start.UTC(), End: o.end().UTC(),
			Notes: []string{}, Failures: []*Failure{}, Scopes: []*Scope{},
		},
	}
	for _, s := range sides {
		t.report.RuleSets = append(t.report.RuleSets, RuleSet{
			RuleSetRef:      scaling.RuleSetRef{Name: s.rs.Name, Version: s.rs.Version, Digest: s.rs.Digest},
			IntervalSeconds: s.rs.Interval.Seconds(),
		})
	}
	if o.End.After(o.Now) {
		t.note("The period ends in the future: what is judged ends at " + scaling.At(o.Now) + ".")
	}
	return t
}

func (t *tally) note(text string) {
	if !slices.Contains(t.report.Notes, text) {
		t.report.Notes = append(t.report.Notes, text)
	}
}

// tick adds the newest tick of one side.
func (t *tally) tick(which int) error {
	s := t.sides[which]
	at := s.replay.At()
	failing := s.replay.Failing()
	if failing {
		t.failures(which, at)
	}
	if which == 0 {
		if t.report.From == nil {
			t.report.From = &at
		}
		t.report.To, t.report.Ticks = &at, t.report.Ticks+1
	}
	outcomes := s.replay.Outcomes()
	for i := range outcomes {
		o := &outcomes[i]
		scope := t.scope(o)
		if o.Seen() {
			if t.seen.First.IsZero() {
				t.seen.First = at
			}
			t.seen.Last = at
		}
		tick := Tick{
			At: at, RuleSet: &t.report.RuleSets[which], Failing: failing,
			outcome: o, side: s, first: scope.Verdicts[which].Ticks == 0,
		}
		t.verdict(scope.Verdicts[which], &tick)
		if scope.Plot != nil {
			scope.Plot.add(which, &tick)
		}
		if which == 1 {
			t.newest[scope.Scope.Key] = second{tick.said(), at}
		} else if scope.Comparison != nil {
			t.compare(scope, &tick)
		}
		if t.o.Lines != nil {
			if err := t.o.Lines.Tick(&tick); err != nil {
				return err
			}
		}
	}
	return nil
}

// scope is where a scope is added up.
func (t *tally) scope(o *evaluator.Outcome) *Scope {
	id := o.Scope()
	if s := t.byKey[id.Key]; s != nil {
		return s
	}
	s := &Scope{Scope: id}
	for range t.sides {
		s.Verdicts = append(s.Verdicts, &Verdict{
			Rows: map[scaling.RowID]int{}, Actions: map[scaling.Action]int{}, Recommendations: map[scaling.Action]int{}, Changes: []Change{},
		})
	}
	if len(t.sides) > 1 {
		s.Comparison = &Comparison{Differences: []*Difference{}}
	}
	switch {
	case !t.o.Plots:
	case t.plots < maxPlots:
		s.Plot = newPlot(t.o, t.sides)
		t.plots++
	default:
		t.note("There are plots for the first scopes only; --scope picks others.")
	}
	t.add(s)
	return s
}

func (t *tally) add(s *Scope) {
	t.byKey[s.Scope.Key] = s
	i := sort.Search(len(t.report.Scopes), func(i int) bool { return t.report.Scopes[i].Scope.Key >= s.Scope.Key })
	t.report.Scopes = slices.Insert(t.report.Scopes, i, s)
}

func (t *tally) verdict(v *Verdict, tick *Tick) {
	d, interval := tick.Decision(), tick.side.rs.Interval
	current, target := tick.outcome.Samples().Current, d.Target
	v.Ticks++
	v.Rows[d.RowID()]++
	v.Actions[d.Action]++
	if tick.Failing {
		v.Failed++
	}
	if tick.outcome.NewGeneration {
		v.Recommendations[d.Action]++
	}
	if current.Known {
		v.ObservedWorkerTicks += current.V
		v.RecommendedWorkerTicks += float64(target)
		v.ObservedWorkerHours = v.ObservedWorkerTicks * interval.Hours()
		v.RecommendedWorkerHours = v.RecommendedWorkerTicks * interval.Hours()
	} else {
		v.Unknown++
	}
	v.ShortHours, v.SpareHours = hours(v.Actions[scaling.ScaleOut], interval), hours(v.Actions[scaling.ScaleInCandidate], interval)
	if !tick.Changed() {
		return
	}
	if len(v.Changes) >= maxChanges || t.changes >= maxAllChanges {
		v.MoreChanges++
		return
	}
	t.changes++
	said := tick.said()
	v.Changes = append(v.Changes, Change{
		At: tick.At, Action: d.Action, Row: d.RowID(), Current: tick.Current(), Recommended: said.Recommended, Reason: tick.Reason(),
	})
}

// compare adds a tick of the first rule set beside what the second said last.
func (t *tally) compare(s *Scope, tick *Tick) {
	other, ok := t.newest[s.Scope.Key]
	if !ok || tick.At.Sub(other.At) > t.sides[1].rs.Interval {
		return
	}
	c, mine := s.Comparison, tick.said()
	c.Ticks++
	if mine.Action == other.Said.Action && same(mine.Recommended, other.Said.Recommended) {
		delete(t.open, s.Scope.Key)
		return
	}
	c.Differ++
	if d := t.open[s.Scope.Key]; d != nil && d.First.equal(&mine) && d.Second.equal(&other.Said) {
		d.To, d.Ticks = tick.At, d.Ticks+1
		return
	}
	d := &Difference{From: tick.At, To: tick.At, Ticks: 1, First: mine, Second: other.Said}
	t.open[s.Scope.Key] = d
	if len(c.Differences) >= maxChanges || t.changes >= maxAllChanges {
		c.MoreDifferences++
		return
	}
	t.changes++
	c.Differences = append(c.Differences, d)
}

func (s *Said) equal(o *Said) bool {
	return s.Action == o.Action && s.Row == o.Row && same(s.Recommended, o.Recommended)
}

func same(a, b *int) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// conclude says what the period lacks.
func (t *tally) conclude() {
	r := t.report
	r.others = t.sides[0].replay.Others()
	if r.Ticks == 0 {
		if !r.Partial {
			t.note("No tick lies in the period.")
		}
		return
	}
	lead := t.o.RuleSets[0]
	slack := max(time.Minute, 2*lead.Interval)
	switch {
	case t.seen.First.IsZero():
		of := ""
		if len(t.o.Scopes) > 0 {
			of = " of these scopes"
		}
		t.note("There is no sample of workers.current" + of + " in the period: is it the right source, and does it reach back so far?")
		return
	case t.seen.First.Sub(*r.From) > slack:
		t.note("The first sample is of " + scaling.At(t.seen.First) + ": before, the source has nothing (its retention may be shorter than the period).")
	}
	if r.To.Sub(t.seen.Last) > slack {
		t.note("The last sample is of " + scaling.At(t.seen.Last) + ": after that, the source has nothing.")
	}
	for _, key := range t.o.Scopes {
		if t.byKey[key] == nil {
			t.note("There is no scope " + scaling.ShownKey(key) + " in the period.")
		}
	}
}

// failures notes which expressions have no value.
func (t *tally) failures(which int, at time.Time) {
	failed := t.sides[which].replay.Failures()
	for _, expr := range slices.Sorted(maps.Keys(failed)) {
		i := slices.IndexFunc(t.report.Failures, func(f *Failure) bool { return f.RuleSet == which && f.Expr == expr })
		if i < 0 && len(t.report.Failures) >= maxFailures {
			continue
		}
		if i < 0 {
			i = len(t.report.Failures)
			t.report.Failures = append(t.report.Failures, &Failure{RuleSet: which, Expr: expr, First: at, Error: failed[expr].Error()})
		}
		t.report.Failures[i].Ticks++
		t.report.Failures[i].Last = at
	}
}
