package actuatortest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/actuators/actuatortest"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// model is the contract in its simplest form: a platform in memory.
type model struct {
	mu      sync.Mutex
	desired int
	fence   actuators.Fence
	stalled chan struct{}
	next    error // answers the next change after it was made
	refused error // answers every change, none of which is made
}

func (m *model) Capabilities() actuators.Capabilities { return actuators.Capabilities{Observes: true} }

// wait returns when the platform answers.
func (m *model) wait(ctx context.Context) error {
	m.mu.Lock()
	stalled := m.stalled
	m.mu.Unlock()
	if stalled != nil {
		select {
		case <-stalled:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

func (m *model) Observe(ctx context.Context, _ actuators.Target) (actuators.State, error) {
	if err := m.wait(ctx); err != nil {
		return actuators.State{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return actuators.State{Desired: m.desired, Ready: m.desired, Fence: m.fence}, nil
}

func (m *model) Scale(ctx context.Context, _ actuators.Target, want int, f actuators.Fence) error {
	if want < 0 {
		return actuators.ErrRefused
	}
	return m.change(ctx, f, func() { m.desired, m.fence = want, f })
}

func (m *model) Claim(ctx context.Context, _ actuators.Target, f actuators.Fence) error {
	return m.change(ctx, f, func() { m.fence.Epoch = f.Epoch })
}

func (m *model) change(ctx context.Context, f actuators.Fence, change func()) error {
	if err := m.wait(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refused != nil {
		return m.refused
	}
	if f.Epoch < m.fence.Epoch {
		return fmt.Errorf("epoch %d: %w", f.Epoch, actuators.ErrStale)
	}
	change()
	err := m.next
	m.next = nil
	return err
}

func (m *model) Release(context.Context, actuators.Target, []actuators.Worker, actuators.Fence) error {
	return actuators.ErrUnsupported
}

func TestModelPassesTheConformanceSuite(t *testing.T) {
	actuatortest.RunConformance(t, func(*testing.T) actuatortest.Fixture {
		m := &model{}
		return actuatortest.Fixture{
			Actuator: m,
			Target:   actuators.Target{Scope: scaling.Scope{Key: "prod"}, Name: "memory/prod"},
			Desired: func(*testing.T) int {
				m.mu.Lock()
				defer m.mu.Unlock()
				return m.desired
			},
			Stall: func(*testing.T) func() {
				stalled := make(chan struct{})
				m.stalled = stalled
				return func() { close(stalled) }
			},
			LoseReply: func(*testing.T) { m.next = actuators.ErrUnknownOutcome },
			Refuse:    func(*testing.T) { m.refused = actuators.ErrRefused },
			Fail:      func(*testing.T) { m.refused = errors.New("not now") },
		}
	})
}
