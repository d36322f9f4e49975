package drain_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// lostConfigs are there when they are checked, and gone when they are needed.
type lostConfigs struct{}

func (lostConfigs) Config(_ context.Context, j control.Job) (control.Config, error) {
	if j.Status != "" {
		return control.Config{}, nil
	}
	return control.Config{}, errors.New("it is gone")
}

// While the worker is held a job is submitted twice; what is given up then was
// not told to be submitted a third time, and is submitted at once when the slots
// are given back.
func TestRestoreIsGivenUpBeforeItIsTold(t *testing.T) {
	b := newBed(t, 3, 8)
	b.cfg.Configs = lostConfigs{}
	b.start(t)
	b.m.submit("4501", control.Streaming, 6, 0)
	_, err := b.x.Request(t.Context(), scopeKey, "w-2", "ann", "")
	require.NoError(t, err)
	for range 120 {
		b.run(t, time.Second)
		if d := b.record(t).Open; d != nil && d.State == scaling.DrainFailed {
			break
		}
	}
	d := b.record(t).Open
	require.Equal(t, scaling.DrainFailed, d.State)
	require.Contains(t, d.GivenUp, "it is gone")
	for _, e := range b.events {
		if len(e.Drain.Jobs) > 0 {
			require.LessOrEqual(t, e.Drain.Jobs[0].Attempts, 2, e.Message)
		}
		if e.Drain.State == scaling.DrainFailed {
			return
		}
	}
	t.Fatal("nobody was told that it failed")
}
