package drain

import (
	"errors"
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/actuators"
)

// Who may write to the target, and whose request is still on its way there.

// maxClaims is how often a target is asked to record our epoch before a drain goes
// on without: what was stopped must not wait for a platform that is away.
const maxClaims = 5

// fenced reports whether the target carries a fence of ours, unless somebody has
// removed it.
func (v *view) fenced() bool {
	left := v.stored.execution.FencedTarget
	return v.claims && left != "" && left == v.cfg.Target
}

// otherWriter names who else writes to the target, as the platform says or as the
// fence shows that we left there; empty if nobody is known.
func (v *view) otherWriter(st *actuators.State) string {
	if st.OtherWriter == "" && v.fenced() && st.Fence.ActionID == "" {
		return actuators.LostFence
	}
	return st.OtherWriter
}

// acceptsPresent reports whether an operator has resumed the scope after another
// writer was found, be it by the executor or by a drain.
func (o *outcome) acceptsPresent() bool {
	e := &o.view.stored.execution
	if e.OtherWriter != "" {
		return o.view.stored.ResumedAfter(e.OtherWriterSince)
	}
	return !o.OtherWriterSince.IsZero() && o.view.stored.ResumedAfter(o.OtherWriterSince)
}

// noteWriter notes since when another writer is known.
func (o *outcome) noteWriter(writer string) {
	switch {
	case writer != "" && o.OtherWriterSince.IsZero():
		o.save()
		o.OtherWriterSince = o.view.now
	case writer == "" && !o.OtherWriterSince.IsZero():
		o.save()
		o.OtherWriterSince = time.Time{}
	}
}

// mustAccept reports whether the target has to record that an operator has
// accepted its present number, before it can be told whether anybody else is going
// to change it again.
func (o *outcome) mustAccept(s *reading) bool {
	return o.view.claims && !o.attempts.accepted && s.targetErr == nil && o.view.otherWriter(&s.target) != "" && o.acceptsPresent()
}

// againstTarget says what about the target forbids to remove a worker; it is found
// out before anything is stopped. Empty if nothing does.
func (o *outcome) againstTarget(s *reading) string {
	if errors.Is(s.targetErr, actuators.ErrRefused) {
		return "the platform does not tell: " + s.targetErr.Error()
	}
	if s.targetErr != nil {
		return "" // it cannot be observed
	}
	writer := o.view.otherWriter(&s.target)
	o.noteWriter(writer)
	switch {
	case s.target.Fence.Epoch > o.view.epoch:
		return fmt.Sprintf("a newer leader, of epoch %d, has written to the target", s.target.Fence.Epoch)
	case writer == actuators.LostFence && o.acceptsPresent(): // our next write leaves a new one
		return ""
	case writer != "":
		return "another writer changes the target: " + writer + "; stop it, and resume the scope"
	}
	return ""
}

// claim has the target record our epoch.
func (o *outcome) claim() effect {
	o.attempts.claims++
	e := o.call(claim)
	e.fence = actuators.Fence{Epoch: o.view.epoch, AcceptPresent: o.acceptsPresent()}
	return e
}

// claimFirst shuts out what an older leader has on its way to the platform, before
// this one decides anything about a worker whose removal that one has begun: its
// request must not arrive after the worker was given back to jobs.
func (o *outcome) claimFirst(in input) (e effect, must bool) {
	if in.kind == asked && in.about.kind == claim {
		err := in.errs[""]
		o.attempts.claimed = err == nil || errors.Is(err, actuators.ErrUnsupported) || o.attempts.claims >= maxClaims
		if !o.attempts.claimed {
			o.attempts.next = o.view.again(o.attempts.claims)
			return effect{kind: rest, until: o.attempts.next}, true
		}
		return effect{kind: again}, true
	}
	if !o.view.claims || o.Open.ReleasedAt.IsZero() || o.attempts.releases > 0 || o.attempts.claimed {
		return effect{}, false
	}
	if o.view.now.Before(o.attempts.next) {
		return effect{kind: rest, until: o.attempts.next}, true
	}
	return o.claim(), true
}

// sameInstance reports whether a worker is the one that it was: one that comes
// back under its name may have another address.
func sameInstance(was, is actuators.Worker) bool {
	return was.Address == "" || is.Address == "" || was.Address == is.Address
}
