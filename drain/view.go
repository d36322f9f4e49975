package drain

import (
	"context"
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/acting"
	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/backoff"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// view is all that a step goes by beside the progress: what was configured, what
// the last tick said, what the store says, and the time.
type view struct {
	now time.Time
	// epoch is that of this leader.
	epoch uint64
	// scope is the scope's key.
	scope string
	// cfg is nil for a scope that was never listed; its mode is empty once it has
	// left the list.
	cfg *ScopeConfig
	// can is what the scope's actuator can do, claims says that it is a Claimer.
	can    actuators.Capabilities
	claims bool
	tick   tick
	stored stored
	// busy names another scope of the same Zeta cluster that drains, empty if none
	// does.
	busy string
	// jitter is drawn from [0, 1) for every step.
	jitter float64
}

// stored is what the store says about a scope beside its drain.
type stored struct {
	state.Standing
	// execution is the executor's record.
	execution state.ExecutionRecord
}

func readStored(ctx context.Context, store state.Store, key string) (out stored, err error) {
	if out.Standing, err = state.ReadStanding(ctx, store, key); err == nil {
		out.execution, _, err = state.Load[state.ExecutionRecord](ctx, store, state.Execution, key)
	}
	if err != nil {
		return out, fmt.Errorf("%w: reading scope %s: %w", state.ErrUnusable, key, err)
	}
	return out, nil
}

// tick is what the drainer knows of a scope's last tick.
type tick struct {
	at             time.Time
	workers        *int
	slotMode       scaling.SlotMode
	action         scaling.Action
	mode           scaling.Mode
	recommendation string
	// gone is true once the scope is forgotten.
	gone bool
}

// over reports whether the scope is gone.
func (t *tick) over() bool { return t.gone }

// direct reports whether the tick asks to remove a worker without an alert.
func (t *tick) direct() bool { return t.mode == scaling.Direct && t.action == scaling.ScaleInCandidate }

// listed reports whether the configuration lists the scope, and with all that a
// drain needs.
func (v *view) listed() bool { return v.cfg.equipped() && v.cfg.Listed() }

// configured returns the scope's durations, or the defaults of one that was
// never listed.
func (v *view) configured() ScopeConfig {
	if v.cfg == nil {
		return ScopeConfig{}.withDefaults()
	}
	return *v.cfg
}

// again is when what has failed n times in a row is tried again, n ≥ 1.
func (v *view) again(n int) time.Time { return v.now.Add(acting.Retry(n, v.jitter)) }

// retry is the wait after the nth failure in a row, n ≥ 1, less a random half at
// most.
func (v *view) retry(n int, first, last time.Duration) time.Time {
	return v.now.Add(backoff.Shortened(backoff.Doubled(first, n, last), v.jitter))
}

// off says why nobody may drain a worker of the scope; empty if somebody may.
func (v *view) off() string {
	switch {
	case !v.listed():
		return "the scope is not listed in the configuration with a drain"
	case v.cfg.Deployment == scaling.Application:
		return "Application Mode has a fixed capacity"
	case !v.can.Releases:
		return fmt.Sprintf("actuator %s cannot remove a worker", v.cfg.Kind)
	}
	return ""
}

// advisory says why a recommendation is not carried out; empty if it is.
func (v *view) advisory() string {
	if why := v.off(); why != "" {
		return why
	}
	if mode := v.limits().Mode; mode != scaling.Webhook && mode != scaling.Direct {
		return "the scope's mode is advisory"
	}
	return ""
}

// stands reports whether what was decided last still asks for fewer workers, be it
// that our own drain holds it.
func (v *view) stands() bool {
	d := &v.stored.Decision
	switch {
	case !v.stored.Found || d.Epoch > v.epoch:
		return false
	case d.Recommendation.Action == scaling.ScaleInCandidate:
		return true
	default:
		held := d.Row == scaling.RowIdleHeld || d.Row == scaling.RowAboveMaxBlocked
		return held && d.Recommendation.HeldBy(scaling.BlockerActionInFlight)
	}
}

// remaining is how many workers the decision asks to remove beside the first one.
func (v *view) remaining() int {
	d := &v.stored.Decision
	if n := d.Recommendation.CurrentWorkers; n != nil {
		return max(0, *n-d.Intent.Target-1)
	}
	return 0
}

// stillToGo is remaining once Zeta has been asked how many workers it has now: the
// decision may have counted one that went a moment ago.
func (v *view) stillToGo(remaining, workers int) int {
	return max(0, min(remaining, workers-v.stored.Decision.Intent.Target-1))
}

// growth says what needs the workers that there are; empty if nothing does.
func (v *view) growth() string {
	e := &v.stored.execution
	switch {
	case e.Action != nil && !e.Action.State.Final():
		return fmt.Sprintf("action %s is in flight", e.Action.ID)
	case e.Held != nil:
		return fmt.Sprintf("action %s waits", e.Held.ID)
	case v.stored.Found && v.stored.Decision.Epoch == v.epoch && v.stored.Decision.Intent.Action == scaling.ScaleOut:
		return "the scope asks for more workers"
	}
	return ""
}

// least is the least number of workers that the scope has to keep.
func (v *view) least() int { return v.limits().Bounds.Min }

// limits are those of the configuration, overlaid by what operators set at run
// time.
func (v *view) limits() state.Effective {
	c := v.configured()
	return v.stored.Control.Overlay(state.Configured{Listed: true, Bounds: c.Bounds, Mode: c.Mode}, v.now)
}
