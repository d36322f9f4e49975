package actuators_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/acting"
	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// Whatever was listed once and is gone takes nothing any more; what comes back
// acts as before.
func TestGoneScopesAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		x, err := actuators.New(t.Context(), acting.Options{Store: s, Clock: evaluator.WallClock{}, Epoch: 1})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- x.Run(ctx) }()
		synctest.Wait()
		before := runtime.NumGoroutine()
		const scopes = 50
		list := func(round int) (cfg []actuators.ScopeConfig, keys []scaling.Scope) {
			for i := range scopes {
				key := scaling.Scope{Key: fmt.Sprint(round, "-", i)}
				cfg = append(cfg, actuators.ScopeConfig{
					Scope: key, Mode: scaling.Webhook, Kind: "test", Actuator: &stand{st: actuators.State{Desired: 2, Ready: 2}},
				})
				keys = append(keys, key)
			}
			return cfg, keys
		}
		for round := range 5 {
			cfg, keys := list(round)
			x.Configure(cfg)
			synctest.Wait()
			require.Greater(t, runtime.NumGoroutine(), before+scopes/2, "each has a loop of its own; those of other tests may end meanwhile")
			x.Configure(nil)
			x.Publish(ctx, nil, keys)
			synctest.Wait()
			require.Less(t, runtime.NumGoroutine(), before+scopes/2)
		}
		cfg, keys := list(0)
		x.Configure(cfg)
		v, err := x.Accept(ctx, seed(t, s, keys[7].Key, 1, time.Now()))
		require.NoError(t, err)
		require.Equal(t, scaling.VerdictAccepted, v.Result)
		synctest.Wait()
		require.Equal(t, []int{3}, cfg[7].Actuator.(*stand).calls)
		cancel()
		require.NoError(t, <-done)
	})
}
