package actuatortest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	// workers are there, last are numbered those that ever were.
	workers []actuators.Worker
	last    int
}

func (m *model) Capabilities() actuators.Capabilities {
	return actuators.Capabilities{Observes: true, Releases: true, Lists: true}
}

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
	return m.change(ctx, f, func() error {
		if err := m.forgotten(f); err != nil {
			return err
		}
		m.desired, m.fence = want, f
		for len(m.workers) < want {
			m.last++
			w := actuators.Worker{Name: fmt.Sprint("worker-", m.last), Address: fmt.Sprintf("10.0.0.%d", m.last)}
			m.workers = append([]actuators.Worker{w}, m.workers...)
		}
		return nil
	})
}

func (m *model) Claim(ctx context.Context, _ actuators.Target, f actuators.Fence) error {
	return m.change(ctx, f, func() error {
		m.fence.Epoch = f.Epoch
		return nil
	})
}

func (m *model) Workers(ctx context.Context, _ actuators.Target) ([]actuators.Worker, error) {
	if err := m.wait(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.workers), nil
}

// Release removes the newest worker, and nobody else.
func (m *model) Release(ctx context.Context, _ actuators.Target, workers []actuators.Worker, f actuators.Fence) error {
	w, err := actuators.ToRelease(workers, f)
	if err != nil {
		return err
	}
	return m.change(ctx, f, func() error {
		if m.fence.ActionID == f.ActionID {
			m.fence.Epoch = f.Epoch
			return nil
		}
		if err := m.forgotten(f); err != nil {
			return err
		}
		if len(m.workers) == 0 || m.workers[0] != w {
			return actuators.ErrRefused
		}
		m.workers, m.desired, m.fence = m.workers[1:], m.desired-1, f
		return nil
	})
}

// forgotten reports a fence that was there and is gone.
func (m *model) forgotten(f actuators.Fence) error {
	if f.Fenced && !f.AcceptPresent && m.fence.ActionID == "" {
		return &actuators.OtherWriterError{Writer: actuators.LostFence}
	}
	return nil
}

func (m *model) change(ctx context.Context, f actuators.Fence, change func() error) error {
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
	if err := change(); err != nil {
		return err
	}
	err := m.next
	m.next = nil
	return err
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
			Forget:    func(*testing.T) { m.fence = actuators.Fence{} },
			Refuse:    func(*testing.T) { m.refused = actuators.ErrRefused },
			Fail:      func(*testing.T) { m.refused = errors.New("not now") },
		}
	})
}
