package actuators_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/acting"
	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// BenchmarkAnswer is what an answer costs beside the disk: for a recommendation
// that is new, for one that has its action already, and for one that is refused.
func BenchmarkAnswer(b *testing.B) {
	b.Run("fresh", func(b *testing.B) {
		x, ids := deciding(b, scaling.Webhook, 1000)
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			if i == len(ids) {
				b.StopTimer()
				x, ids = deciding(b, scaling.Webhook, len(ids))
				i = 0
				b.StartTimer()
			}
			requireVerdict(b, x, ids[i], scaling.VerdictAccepted)
			i++
		}
	})
	b.Run("duplicate", func(b *testing.B) {
		x, ids := deciding(b, scaling.Webhook, 1)
		requireVerdict(b, x, ids[0], scaling.VerdictAccepted)
		b.ReportAllocs()
		for b.Loop() {
			requireVerdict(b, x, ids[0], scaling.VerdictDuplicate)
		}
	})
	b.Run("refused", func(b *testing.B) {
		x, ids := deciding(b, scaling.Advisory, 1)
		b.ReportAllocs()
		for b.Loop() {
			requireVerdict(b, x, ids[0], scaling.VerdictAdvisory)
		}
	})
}

func requireVerdict(b *testing.B, x *actuators.Executor, id string, want scaling.VerdictResult) {
	v, err := x.Accept(b.Context(), id)
	if err != nil || v.Result != want {
		b.Fatalf("expected %s, got %+v, %v", want, v, err)
	}
}

// deciding is an executor with n scopes that ask for a worker, taken over and
// idle, and the ids of what they ask for.
func deciding(b *testing.B, mode scaling.Mode, n int) (*actuators.Executor, []string) {
	b.Helper()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	store := memory.New()
	x, err := actuators.New(b.Context(), acting.Options{Store: store, Clock: &virtual{now}, Epoch: 1})
	require.NoError(b, err)
	ids := make([]string, n)
	scopes := make([]actuators.ScopeConfig, n)
	var batch state.Batch
	for i := range n {
		key := fmt.Sprintf("scope-%04d", i)
		ids[i] = scaling.RecommendationID(1, 1, key)
		scopes[i] = actuators.ScopeConfig{Scope: scaling.Scope{Key: key}, Mode: mode, Kind: "test", Actuator: &platform{f: &faults{}}}
		put, err := state.NewPut(state.Decision, key, 0, state.DecisionRecord{
			Epoch: 1, Generation: 1, Intent: scaling.IntentOf(scaling.ScaleOut, 5), Row: scaling.RowShortage, RecommendationID: ids[i],
			Recommendation: scaling.Recommendation{
				Scope: key, RecommendationID: ids[i], MasterEpoch: 1, Generation: 1, Action: scaling.ScaleOut, Row: scaling.RowShortage,
				CurrentWorkers: new(4), RecommendedWorkers: new(5), ObservedAt: now, ValidUntil: now.Add(time.Hour),
			},
		})
		require.NoError(b, err)
		batch.Puts = append(batch.Puts, put)
	}
	_, err = store.Apply(context.Background(), state.NoFence, batch)
	require.NoError(b, err)
	x.Configure(scopes)
	require.NoError(b, x.Advance(b.Context()))
	return x, ids
}
