package drain_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// platform is the model as an actuator.
type platform struct{ m *model }

func (p platform) Observe(context.Context, actuators.Target) (actuators.State, error) {
	return actuators.State{Desired: len(p.m.alive), Ready: len(p.m.alive)}, nil
}

func (p platform) Scale(context.Context, actuators.Target, int, actuators.Fence) error {
	p.m.problem("the platform was scaled")
	return nil
}

func (p platform) Workers(context.Context, actuators.Target) (out []actuators.Worker, err error) {
	return out, p.m.chance("workers", false, func() error {
		for _, w := range p.m.alive {
			if _, going := p.m.goneAt[w]; !going || p.m.slowToTell {
				out = append(out, actuators.Worker{Name: w, Address: w + ":5801"})
			}
		}
		return nil
	})
}

func (p platform) Release(_ context.Context, _ actuators.Target, ws []actuators.Worker, f actuators.Fence) error {
	err := p.m.chance("release", true, func() error {
		if len(ws) != 1 {
			p.m.problem("%d workers were released", len(ws))
			return nil
		}
		return p.m.take(ws[0].Name, 0, f.ActionID)
	})
	if errors.Is(err, control.ErrUnknownOutcome) {
		return actuators.ErrUnknownOutcome
	}
	return err
}

// take is what the platform does with a request to remove a worker. Where it keeps
// fences, it has the epoch of who asks.
func (m *model) take(name string, epoch uint64, id string) error {
	if epoch > 0 {
		switch {
		case epoch < m.recorded.Epoch:
			return actuators.ErrStale
		case id == m.recorded.ActionID:
			m.recorded.Epoch = epoch
			return nil
		}
	}
	if _, going := m.goneAt[name]; going {
		return nil
	}
	var staying []string
	for _, w := range m.alive {
		if _, going := m.goneAt[w]; !going {
			staying = append(staying, w)
		}
	}
	if !slices.Contains(staying, name) || !m.chooses && staying[0] != name {
		return fmt.Errorf("%w: %s is not the one that goes", actuators.ErrRefused, name)
	}
	if m.beforeRelease != nil {
		m.beforeRelease(name)
	}
	m.note("release %s", name)
	m.removed = append(m.removed, name)
	m.goneAt[name] = m.clock.t.Add(m.goDelay)
	if epoch > 0 {
		m.recorded = actuators.Fence{Epoch: epoch, ActionID: id}
	}
	return nil
}

// fencing is the model as an actuator whose platform keeps fences. A request to it
// may arrive long after who made it has been frozen.
type fencing struct{ platform }

type lateRelease struct {
	at         time.Time
	worker, id string
	epoch      uint64
}

func (p fencing) Observe(context.Context, actuators.Target) (s actuators.State, err error) {
	return s, p.m.chance("observe", false, func() error {
		s = actuators.State{Desired: len(p.m.alive), Ready: len(p.m.alive), Fence: p.m.recorded}
		return nil
	})
}

func (p fencing) Claim(_ context.Context, _ actuators.Target, f actuators.Fence) error {
	return p.m.chance("claim", true, func() error {
		if f.Epoch < p.m.recorded.Epoch {
			return actuators.ErrStale
		}
		p.m.note("epoch %d is recorded", f.Epoch)
		p.m.recorded.Epoch = f.Epoch
		return nil
	})
}

func (p fencing) Release(_ context.Context, _ actuators.Target, ws []actuators.Worker, f actuators.Fence) error {
	if p.m.f.draw("release", "late") != "" {
		at := p.m.clock.t.Add(time.Duration(p.m.rng.IntN(60_000)) * time.Millisecond)
		p.m.late = append(p.m.late, lateRelease{at: at, worker: ws[0].Name, id: f.ActionID, epoch: f.Epoch})
		panic(killed{"release, which is still on its way"})
	}
	err := p.m.chance("release", true, func() error { return p.m.take(ws[0].Name, f.Epoch, f.ActionID) })
	if errors.Is(err, control.ErrUnknownOutcome) {
		return actuators.ErrUnknownOutcome
	}
	return err
}

func (p platform) Capabilities() actuators.Capabilities {
	return actuators.Capabilities{Observes: true, Releases: true, Lists: true, Chooses: p.m.chooses}
}
