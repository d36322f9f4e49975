package actuators_test

import (
	"context"
	"fmt"

	"github.com/zeta-scaler/zeta-scaler/actuators"
)

// asked is one call of Scale that the platform carried out.
type asked struct {
	id    string
	want  int
	epoch uint64
}

// platform is what all executors of a run write to.
type platform struct {
	f        *faults
	observes bool
	desired  int
	ready    int
	fence    actuators.Fence
	done     []asked
	// delayed are requests that are still on their way.
	delayed []func()
	// lowered counts writes that took workers away.
	lowered int
	// illegal are writes of an older epoch after a newer one.
	illegal []string
}

func (p *platform) Capabilities() actuators.Capabilities {
	return actuators.Capabilities{Observes: p.observes}
}

func (p *platform) Observe(context.Context, actuators.Target) (actuators.State, error) {
	if !p.observes {
		return actuators.State{}, actuators.ErrUnsupported
	}
	switch p.f.draw("observe", "crash", "error", "timeout") {
	case "crash":
		panic(killed{"observe"})
	case "error":
		return actuators.State{}, errLost
	case "timeout":
		return actuators.State{}, context.DeadlineExceeded
	}
	return actuators.State{Desired: p.desired, Ready: p.ready, Fence: p.fence}, nil
}

func (p *platform) Workers(context.Context, actuators.Target) ([]actuators.Worker, error) {
	return nil, actuators.ErrUnsupported
}

func (p *platform) Release(context.Context, actuators.Target, []actuators.Worker, actuators.Fence) error {
	return actuators.ErrUnsupported
}

func (p *platform) Scale(_ context.Context, _ actuators.Target, want int, f actuators.Fence) error {
	names := []string{"crash_before", "crash_after", "error", "lost_before", "lost_after"}
	if p.observes {
		names = append(names, "delayed", "delayed_crash", "frozen")
	}
	switch p.f.draw("scale", names...) {
	case "crash_before":
		panic(killed{"scale"})
	case "crash_after":
		_ = p.carryOut(want, f)
		panic(killed{"scale"})
	case "error":
		return errLost
	case "lost_before":
		return fmt.Errorf("%w: no reply", actuators.ErrUnknownOutcome)
	case "lost_after":
		_ = p.carryOut(want, f)
		return context.DeadlineExceeded
	case "delayed":
		p.delay(want, f)
		return actuators.ErrUnknownOutcome
	case "delayed_crash":
		p.delay(want, f)
		panic(killed{"scale"})
	case "frozen":
		// The process stops right before it reads the platform, and wakes up
		// when another leads.
		p.delayed = append(p.delayed, func() { _ = p.carryOut(want, f) })
		panic(killed{"scale"})
	}
	return p.carryOut(want, f)
}

// delay makes a request that takes effect later, if the precondition that was
// read with it still holds: nothing was written since, by us or a Claim.
func (p *platform) delay(want int, f actuators.Fence) {
	seen := p.fence
	p.delayed = append(p.delayed, func() {
		if p.fence.Epoch == seen.Epoch && p.fence.RecommendationID == seen.RecommendationID {
			_ = p.carryOut(want, f)
		}
	})
}

func (p *platform) carryOut(want int, f actuators.Fence) error {
	if p.observes && f.Epoch < p.fence.Epoch {
		return actuators.ErrStale
	}
	if f.Epoch < p.fence.Epoch {
		p.illegal = append(p.illegal, f.RecommendationID)
	}
	if want < p.desired {
		p.lowered++
	}
	p.done = append(p.done, asked{f.RecommendationID, want, f.Epoch})
	p.desired, p.fence = want, f
	return nil
}

// fenced is a platform that records fences, so that it can be claimed.
type fenced struct{ *platform }

func (p fenced) Claim(_ context.Context, _ actuators.Target, f actuators.Fence) error {
	switch p.f.draw("claim", "crash_before", "crash_after", "error") {
	case "crash_before":
		panic(killed{"claim"})
	case "crash_after":
		p.fence.Epoch = max(p.fence.Epoch, f.Epoch)
		panic(killed{"claim"})
	case "error":
		return errLost
	}
	if f.Epoch < p.fence.Epoch {
		return actuators.ErrStale
	}
	p.fence.Epoch = f.Epoch
	return nil
}
