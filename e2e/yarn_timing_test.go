//go:build e2e && unix

package e2e

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/acting"
	"github.com/zeta-scaler/zeta-scaler/actuators"
	yarnactuator "github.com/zeta-scaler/zeta-scaler/actuators/yarn"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// An action of the executor ends within two seconds after YARN shows the last
// instance READY, where Zeta's inventory does not hold it up, and reading the
// service meanwhile costs two requests a second at most.
func yarnSeenSoon(t *testing.T, s *yarnSite) {
	s.has(t, 1)
	to, err := url.Parse(s.URL)
	require.NoError(t, err)
	var asked atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(to)
	counting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(counting.Close)
	a := s.actuator(t, func(o *yarnactuator.Options) { o.URLs = []string{counting.URL} })

	var mu sync.Mutex
	began := map[scaling.ActionState]time.Time{}
	count := map[scaling.ActionState]int64{}
	store := memory.New()
	x, err := actuators.New(t.Context(), acting.Options{Store: store, Clock: evaluator.WallClock{}, Epoch: 3, Emit: func(e scaling.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Execution != nil {
			began[e.Execution.State], count[e.Execution.State] = time.Now(), asked.Load()
		}
	}})
	require.NoError(t, err)
	x.Configure([]actuators.ScopeConfig{{
		Scope: yarnTarget.Scope, Mode: scaling.Webhook, Kind: "yarn", Target: yarnTarget.Name, Actuator: a,
	}})
	id := decideYARN(t, store, x, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = x.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	verdict, err := x.Accept(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, scaling.VerdictAccepted, verdict.Result)

	var ready time.Time
	harness.Wait(t, time.Minute, "YARN shows 2 instances READY", func(ctx context.Context) error {
		now, err := s.Service(ctx)
		if err == nil && len(now.Ready) != 2 {
			err = errors.New("not yet")
		}
		ready = time.Now()
		return err
	})
	decideYARN(t, store, x, 2)
	harness.Wait(t, time.Minute, "the action has SUCCEEDED", func(context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if began[scaling.ActionSucceeded].IsZero() {
			return errors.New("not yet")
		}
		return nil
	})
	mu.Lock()
	defer mu.Unlock()
	took := began[scaling.ActionSucceeded].Sub(ready)
	converging := began[scaling.ActionSucceeded].Sub(began[scaling.ActionConverging])
	requests := count[scaling.ActionSucceeded] - count[scaling.ActionConverging]
	t.Logf("SUCCEEDED %s after READY; %d requests in %s", took.Round(time.Millisecond), requests, converging.Round(time.Millisecond))
	require.Less(t, took, 2*time.Second)
	require.LessOrEqual(t, float64(requests), 2*converging.Seconds()+1)
}

// decideYARN stores and publishes what the evaluator would: the second worker is
// wanted, and Zeta has so many.
func decideYARN(t *testing.T, store state.Store, x *actuators.Executor, workers int) string {
	t.Helper()
	now, target, key := time.Now(), 2, yarnTarget.Scope.Key
	id := scaling.RecommendationID(3, 1, key)
	r := scaling.Recommendation{
		Scope: key, RecommendationID: id, MasterEpoch: 3, Generation: 1, Action: scaling.ScaleOut, Row: scaling.RowShortage,
		CurrentWorkers: &workers, RecommendedWorkers: &target, ObservedAt: now, ValidUntil: now.Add(5 * time.Minute),
		RuleSet: scaling.RuleSetRef{Name: "r"},
	}
	var puts []state.Put
	for kind, value := range map[state.Kind]any{
		state.Decision: state.DecisionRecord{Epoch: 3, Generation: 1, Intent: scaling.IntentOf(scaling.ScaleOut, 2), Row: r.Row, RecommendationID: id, Recommendation: r},
		state.Tick:     state.TickRecord{RuleSet: "r", Last: now},
	} {
		of := key
		if kind == state.Tick {
			of = "r"
		}
		old, err := store.Get(t.Context(), kind, of)
		if !errors.Is(err, state.ErrNotFound) {
			require.NoError(t, err)
		}
		put, err := state.NewPut(kind, of, old.Version, value)
		require.NoError(t, err)
		puts = append(puts, put)
	}
	_, err := store.Apply(t.Context(), state.NoFence, state.Batch{Puts: puts})
	require.NoError(t, err)
	x.Publish(t.Context(), []scaling.Evaluation{{Scope: yarnTarget.Scope, Recommendation: r, Mode: scaling.Webhook, Tick: now}}, nil)
	return id
}
