package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/backtest"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// turnPatience is how long a question about one instant waits for the one before
// it; a backtest does not wait.
const turnPatience = 5 * time.Second

// past answers the API's questions about the past, one at a time: each costs as
// many queries as a restart.
type past struct {
	source     evaluator.Source
	history    api.History
	configured func(scope string) api.Configured
	current    func() *derived
	logger     *slog.Logger
	turn       chan struct{}
}

// At implements api.Past.
func (p *past) At(ctx context.Context, scope string, at time.Time) (scaling.Evaluation, error) {
	done, err := p.begin(ctx, turnPatience)
	if err != nil {
		return scaling.Evaluation{}, err
	}
	defer done()
	o, err := p.options(ctx, scope, at)
	if err != nil {
		return scaling.Evaluation{}, err
	}
	return backtest.At(ctx, o, scope, at)
}

// Backtest implements api.Past.
func (p *past) Backtest(ctx context.Context, scope string, start, end time.Time, against *rules.RuleSet) (*backtest.Report, error) {
	done, err := p.begin(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer done()
	o, err := p.options(ctx, scope, end)
	if err != nil {
		return nil, err
	}
	o.Start, o.End, o.Scopes, o.Plots = start, end, []string{scope}, true
	if against != nil {
		o.RuleSets = append(o.RuleSets, against)
	}
	report, err := backtest.Run(ctx, o)
	if report != nil {
		p.logger.Info("backtest", "scope", scope, "start", start, "end", end, "ticks", report.Ticks, "partial", report.Partial)
	}
	return report, err
}

// RuleSets implements api.Past.
func (p *past) RuleSets(scope string) []*rules.RuleSet {
	d := p.current()
	mine := d.ruleSet(scope)
	var out []*rules.RuleSet
	for _, rs := range d.cfg.Rules {
		if mine != nil && rs.Name != mine.Name && slices.Equal(rs.ScopeBy, mine.ScopeBy) {
			out = append(out, rs)
		}
	}
	return out
}

// begin waits for its turn.
func (p *past) begin(ctx context.Context, patience time.Duration) (done func(), err error) {
	select {
	case p.turn <- struct{}{}:
		return func() { <-p.turn }, nil
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case p.turn <- struct{}{}:
		return func() { <-p.turn }, nil
	case <-timer.C:
		return nil, api.ErrBusy
	case <-ctx.Done():
		return nil, errors.Join(api.ErrBusy, ctx.Err())
	}
}

// options replay a scope with the rule set that is loaded for it and the limits
// that the history has.
func (p *past) options(ctx context.Context, scope string, until time.Time) (backtest.Options, error) {
	rs := p.current().ruleSet(scope)
	if rs == nil {
		return backtest.Options{}, errors.New("no rule set is loaded for the scope")
	}
	limits, err := p.limits(ctx, scope, until)
	if err != nil {
		return backtest.Options{}, err
	}
	return backtest.Options{Source: p.source, SourceName: "the service's Prometheus", RuleSets: []*rules.RuleSet{rs}, Limits: limits}, nil
}

// limits are those of the configuration, and the changes that were recorded.
func (p *past) limits(ctx context.Context, scope string, until time.Time) (*backtest.Limits, error) {
	c := p.configured(scope)
	changes := []backtest.LimitChange{{
		Scope: scope, MinWorkers: &c.Bounds.Min, MaxWorkers: &c.Bounds.Max, FloorDelay: &c.Bounds.FloorDelay, Mode: string(c.Mode),
	}}
	entries, err := p.history.History(ctx, state.Filter{Scope: scope, Kind: state.LimitsEntry, Until: until, Limit: state.MaxHistoryLimit})
	if err != nil {
		return nil, fmt.Errorf("reading the limits of that time: %w", err)
	}
	for _, e := range slices.Backward(entries) {
		var r scaling.LimitsRecord
		if err := json.Unmarshal(e.Value, &r); err != nil {
			continue // one that cannot be read must not hide the others
		}
		most := scaling.Unbounded
		if r.MaxWorkers != nil {
			most = *r.MaxWorkers
		}
		changes = append(changes, backtest.LimitChange{
			Scope: scope, From: r.At, MinWorkers: &r.MinWorkers, MaxWorkers: &most, Paused: &r.Paused,
			Mode: string(r.Mode), Deployment: string(r.Deployment),
		})
	}
	return backtest.NewLimits(changes), nil
}
