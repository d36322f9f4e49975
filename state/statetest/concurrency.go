package statetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// model compares the store with two maps over random sequences of batches,
// right and wrong versions mixed.
func model(t *testing.T, open Open) {
	s := open(t)
	type id struct {
		kind state.Kind
		key  string
	}
	known := map[id]state.Record{}
	entries := 0
	rapid.Check(t, func(rt *rapid.T) {
		var b state.Batch
		conflict := false
		used := map[id]bool{}
		for range rapid.IntRange(0, 5).Draw(rt, "writes") {
			x := id{
				rapid.SampledFrom([]state.Kind{state.Decision, state.Execution, state.Drain, state.Control}).Draw(rt, "kind"),
				rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(rt, "key"),
			}
			if used[x] {
				continue
			}
			used[x] = true
			if rapid.IntRange(0, 4).Draw(rt, "what") == 0 {
				b.Removes = append(b.Removes, state.Remove{Kind: x.kind, Key: x.key})
				continue
			}
			version := known[x].Version
			if rapid.IntRange(0, 7).Draw(rt, "stale") == 0 {
				version, conflict = version+1, true
			}
			value := raw(strconv.Itoa(rapid.Int().Draw(rt, "value")))
			b.Puts = append(b.Puts, state.Put{Kind: x.kind, Key: x.key, Version: version, Value: value})
		}
		if rapid.Bool().Draw(rt, "history") {
			b.History = []state.Entry{{Scope: "m", At: epoch, Kind: state.DecisionEntry, Value: raw(`{}`)}}
		}

		versions, err := s.Apply(t.Context(), state.NoFence, b)
		if conflict {
			require.ErrorIs(rt, err, state.ErrConflict)
		} else {
			require.NoError(rt, err)
			require.Len(rt, versions, len(b.Puts))
			for i, p := range b.Puts {
				x := id{p.Kind, p.Key}
				require.Greater(rt, versions[i], known[x].Version)
				known[x] = state.Record{Kind: p.Kind, Key: p.Key, Version: versions[i], Value: p.Value}
			}
			for _, r := range b.Removes {
				delete(known, id{r.Kind, r.Key})
			}
			entries += len(b.History)
		}
		total := 0
		for _, kind := range []state.Kind{state.Decision, state.Execution, state.Drain, state.Control} {
			records, err := s.List(t.Context(), kind)
			require.NoError(rt, err)
			for _, r := range records {
				require.Equal(rt, known[id{r.Kind, r.Key}], r)
			}
			total += len(records)
		}
		require.Equal(rt, len(known), total)
		h, err := s.History(t.Context(), state.Filter{Scope: "m", Limit: state.MaxHistoryLimit})
		require.NoError(rt, err)
		require.Len(rt, h, min(entries, state.MaxHistoryLimit))
	})
}

// update changes one record by reading and writing until nobody else was
// faster.
func update(ctx context.Context, s state.Store, keys []string, by int) error {
	for {
		var b state.Batch
		for _, key := range keys {
			n, version, err := state.Load[int](ctx, s, state.Control, key)
			if err != nil {
				return err
			}
			p, err := state.NewPut(state.Control, key, version, n+by)
			if err != nil {
				return err
			}
			b.Puts = append(b.Puts, p)
		}
		_, err := s.Apply(ctx, state.NoFence, b)
		if !errors.Is(err, state.ErrConflict) {
			return err
		}
	}
}

func concurrentCounter(t *testing.T, open Open) {
	const writers, rounds = 6, 15
	s := open(t)
	g, ctx := errgroup.WithContext(t.Context())
	for w := range writers {
		g.Go(func() error {
			for range rounds {
				if err := update(ctx, s, []string{"n"}, w+1); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	n, _, err := state.Load[int](t.Context(), s, state.Control, "n")
	require.NoError(t, err)
	require.Equal(t, rounds*writers*(writers+1)/2, n)
}

func concurrentPairs(t *testing.T, open Open) {
	s := open(t)
	require.NoError(t, update(t.Context(), s, []string{"x", "y"}, 0))
	g, ctx := errgroup.WithContext(t.Context())
	done := make(chan struct{})
	g.Go(func() error {
		defer close(done)
		for range 40 {
			if err := update(ctx, s, []string{"x", "y"}, 1); err != nil {
				return err
			}
		}
		return nil
	})
	for range 2 {
		g.Go(func() error {
			for {
				select {
				case <-done:
					return nil
				default:
				}
				records, err := s.List(ctx, state.Control)
				if err != nil {
					return err
				}
				if x, y := string(records[0].Value), string(records[1].Value); x != y {
					return fmt.Errorf("half of a batch was visible: x is %s, y is %s", x, y)
				}
			}
		})
	}
	require.NoError(t, g.Wait())
}

func typedRecords(t *testing.T, open Open) {
	s := open(t)
	four, five, ten := 4, 5, 10
	webhook := scaling.Webhook
	check := func(kind state.Kind, key string, value any, load func() (any, uint64, error)) {
		t.Helper()
		p, err := state.NewPut(kind, key, 0, value)
		require.NoError(t, err)
		versions, err := s.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{p}})
		require.NoError(t, err)
		got, version, err := load()
		require.NoError(t, err)
		require.Equal(t, versions[0], version)
		require.Equal(t, value, got)
	}
	scope := scaling.NewScope([]scaling.Label{{Name: "cluster", Value: "prod"}})
	check(state.Decision, "prod", state.DecisionRecord{
		Scope: scope, FirstTick: epoch.Add(-time.Hour), Epoch: 1 << 60, Generation: 3,
		Intent: scaling.Intent{Action: scaling.ScaleOut, Target: 5}, Row: scaling.RowSaturated,
		Since: epoch, LastTick: epoch.Add(time.Minute), LastSeen: epoch, UnknownTicks: 1,
		Ramp:   &state.Ramp{Size: 4, Base: 8, Tick: epoch, Bound: true},
		Master: "10.0.0.1:5801", RecommendationID: "1-3-prod",
		Recommendation: scaling.Recommendation{
			Scope: "prod", Action: scaling.ScaleOut, CurrentWorkers: &four, RecommendedWorkers: &five,
			MetricsSnapshot: map[string]scaling.Measurement{
				"avg_cpu":          {Value: scaling.Known(0.91), Unit: "ratio"},
				"slot_utilization": {Reason: "not_applicable"},
			},
		},
	}, func() (any, uint64, error) { return load[state.DecisionRecord](t, s, state.Decision, "prod") })
	check(state.Execution, "prod", state.ExecutionRecord{
		Booting:       []scaling.Booting{{Target: 5, Deadline: epoch}},
		CooldownUntil: epoch, BackoffUntil: epoch.Add(time.Second), ActionInFlight: true,
	}, func() (any, uint64, error) { return load[state.ExecutionRecord](t, s, state.Execution, "prod") })
	check(state.Drain, "prod", state.DrainRecord{
		Epoch: 3,
		Open: &scaling.Drain{
			ID: "3-1-prod", Scope: "prod", Worker: "zeta-worker-2", State: scaling.DrainDraining, Deadline: epoch,
			Transitions: []scaling.DrainTransition{{State: scaling.DrainDraining, At: epoch, Reason: "idle"}},
			Jobs:        []scaling.DrainJob{{ID: "4501", Name: "orders", Mode: "STREAMING", Step: scaling.JobStopping, StopAt: epoch}},
		},
		Last:         &scaling.Drain{ID: "2-1-prod", State: scaling.DrainActive, GivenUp: "cancelled"},
		BackoffUntil: epoch, Failures: 1, Others: map[string]int64{"4502": 1 << 40},
	}, func() (any, uint64, error) { return load[state.DrainRecord](t, s, state.Drain, "prod") })
	check(state.Control, state.GlobalKey, state.ControlRecord{
		Paused: true, Reason: "upgrade", By: "ops", PausedUntil: epoch,
		MinWorkers: &four, MaxWorkers: &ten, Mode: &webhook, UpdatedAt: epoch,
	}, func() (any, uint64, error) { return load[state.ControlRecord](t, s, state.Control, state.GlobalKey) })
	check(state.Leader, state.EpochKey, state.LeaderRecord{Epoch: 7, Holder: "host/1", Since: epoch},
		func() (any, uint64, error) { return load[state.LeaderRecord](t, s, state.Leader, state.EpochKey) })
	check(state.Tick, "zeta-auto", state.TickRecord{RuleSet: "zeta-auto", Last: epoch, Kept: epoch.Add(-time.Minute)},
		func() (any, uint64, error) { return load[state.TickRecord](t, s, state.Tick, "zeta-auto") })

	missing, version, err := state.Load[state.TickRecord](t.Context(), s, state.Tick, "other")
	require.NoError(t, err)
	require.Zero(t, version)
	require.Zero(t, missing)
}

func load[T any](t *testing.T, s state.Store, kind state.Kind, key string) (any, uint64, error) {
	t.Helper()
	v, version, err := state.Load[T](t.Context(), s, kind, key)
	return v, version, err
}

func contextWithCancel(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithCancel(t.Context())
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func apply(t *testing.T, s state.Store, puts ...state.Put) ([]uint64, error) {
	t.Helper()
	return s.Apply(t.Context(), state.NoFence, state.Batch{Puts: puts})
}

// put writes one record and returns its new version.
func put(t *testing.T, s state.Store, kind state.Kind, key string, version uint64, value string) uint64 {
	t.Helper()
	versions, err := apply(t, s, state.Put{Kind: kind, Key: key, Version: version, Value: raw(value)})
	require.NoError(t, err)
	require.Len(t, versions, 1)
	return versions[0]
}

func requireValue(t *testing.T, s state.Store, kind state.Kind, key string, version uint64, value string) {
	t.Helper()
	r, err := s.Get(t.Context(), kind, key)
	require.NoError(t, err)
	require.Equal(t, state.Record{Kind: kind, Key: key, Version: version, Value: raw(value)}, r)
}
