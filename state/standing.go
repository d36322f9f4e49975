package state

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Standing is what decides whether a scope may be acted on now: what was decided,
// and what operators have set.
type Standing struct {
	Decision DecisionRecord
	// Found is false if nothing was decided yet.
	Found           bool
	Control, Global ControlRecord
	// ValidUntil is the end of the recommendation's validity.
	ValidUntil time.Time
}

// ReadStanding reads it for one scope.
func ReadStanding(ctx context.Context, store Store, key string) (out Standing, err error) {
	decision, err := Decisions(store, NoFence).Get(ctx, key)
	if err != nil || decision.Version == 0 {
		return out, err
	}
	out.Decision, out.Found = decision.Value, true
	controls := Controls(store)
	for key, into := range map[string]*ControlRecord{key: &out.Control, GlobalKey: &out.Global} {
		row, err := controls.Get(ctx, key)
		if err != nil {
			return out, err
		}
		*into = row.Value
	}
	// A recommendation that stands is refreshed by the rule set's tick, not in
	// every scope's record.
	r := &out.Decision.Recommendation
	out.ValidUntil = r.ValidUntil
	last, err := Ticks(store, NoFence).Get(ctx, r.RuleSet.Name)
	if err == nil && last.Version > 0 {
		if t := last.Value.Last.Add(r.ValidUntil.Sub(r.ObservedAt)); t.After(out.ValidUntil) {
			out.ValidUntil = t
		}
	}
	return out, err
}

// Refusal says why a recommendation is not the one that stands, under the epoch of
// the leader who asks; its result is empty if it is. It fails with ErrFenced if a
// newer epoch made it, or has decided since.
func (s *Standing) Refusal(id scaling.Identity, epoch uint64) (scaling.Verdict, error) {
	d := &s.Decision
	refuse := func(r scaling.VerdictResult, format string, args ...any) (scaling.Verdict, error) {
		return scaling.Verdict{Result: r, Reason: fmt.Sprintf(format, args...)}, nil
	}
	switch {
	case !s.Found:
		return refuse(scaling.VerdictUnknown, "there is no recommendation for scope %s", scaling.ShownKey(id.Scope))
	case id.Epoch < epoch:
		return refuse(scaling.VerdictStaleEpoch, "epoch %d is over, this is epoch %d", id.Epoch, epoch)
	case id.Epoch > epoch, d.Epoch > epoch:
		return scaling.Verdict{}, fmt.Errorf("%w: the recommendation is of epoch %d, this is epoch %d", ErrFenced, max(id.Epoch, d.Epoch), epoch)
	case id.Generation < d.Generation:
		return refuse(scaling.VerdictSuperseded, "generation %d has taken its place", d.Generation)
	case id.Generation > d.Generation:
		return refuse(scaling.VerdictUnknown, "the newest generation is %d", d.Generation)
	}
	return scaling.Verdict{}, nil
}

// PausedAt reports whether the scope or the whole service is paused at t.
func (s *Standing) PausedAt(t time.Time) bool { return s.Control.PausedAt(t) || s.Global.PausedAt(t) }

// ResumedAfter reports whether an operator has accepted what the platform has
// since t.
func (s *Standing) ResumedAfter(t time.Time) bool {
	return s.Control.ResumedAt.After(t) || s.Global.ResumedAt.After(t)
}

// LateAt reports whether the decision is older than it may be at t: every tick
// makes it valid anew, so the loop is late, because the process was frozen or the
// state could not be written. What the next tick says is not known.
func (s *Standing) LateAt(t time.Time) bool { return !t.Before(s.ValidUntil) }

// ErrLate says that no tick was decided for longer than a recommendation is valid:
// ask again, the next one tells.
var ErrLate = errors.New("the decision loop is late")

// Current fails with ErrLate if the decision is LateAt t.
func (s *Standing) Current(t time.Time) error {
	if !s.LateAt(t) {
		return nil
	}
	return fmt.Errorf("%w: the recommendation was valid until %s, and it is not known yet whether it still stands", ErrLate, scaling.At(s.ValidUntil))
}
