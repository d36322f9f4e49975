package ruletest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// maxTicks bounds a test: 347 days of 30 s ticks.
const maxTicks = 1_000_000

// zero is t = 0 of every test.
var zero = time.Unix(0, 0).UTC()

// trial is one test against one rule set.
type trial struct {
	test *Test
	rs   *rules.RuleSet
	// interval is the time between ticks.
	interval time.Duration
}

// run returns what was not as expected. An error means that the test could not
// be run at all.
func (t *trial) run(ctx context.Context) (failures []Failure, err error) {
	if errs := t.limits().Bounds.Validate(); len(errs) > 0 {
		return nil, fmt.Errorf("limits over the bounds of %s: %w", t.rs.Name, errors.Join(errs...))
	}
	db, err := source.OpenTemporary("", nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := t.load(db); err != nil {
		return nil, err
	}
	engine, err := source.NewEngine(source.EngineOptions{}, db)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	failures, err = t.decisions(ctx, engine)
	if err != nil {
		return nil, err
	}
	return append(failures, t.expressions(ctx, engine)...), nil
}

func (t *trial) load(db *source.Temporary) error {
	spacing := t.test.Interval
	if spacing == 0 {
		spacing = t.interval
	}
	notations := make([]source.Notation, len(t.test.Series))
	for i := range t.test.Series {
		notations[i] = t.test.Series[i].Notation
	}
	return db.Load(zero, spacing, notations...)
}

// decisions replays the rule set up to the last tick that the test asks for.
func (t *trial) decisions(ctx context.Context, src evaluator.Source) ([]Failure, error) {
	if len(t.test.Decisions) == 0 {
		return nil, nil
	}
	asked := map[time.Duration][]int{}
	var last time.Duration
	for i := range t.test.Decisions {
		tick := t.tick(t.test.Decisions[i].EvalTime)
		asked[tick] = append(asked[tick], i)
		last = max(last, tick)
	}
	if last/t.interval > maxTicks {
		return nil, fmt.Errorf("eval_time %s is %d ticks of %s away, at most %d are judged",
			model.Duration(last), last/t.interval, model.Duration(t.interval), maxTicks)
	}
	found := make([]*Failure, len(t.test.Decisions))
	o := evaluator.ReplayOptions{
		RuleSet: t.rs, Start: zero, End: zero.Add(last), Interval: t.interval, DiscoverAny: true,
		Limits: func(scaling.Scope, time.Time) scaling.Limits { return t.limits() },
	}
	err := evaluator.Replay(ctx, src, o, func(at time.Time, evaluations []scaling.Evaluation) error {
		for _, i := range asked[at.Sub(zero)] {
			found[i] = checkDecision(&t.test.Decisions[i], at.Sub(zero), evaluations)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var failures []Failure
	for _, f := range found {
		if f != nil {
			failures = append(failures, *f)
		}
	}
	return failures, nil
}

// tick is the newest tick that is not after at; ticks lie at k·interval.
func (t *trial) tick(at time.Duration) time.Duration { return at / t.interval * t.interval }

// limits are the rule set's bounds under those of the test.
func (t *trial) limits() scaling.Limits {
	b := scaling.DefaultBounds()
	if t.rs.Bounds != nil {
		b = *t.rs.Bounds
	}
	o := t.test.Limits
	if o.MinWorkers != nil {
		b.Min = *o.MinWorkers
	}
	if o.MaxWorkers != nil {
		b.Max = *o.MaxWorkers
	}
	if o.FloorDelay != nil {
		b.FloorDelay = *o.FloorDelay
	}
	return scaling.Limits{Bounds: b, Mode: scaling.Advisory, Deployment: scaling.Session}
}

// checkDecision compares one expectation with a tick's evaluations; nil is a pass.
func checkDecision(t *DecisionTest, tick time.Duration, evaluations []scaling.Evaluation) *Failure {
	f := &Failure{Line: t.Pos.Line, EvalTime: promDuration(t.EvalTime), Tick: promDuration(tick)}
	if t.Scope != nil {
		f.Scope = *t.Scope
	}
	ev, message := pick(t.Scope, evaluations)
	if ev == nil {
		f.Message = message
		return f
	}
	f.Scope = ev.Scope.Key
	f.Differences = compare(t, &ev.Recommendation)
	if len(f.Differences) == 0 {
		return nil
	}
	f.Why = &Why{
		Row: ev.Recommendation.Row, Reason: ev.Recommendation.Reason,
		Inputs: ev.Inputs, Snapshot: ev.Recommendation.MetricsSnapshot,
	}
	return f
}

func promDuration(d time.Duration) *model.Duration {
	p := model.Duration(d)
	return &p
}

// pick finds the scope that an expectation is about.
func pick(scope *string, evaluations []scaling.Evaluation) (*scaling.Evaluation, string) {
	keys := make([]string, len(evaluations))
	for i := range evaluations {
		keys[i] = evaluations[i].Scope.Shown()
		if scope != nil && (evaluations[i].Scope.Key == *scope || keys[i] == *scope) {
			return &evaluations[i], ""
		}
	}
	switch {
	case len(evaluations) == 0:
		return nil, "no scope exists yet: no expression has given a sample up to this tick"
	case scope != nil:
		return nil, fmt.Sprintf("scope %q does not exist at this tick, there is %s", *scope, strings.Join(keys, ", "))
	case len(evaluations) > 1:
		return nil, fmt.Sprintf("there are %d scopes (%s), name one with scope", len(keys), strings.Join(keys, ", "))
	default:
		return &evaluations[0], ""
	}
}

// expressions runs the PromQL tests.
func (t *trial) expressions(ctx context.Context, src evaluator.Source) []Failure {
	var failures []Failure
	for i := range t.test.PromQL {
		p := &t.test.PromQL[i]
		f := Failure{
			Line: p.Pos.Line, Expr: p.Expr,
			EvalTime: promDuration(p.EvalTime), Tick: promDuration(p.EvalTime),
		}
		got, err := src.Instant(ctx, p.Expr, zero.Add(p.EvalTime))
		if err != nil {
			f.Message = err.Error()
		} else {
			f.Differences = compareSamples(p.Samples, got.Samples)
		}
		if f.Message != "" || len(f.Differences) > 0 {
			failures = append(failures, f)
		}
	}
	return failures
}
