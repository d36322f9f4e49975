package actuators

import (
	"context"
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/acting"
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
	// cfg is nil for a scope that was never listed; its mode is empty once it
	// has left the list.
	cfg *ScopeConfig
	// can is what the scope's actuator can do, claims says that it is a Claimer.
	can    Capabilities
	claims bool
	tick   tick
	// stored is read when reads says so, and empty otherwise.
	stored stored
	// jitter is drawn from [0, 1) for every step.
	jitter float64
}

// backoff is the wait after the nth failure in a row, n ≥ 1, less a random half
// at most.
func (v *view) backoff(n int) time.Duration {
	return acting.Retry(n, v.jitter)
}

// listed reports whether the configuration lists the scope.
func (v *view) listed() bool { return v.cfg != nil && v.cfg.Listed() }

// configured returns the scope's durations, or the defaults of one that was
// never listed.
func (v *view) configured() ScopeConfig {
	if v.cfg == nil {
		return ScopeConfig{}.withDefaults()
	}
	return *v.cfg
}

// stored is what the store says about a scope beside its action.
type stored struct {
	state.Standing
	// drain is the drainer's record.
	drain state.DrainRecord
}

// readStored reads what decides whether a scope may be acted on.
func readStored(ctx context.Context, store state.Store, key string) (out stored, err error) {
	if out.Standing, err = state.ReadStanding(ctx, store, key); err == nil && out.Found {
		out.drain, _, err = state.Load[state.DrainRecord](ctx, store, state.Drain, key)
	}
	if err != nil {
		return out, fmt.Errorf("%w: reading scope %s: %w", state.ErrUnusable, key, err)
	}
	return out, nil
}

// reads reports whether a step with this input goes by what the store says.
func (v *view) reads(r *state.ExecutionRecord, in inputKind) bool {
	switch in {
	case accept:
		return true
	case look, observed:
		waiting := r.Held != nil && !open(r.Action)
		asking := r.Action != nil && r.Action.State == scaling.ActionExecuting
		return waiting || asking || v.overdue(r) || v.tick.direct()
	default:
		return false
	}
}

// mode is the configured mode, overlaid by what operators set at run time; why
// says what makes it advisory.
func (v *view) mode() (mode scaling.Mode, why string) {
	switch {
	case !v.listed():
		return scaling.Advisory, "the scope is not listed in the configuration"
	case v.cfg.Deployment == scaling.Application:
		return scaling.Advisory, "Application Mode has a fixed capacity"
	case v.cfg.Actuator == nil:
		return scaling.Advisory, "the scope has no actuator"
	}
	mode = v.limits().Mode
	if mode == scaling.Webhook || mode == scaling.Direct {
		return mode, ""
	}
	return scaling.Advisory, "the scope's mode is advisory"
}

// limits are those of the configuration, overlaid by what operators set at run
// time.
func (v *view) limits() state.Effective {
	conf := state.Configured{Listed: true, Bounds: v.cfg.Bounds, Mode: v.cfg.Mode}
	return v.stored.Control.Overlay(conf, v.now)
}

// overMax says that a target is more than the scope may have by now; empty if it
// is not.
func (v *view) overMax(target int) string {
	if b := v.limits().Bounds; target > b.Max {
		return fmt.Sprintf("max_workers is %d by now, and %d were to be asked for", b.Max, target)
	}
	return ""
}

func (v *view) paused() bool { return v.stored.PausedAt(v.now) }

func (v *view) late() bool { return v.stored.LateAt(v.now) }

func (v *view) resumedAfter(t time.Time) bool { return v.stored.ResumedAfter(t) }

// refusal says why a recommendation may not be carried out, whatever else is
// going on; its result is empty if it may. It fails with state.ErrFenced if the
// store is ahead of this leader, and with state.ErrLate if the next tick will tell.
func (v *view) refusal(id scaling.Identity) (scaling.Verdict, error) {
	if stale, err := v.stored.Refusal(id, v.epoch); err != nil || stale.Result != "" {
		return stale, err
	}
	d := &v.stored.Decision
	refuse := func(r scaling.VerdictResult, why string) (scaling.Verdict, error) {
		return scaling.Verdict{Result: r, Reason: why}, nil
	}
	mode, why := v.mode()
	switch {
	case d.Intent.Action == scaling.ScaleInCandidate:
		return refuse(scaling.VerdictAdvisory, "scale-in needs a drain, which the scope is not configured for")
	case d.Intent.Action != scaling.ScaleOut:
		return refuse(scaling.VerdictSuperseded, "nothing asks for more workers any more")
	case mode == scaling.Advisory:
		return refuse(scaling.VerdictAdvisory, why)
	case v.paused():
		return refuse(scaling.VerdictPaused, "the scope is paused")
	}
	if over := v.overMax(d.Intent.Target); over != "" {
		return refuse(scaling.VerdictSuperseded, over)
	}
	return scaling.Verdict{}, v.stored.Current(v.now)
}

// unwanted says why an action of which nothing was done must not begin or go
// on; why is empty if it may.
func (v *view) unwanted(a *scaling.Execution) (to scaling.ActionState, why string) {
	mode, advisory := v.mode()
	d := &v.stored.Decision
	switch {
	case !v.stored.Found || d.Epoch > v.epoch || d.Generation != a.Generation || a.MasterEpoch != v.epoch:
		return scaling.ActionSuperseded, "a newer decision was made before it began"
	case mode == scaling.Advisory:
		return scaling.ActionCancelled, advisory
	case v.paused():
		return scaling.ActionCancelled, "the scope is paused"
	}
	if over := v.overMax(a.Target); over != "" {
		return scaling.ActionCancelled, over
	}
	return "", ""
}
