package drain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/acting"
	"github.com/zeta-scaler/zeta-scaler/drain"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// A drain that cannot be read keeps its scope from draining, and others of the same
// cluster: a worker may be half empty. Those of other clusters go on.
func TestADrainThatCannotBeReadHoldsItsCluster(t *testing.T) {
	for cluster, free := range map[string]bool{"z": false, "elsewhere": true} {
		b := newBed(t, 3, 4)
		_, err := b.store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{{Kind: state.Drain, Key: "broken", Value: []byte(`[1]`)}}})
		require.NoError(t, err)
		x, err := drain.New(t.Context(), acting.Options{Store: b.store, Clock: b.clock, Epoch: b.epoch})
		require.NoError(t, err, "it does not stop the start")
		broken := b.cfg
		broken.Scope.Key, broken.Cluster = "broken", cluster
		x.Configure([]drain.ScopeConfig{b.cfg, broken})
		drain.Sequential(x)
		b.x = x
		b.decide(t, scaling.ScaleInCandidate)
		_, err = x.Request(t.Context(), "broken", "", "ops", "why")
		require.ErrorIs(t, err, state.ErrUnusable)
		require.ErrorIs(t, err, state.ErrUnreadable)
		_, err = x.Request(t.Context(), scopeKey, "", "ops", "why")
		require.NoError(t, err)
		for range 600 {
			_ = x.Advance(t.Context()) // that of the broken one fails
			b.clock.t = b.clock.t.Add(100 * time.Millisecond)
			b.m.pass()
		}
		require.Equal(t, free, len(b.m.removed) > 0, cluster)
	}
}
