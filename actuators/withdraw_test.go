package actuators_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// cramped is a platform that has room for less than it is asked for.
type cramped struct {
	*stand
	withdraws bool
	// withdrawn are the fences of the requests to take back, errs their answers.
	withdrawn []actuators.Fence
	errs      []error
}

func (p *cramped) Capabilities() actuators.Capabilities {
	return actuators.Capabilities{Observes: true, Withdraws: p.withdraws, Poll: time.Second}
}

func (p *cramped) Withdraw(_ context.Context, _ actuators.Target, f actuators.Fence) (int, error) {
	p.withdrawn = append(p.withdrawn, f)
	if n := len(p.withdrawn); n <= len(p.errs) && p.errs[n-1] != nil {
		return 0, p.errs[n-1]
	}
	p.st.Desired = p.st.Ready
	return p.st.Ready, nil
}

func newCramped(t *testing.T) (*bench, *cramped) {
	t.Helper()
	p := &cramped{withdraws: true}
	b := newBench(t, nil)
	p.stand = b.p
	b.cfg.Actuator = p
	b.lead(3)
	b.accept(b.decide(5, scaling.ScaleOut, 2, 5))
	b.advance()
	p.st.Ready, p.st.Detail = 3, "the queue is full"
	b.decide(5, scaling.ScaleOut, 3, 5)
	return b, p
}

// What has not come in time is taken back before the action fails, with what the
// platform says about it.
func TestWhatHasNotComeIsTakenBack(t *testing.T) {
	b, p := newCramped(t)
	b.wait(9 * time.Minute)
	b.advance()
	require.Empty(t, p.withdrawn)
	b.wait(time.Minute)
	b.advance()
	require.Len(t, p.withdrawn, 1)
	require.Equal(t, uint64(3), p.withdrawn[0].Epoch)
	require.Equal(t, "3-5-st", p.withdrawn[0].ActionID)
	require.Equal(t, 3, p.st.Desired)
	r := b.record()
	require.Equal(t, scaling.ActionFailed, r.Action.State)
	require.Contains(t, r.Action.Error, "the workers did not come in time: the platform has 3 of 5 workers ready; the queue is full; ")
	require.Contains(t, r.Action.Error, "; what had not come was taken back, the platform is asked for 3")
	require.Empty(t, r.Booting)
	require.Equal(t, scaling.EventScalingException, b.events[len(b.events)-1].Kind)
	b.advance()
	require.Len(t, p.withdrawn, 1)
}

func TestTakingBackIsTriedAgain(t *testing.T) {
	b, p := newCramped(t)
	p.errs = []error{errors.New("no active ResourceManager"), fmt.Errorf("%w: lost", actuators.ErrUnknownOutcome)}
	b.wait(10 * time.Minute)
	b.advance()
	require.Equal(t, scaling.ActionConverging, b.record().Action.State)
	b.wait(time.Second)
	b.advance()
	b.wait(2 * time.Second)
	b.advance()
	require.Len(t, p.withdrawn, 3)
	require.Equal(t, scaling.ActionFailed, b.record().Action.State)
}

func TestTakingBackIsGivenUp(t *testing.T) {
	for name, err := range map[string]error{"it may pass": errors.New("busy"), "refused": actuators.ErrRefused, "stale": actuators.ErrStale, "another writer": &actuators.OtherWriterError{Writer: "bob"}} {
		t.Run(name, func(t *testing.T) {
			b, p := newCramped(t)
			p.errs = []error{err, err, err, err, err, err}
			b.wait(10 * time.Minute)
			for range 6 {
				b.advance()
				b.wait(30 * time.Second)
			}
			r := b.record()
			require.Equal(t, scaling.ActionFailed, r.Action.State)
			require.Contains(t, r.Action.Error, "could not be taken back: "+err.Error())
			want := 1
			if name == "it may pass" {
				want = 5
			}
			require.Len(t, p.withdrawn, want)
		})
	}
}

// An operator's pause, a mode that calls nothing and the configuration keep the
// platform from being called.
func TestNothingIsTakenBackWhereNothingMayBeCalled(t *testing.T) {
	for name, change := range map[string]func(*bench, *cramped){
		"paused":     func(b *bench, _ *cramped) { b.put(state.Control, scopeKey, state.ControlRecord{Paused: true}) },
		"advisory":   func(b *bench, _ *cramped) { b.cfg.Mode = scaling.Advisory; b.lead(3) },
		"configured": func(_ *bench, p *cramped) { p.withdraws = false },
	} {
		t.Run(name, func(t *testing.T) {
			b, p := newCramped(t)
			change(b, p)
			b.wait(10 * time.Minute)
			b.advance()
			require.Equal(t, scaling.ActionFailed, b.record().Action.State)
			require.Contains(t, b.record().Action.Error, "the queue is full")
			require.Empty(t, p.withdrawn)
		})
	}
}

// A platform may be read more often than others.
func TestPollIsThePlatforms(t *testing.T) {
	b, p := newCramped(t)
	b.wait(time.Second)
	p.st.Ready = 5
	b.converged(5, 5)
	b.advance()
	require.Equal(t, scaling.ActionSucceeded, b.record().Action.State)
	require.Empty(t, p.withdrawn)
}
