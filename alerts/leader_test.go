package alerts_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/alerts"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// A new leader knows what the one before has sent, and resolves ids that are
// no longer current.
func TestNewLeaderResolvesWhatIsNoLongerCurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		both := invalid(true)
		both.Recommendation.Action, both.Recommendation.RecommendedWorkers = scaling.ScaleOut, new(5)
		w.ticks(11, both)
		began := w.ams["a"].take()
		w.end()
		require.NoError(t, check(w.store, 1))

		w.options.Epoch = 8
		w.start()
		defer func() { w.end() }()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Empty(t, w.ams["a"].take(), "nothing is resolved before its scope was evaluated")
		both.Recommendation.RecommendationID = "8-1-prod"
		w.tick(both)
		got := map[string]posted{}
		for _, p := range w.ams["a"].take() {
			got[p.name()+" "+p.Labels["recommendation"]] = p
		}
		require.Len(t, got, 3)
		require.True(t, got["ZetaScaleOutRecommended 7-1-prod"].resolved())
		require.NotEmpty(t, got["ZetaScaleOutRecommended 7-1-prod"].Annotations)
		require.False(t, got["ZetaScaleOutRecommended 8-1-prod"].resolved())
		kept := got["ZetaMetricsInvalid "]
		require.False(t, kept.resolved())
		for _, p := range began {
			if p.name() == kept.name() {
				require.Equal(t, p.StartsAt, kept.StartsAt, "the same alert goes on, without five minutes of silence")
			}
		}
	})
}

// A scope that the new leader never evaluates is resolved all the same.
func TestStoredAlertOfAScopeThatNeverComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		w.ticks(1, scaleOut(2))
		w.ams["a"].take()
		w.end()
		w.start()
		defer func() { w.end() }()
		time.Sleep(16 * time.Minute)
		synctest.Wait()
		got := w.ams["a"].take()
		require.NotEmpty(t, got)
		require.True(t, got[0].resolved())
		require.Equal(t, "prod: 4 → 5 workers recommended", got[0].Annotations["summary"], "from the store")
		time.Sleep(time.Hour)
		require.NoError(t, check(w.store, 0))
	})
}

func TestOldLeaderFallsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		w.ticks(1, scaleOut(2))
		w.ams["a"].take()
		rec, err := w.store.Get(t.Context(), state.Alert, "prod")
		require.NoError(t, err)
		put, err := state.NewPut(state.Alert, "prod", rec.Version, state.AlertRecord{Epoch: 8})
		require.NoError(t, err)
		leader, err := state.NewPut(state.Leader, state.EpochKey, 0, state.LeaderRecord{Epoch: 8})
		require.NoError(t, err)
		_, err = w.store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{leader, put}})
		require.NoError(t, err)
		w.ticks(10, scaleOut(3))
		require.Empty(t, w.ams["a"].take())
		after, err := state.Decode[state.AlertRecord](mustGet(t, w.store))
		require.NoError(t, err)
		require.EqualValues(t, 8, after.Epoch)
		require.Contains(t, w.log.String(), "no more alerts are sent: this process leads no longer: epoch 7 is over, another leads under epoch 8")
	})
}

func mustGet(t *testing.T, s state.Store) state.Record {
	t.Helper()
	rec, err := s.Get(t.Context(), state.Alert, "prod")
	require.NoError(t, err)
	return rec
}

// A record that this leader did not expect is read again and written over.
func TestConflictIsOvercome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		put, err := state.NewPut(state.Alert, "prod", 0, state.AlertRecord{Epoch: 6})
		require.NoError(t, err)
		_, err = w.store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{put}})
		require.NoError(t, err)
		w.ticks(3, scaleOut(2))
		require.NotEmpty(t, w.ams["a"].take())
		r, err := state.Decode[state.AlertRecord](mustGet(t, w.store))
		require.NoError(t, err)
		require.EqualValues(t, 7, r.Epoch)
		require.Len(t, r.Alerts, 1)
	})
}

// failing is a store that cannot be written.
type failing struct{ state.Store }

func (failing) Apply(context.Context, state.Fence, state.Batch) ([]uint64, error) {
	return nil, errors.New("disk full")
}

func TestAlertsGoOutWhileTheStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, func(o *alerts.Options) { o.Store = failing{memory.New()} })
		defer w.end()
		w.ticks(4, scaleOut(2))
		require.Len(t, w.ams["a"].take(), 2)
		require.Equal(t, 1, strings.Count(w.log.String(), "disk full"), "logged once")
	})
}
