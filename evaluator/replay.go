package evaluator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// replayChunk is how many ticks one range query of Replay covers.
const replayChunk = 500

// ReplayOptions describe a replay of a rule set over a past period.
type ReplayOptions struct {
	RuleSet *rules.RuleSet
	Shadows []*rules.RuleSet
	// Ticks are Start, Start + Interval, … up to and including End. Interval 0
	// means the rule set's own.
	Start, End time.Time
	Interval   time.Duration
	// WarmUp is for how long before Start ticks are folded and not handed out, as a
	// service does that starts there; WarmUp says how long that has to be. With 0,
	// windows are empty at Start.
	WarmUp time.Duration
	// Align has every range that is asked for cover whole blocks of so many ticks,
	// counted from the first; 0 and 1 let it begin and end anywhere.
	Align int
	// DiscoverAny lets a scope exist from its first sample in any query on, as
	// rule tests want it; otherwise workers.current alone introduces scopes.
	DiscoverAny bool
	// Scopes are the keys of the only scopes that are judged; none is all.
	Scopes []string
	// ForgetAfter is for how many ticks' time a scope is kept after its last
	// sample, whatever its cluster says; 0 is for ever.
	ForgetAfter time.Duration
	// Limits are a scope's limits at a tick; nil means the rule set's bounds.
	Limits func(scope scaling.Scope, at time.Time) scaling.Limits
}

// Answer is what a period says about one expression.
type Answer struct {
	Series []source.Series
	// Failed are the stretches of instants that have no value, in rising order:
	// the expression could not be evaluated there, or not wholly.
	Failed []Stretch
}

// Stretch is the instants from From up to and including To, Unix milliseconds,
// and why there is nothing: an error, or warnings.
type Stretch struct {
	From, To int64
	Err      error
	Warnings []string
}

// Past answers what a replay asks. An error means that there is no answer; an
// expression that cannot be evaluated is an answer.
type Past interface {
	Past(ctx context.Context, expr string, w source.Window) (Answer, error)
}

// Replay folds a period through a rule set, exactly as the live service does
// when it restores, and hands every tick's evaluations to yield. It ends early with the
// first error of a query or of yield.
func Replay(ctx context.Context, src Source, o ReplayOptions, yield func(at time.Time, evaluations []scaling.Evaluation) error) error {
	r, err := NewReplayer(o)
	if err != nil {
		return err
	}
	for !r.Done() {
		if err := r.Read(ctx, ranges{src}, replayChunk); err != nil {
			return err
		}
		for r.Next() {
			outcomes := r.Outcomes()
			evaluations := make([]scaling.Evaluation, len(outcomes))
			for i := range outcomes {
				evaluations[i] = outcomes[i].Evaluation()
			}
			if err := yield(r.At(), evaluations); err != nil {
				return err
			}
		}
	}
	return nil
}

// ranges answers with one range query: what fails in one tick fails in all.
type ranges struct{ Source }

func (r ranges) Past(ctx context.Context, expr string, w source.Window) (Answer, error) {
	m, err := r.Range(ctx, expr, w)
	if why, failed := failureOf(err, m.Warnings); failed && why == NoAnswer {
		return Answer{}, err
	}
	a := Answer{Series: m.Series}
	if err != nil || len(m.Warnings) > 0 {
		a.Failed = []Stretch{{From: w.Start.UnixMilli(), To: w.End.UnixMilli(), Err: err, Warnings: m.Warnings}}
	}
	return a, nil
}

// Replayer folds a past period through a rule set, piece by piece: Read asks
// for the next ticks, Next folds them one by one. How large the pieces are
// makes no difference to what is decided. It belongs to one goroutine.
type Replayer struct {
	o    ReplayOptions
	g    *group
	cols []column
	// first is the first tick, next the one that is folded next, read the newest
	// one that was read, end the last of all; Unix milliseconds.
	first, next, read, end int64
	stamp                  stamp
	outcomes               []Outcome
}

// NewReplayer prepares a replay; it asks nothing yet.
func NewReplayer(o ReplayOptions) (*Replayer, error) {
	if o.Interval <= 0 {
		o.Interval = o.RuleSet.Interval
	}
	g, err := newGroup(o.RuleSet, o.Shadows, o.Interval)
	if err != nil {
		return nil, err
	}
	g.discover, g.discoverAny = true, o.DiscoverAny
	for i := range o.Shadows {
		g.shadows = append(g.shadows, i+1)
	}
	g.only, g.others = o.Scopes, map[string]bool{}
	g.generationOf = func(string) uint64 { return 0 }
	none := overlay{}
	g.limitsOf = func(s *scopeState, at time.Time) scaling.Limits {
		if o.Limits != nil {
			return o.Limits(s.Scope, at)
		}
		return none.limits(s, o.RuleSet.Bounds, at)
	}
	r := &Replayer{o: o, g: g, next: o.Start.UnixMilli()}
	r.end = TickAtOrBefore(o.End, o.Interval, phaseOf(o.Start, o.Interval)).UnixMilli()
	if o.WarmUp > 0 {
		r.next -= (o.WarmUp + o.Interval - 1).Truncate(o.Interval).Milliseconds()
		g.restoredFrom = r.next
	}
	r.first, r.read = r.next, r.next-g.interval.Milliseconds()
	return r, nil
}

// WarmUp is what a replay has to fold before its first tick so that every
// window is as a service would have it, under the longest floor delay that its
// limits know.
func WarmUp(rs *rules.RuleSet, floorDelay time.Duration) (time.Duration, error) {
	p, err := Compile(rs, rs.Interval)
	if err != nil {
		return 0, err
	}
	if rs.Bounds != nil {
		floorDelay = max(floorDelay, rs.Bounds.FloorDelay)
	}
	reach := p.Lookback(floorDelay)
	if floorDelay > 0 {
		reach += p.demandLookback() // a floor that was restored resets the demand
	}
	if rs.Step.Policy == rules.StepExponential {
		reach = max(reach, maxRampGap*rs.Interval)
	}
	return reach, nil
}

// phaseOf is where an instant lies within its interval.
func phaseOf(t time.Time, interval time.Duration) time.Duration {
	step := interval.Milliseconds()
	return time.Duration(((t.UnixMilli()%step)+step)%step) * time.Millisecond
}

// Others are the keys of scopes that were there and are not judged for want of a
// place in Scopes, in their order; of very many the first.
func (r *Replayer) Others() []string { return slices.Sorted(maps.Keys(r.g.others)) }

// Queries are the expressions that every tick needs.
func (r *Replayer) Queries() []Query { return r.g.queries }

// Done reports whether every tick was folded.
func (r *Replayer) Done() bool { return r.next > r.end }

// NextTick is the tick that Next is going to fold. It may lie before Start, where
// windows are only filled.
func (r *Replayer) NextTick() time.Time { return time.UnixMilli(r.next).UTC() }

// At is the tick that was folded last.
func (r *Replayer) At() time.Time { return r.stamp.tick }

// Ticks are how many there are, those that only fill windows included, and how
// many of them were folded.
func (r *Replayer) Ticks() (folded, all int) {
	step := r.g.interval.Milliseconds()
	return int((r.next - r.first) / step), int((r.end-r.first)/step) + 1
}

// Read asks for the next ticks, at most so many; the ones read before have to
// be folded. After an error the same ticks can be read again.
func (r *Replayer) Read(ctx context.Context, past Past, ticks int) error {
	step := r.g.interval.Milliseconds()
	n, align := int64(max(ticks, 1)), int64(max(r.o.Align, 1))
	from := r.next - (r.next-r.first)/step%align*step
	to := min(r.end, from+((n+align-1)/align*align-1)*step)
	if r.Done() {
		return nil
	}
	cols := make([]column, len(r.g.queries))
	errs := make([]error, len(cols))
	each(len(cols), defaultConcurrency, func(i int) {
		q := &r.g.queries[i]
		off := q.Offset.Milliseconds()
		w := source.Window{Start: time.UnixMilli(from - off), End: time.UnixMilli(to - off), Step: r.g.interval}
		a, err := past.Past(ctx, q.Expr, w)
		if err != nil {
			errs[i] = fmt.Errorf("replaying %s from %s: %w", q.Expr, time.UnixMilli(r.next).UTC().Format(time.RFC3339), err)
			return
		}
		if err := tooMany(nil, len(a.Series)); err != nil {
			a = Answer{Failed: []Stretch{{From: w.Start.UnixMilli(), To: w.End.UnixMilli(), Err: err}}}
		}
		cols[i].stretches = a.Failed
		cols[i].series = make([]line, len(a.Series))
		for j, s := range a.Series {
			cols[i].series[j] = line{labels: s.Labels, points: s.Points}
		}
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	r.cols, r.read = cols, to
	return nil
}

// Next folds the next tick that was read and reports whether there was one.
// Ticks that only fill windows before Start are passed over.
func (r *Replayer) Next() bool {
	start := r.o.Start.UnixMilli()
	for r.next <= r.read {
		at := r.next
		for i := range r.cols {
			r.cols[i].turnTo(at - r.g.queries[i].Offset.Milliseconds())
		}
		r.g.foldFinal(r.cols, at)
		if r.o.ForgetAfter > 0 && !r.cols[r.g.active().queries[r.g.active().current]].failed {
			due := r.g.unseen(at, r.o.ForgetAfter)
			r.g.scopes.remove(func(s *scopeState) bool { return slices.Contains(due, s) })
		}
		r.next += r.g.interval.Milliseconds()
		r.publish(at)
		if at >= start {
			return true
		}
	}
	return false
}

// publish assigns generations.
func (r *Replayer) publish(at int64) {
	t := time.UnixMilli(at).UTC()
	r.stamp = stamp{tick: t, written: t, interval: r.g.interval}
	r.outcomes = r.outcomes[:0]
	for _, s := range r.g.scopes.sorted {
		next := s.published.next(&s.tracks[0].decision, s.tracks[0].samples.Master, t, r.g.active().RuleSet.GapTolerance)
		r.outcomes = append(r.outcomes, Outcome{
			scope: s, stamp: &r.stamp,
			NewGeneration: next.generation != s.published.generation, Changed: s.published.changed(next),
		})
		s.published = next
	}
}

// Outcomes are what the newest tick said about every scope, in the order of
// their keys. They are valid until Next is called again.
func (r *Replayer) Outcomes() []Outcome { return r.outcomes }

// Failures are the expressions without a value at the newest tick, with the
// reason.
func (r *Replayer) Failures() map[string]error {
	out := map[string]error{}
	for i := range r.cols {
		if r.cols[i].failed {
			out[r.g.queries[i].Expr] = r.cols[i].err
		}
	}
	return out
}

// Failing reports whether any expression had no value at the newest tick.
func (r *Replayer) Failing() bool {
	for i := range r.cols {
		if r.cols[i].failed {
			return true
		}
	}
	return false
}

// Series is how many series the newest Read got, over all expressions.
func (r *Replayer) Series() int {
	n := 0
	for i := range r.cols {
		n += len(r.cols[i].series)
	}
	return n
}

// Outcome is what the active rule set of a replay said about one scope at one
// tick. It is valid until the next one.
type Outcome struct {
	scope *scopeState
	stamp *stamp
	// NewGeneration is true on the tick at which the generation grew, Changed
	// when generation, row or blockers differ from the tick before.
	NewGeneration, Changed bool
}

// Scope is whom it is about.
func (o *Outcome) Scope() scaling.Scope { return o.scope.Scope }

// Decision is the flat outcome; it must not be changed.
func (o *Outcome) Decision() *Decision { return &o.scope.tracks[0].decision }

// Samples are the inputs; they must not be changed.
func (o *Outcome) Samples() *Samples { return &o.scope.tracks[0].samples }

// Limits are those of the tick.
func (o *Outcome) Limits() *scaling.Limits { return &o.scope.limits }

// Seen reports whether the tick had a sample of the scope.
func (o *Outcome) Seen() bool { return o.scope.lastSeen == o.stamp.tick.UnixMilli() }

// Evaluation renders the outcome as the service publishes it.
func (o *Outcome) Evaluation() scaling.Evaluation {
	o.stamp.next = o.scope.published
	ev := o.scope.evaluation(o.stamp)
	ev.NewGeneration, ev.Changed = o.NewGeneration, o.Changed
	return ev
}

// turnTo makes the column say what it knows about one instant. Instants come in
// rising order.
func (c *column) turnTo(instant int64) {
	for len(c.stretches) > 0 && c.stretches[0].To < instant {
		c.stretches = c.stretches[1:]
	}
	c.failed, c.err = false, nil
	if len(c.stretches) == 0 || c.stretches[0].From > instant {
		return
	}
	f := &c.stretches[0]
	c.err = f.Err
	c.failure, c.failed = failureOf(f.Err, f.Warnings)
	if f.Err == nil && c.failed {
		c.err = warningsError(f.Warnings)
	}
}
