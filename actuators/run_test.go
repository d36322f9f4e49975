package actuators_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/acting"
	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/file"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// hanging is a platform that answers only when its caller gives up.
type hanging struct{ stand }

func (p *hanging) Scale(ctx context.Context, _ actuators.Target, _ int, _ actuators.Fence) error {
	<-ctx.Done()
	return ctx.Err()
}

// seed stores a decision to scale out and returns its id.
func seed(t testing.TB, s state.Store, key string, epoch uint64, now time.Time) string {
	id := scaling.RecommendationID(epoch, 1, key)
	put, err := state.NewPut(state.Decision, key, 0, state.DecisionRecord{
		Epoch: epoch, Generation: 1, Intent: scaling.Intent{Action: scaling.ScaleOut, Target: 3}, RecommendationID: id,
		Recommendation: scaling.Recommendation{RecommendationID: id, ObservedAt: now, ValidUntil: now.Add(time.Hour)},
	})
	require.NoError(t, err)
	_, err = s.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{put}})
	require.NoError(t, err)
	return id
}

// TestOnePlatformThatHangsHoldsUpNobody, and ends UNKNOWN by its time-out.
func TestOnePlatformThatHangsHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		x, err := actuators.New(t.Context(), acting.Options{Store: s, Clock: evaluator.WallClock{}, Epoch: 1})
		require.NoError(t, err)
		slow, quick := &hanging{stand{st: actuators.State{Desired: 2, Ready: 2}}}, &stand{st: actuators.State{Desired: 2, Ready: 2}}
		x.Configure([]actuators.ScopeConfig{
			{Scope: scaling.Scope{Key: "a"}, Mode: scaling.Webhook, Actuator: slow, Kind: "test"},
			{Scope: scaling.Scope{Key: "b"}, Mode: scaling.Webhook, Actuator: quick, Kind: "test"},
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- x.Run(ctx) }()
		for _, key := range []string{"a", "b"} {
			v, err := x.Accept(ctx, seed(t, s, key, 1, time.Now()))
			require.NoError(t, err)
			require.Equal(t, scaling.VerdictAccepted, v.Result)
		}
		synctest.Wait()
		actionState := func(key string) scaling.ActionState {
			r, _, err := state.Load[state.ExecutionRecord](ctx, s, state.Execution, key)
			require.NoError(t, err)
			return r.Action.State
		}
		require.Equal(t, scaling.ActionExecuting, actionState("a"))
		require.Equal(t, scaling.ActionConverging, actionState("b"))
		three := 3
		quick.st.Ready = 3
		time.Sleep(time.Second) // the bubble's clock: the next tick
		x.Publish(ctx, []scaling.Evaluation{{
			Scope: scaling.Scope{Key: "b"}, Tick: time.Now(), Recommendation: scaling.Recommendation{CurrentWorkers: &three},
		}}, nil)
		synctest.Wait()
		require.Equal(t, scaling.ActionSucceeded, actionState("b"))
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		require.Equal(t, scaling.ActionFailed, actionState("a"))
		cancel()
		require.NoError(t, <-done)
	})
}

// BenchmarkAccept compares an acceptance on the file store with a bare durable
// insert, and counts how many duplicates are answered.
func BenchmarkAccept(b *testing.B) {
	s, err := file.Open(b.Context(), file.Options{Path: filepath.Join(b.TempDir(), "state.db")})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	x, err := actuators.New(b.Context(), acting.Options{Store: s, Clock: evaluator.WallClock{}, Epoch: 1})
	require.NoError(b, err)
	const scopes = 500
	var ids []string
	var configs []actuators.ScopeConfig
	for i := range scopes {
		key := "scope-" + time.Duration(i).String()
		ids = append(ids, seed(b, s, key, 1, time.Now()))
		configs = append(configs, actuators.ScopeConfig{Scope: scaling.Scope{Key: key}, Mode: scaling.Webhook, Actuator: &stand{}, Kind: "test"})
	}
	x.Configure(configs)
	require.NoError(b, x.Advance(b.Context())) // takes the scopes over
	measure := func(n int, f func(i int) error) []time.Duration {
		out := make([]time.Duration, n)
		for i := range out {
			at := time.Now()
			require.NoError(b, f(i))
			out[i] = time.Since(at)
		}
		slices.Sort(out)
		return out
	}
	insert := measure(scopes, func(i int) error {
		put, err := state.NewPut(state.Alert, configs[i].Scope.Key, 0, map[string]string{})
		if err == nil {
			_, err = s.Apply(b.Context(), state.NoFence, state.Batch{Puts: []state.Put{put}})
		}
		return err
	})
	accept := measure(scopes, func(i int) error {
		v, err := x.Accept(b.Context(), ids[i])
		require.Equal(b, scaling.VerdictAccepted, v.Result)
		return err
	})
	for b.Loop() {
		if v, err := x.Accept(b.Context(), ids[0]); err != nil || v.Result != scaling.VerdictDuplicate {
			b.Fatal(v, err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "duplicates/s")
	b.ReportMetric(float64(accept[scopes/2].Microseconds()), "accept-p50-µs")
	b.ReportMetric(float64(accept[scopes*99/100].Microseconds()), "accept-p99-µs")
	b.ReportMetric(float64(insert[scopes/2].Microseconds()), "insert-p50-µs")
	b.ReportMetric(float64(insert[scopes*99/100].Microseconds()), "insert-p99-µs")
}
