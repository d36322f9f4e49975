package alerts_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/alerts"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

func clusters(n int) []scaling.Evaluation {
	out := make([]scaling.Evaluation, n)
	for i := range out {
		out[i] = scaleOut(2, scaling.Label{Name: "cluster", Value: fmt.Sprintf("c%05d", i)})
	}
	return out
}

func TestBatchesOf256(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		w.tick(clusters(600)...)
		var sizes []int
		for _, b := range w.ams["a"].batches {
			sizes = append(sizes, len(b))
		}
		require.Equal(t, []int{256, 256, 88}, sizes)
		require.InDelta(t, 600, w.value("sent_total"), 0)
		require.InDelta(t, 3, w.value("latency_seconds"), 0)
		require.Zero(t, w.value("queue_length"))
		require.InDelta(t, alerts.DefaultQueueCapacity, w.value("queue_capacity"), 0)
	})
}

// One that hangs costs its own queue and nothing else.
func TestOutageOfOneNeverDelaysAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a", "b"}, func(o *alerts.Options) { o.DrainTimeout = time.Second })
		w.ams["a"].answer(0, true)
		for range 20 {
			began := time.Now()
			w.tick(scaleOut(2))
			require.Zero(t, time.Since(began), "a tick does not wait")
			time.Sleep(interval)
		}
		require.Len(t, w.ams["b"].take(), 10, "every minute, as if nothing were")
		require.Empty(t, w.ams["a"].take())
		require.Positive(t, w.value("errors_total"))
		require.LessOrEqual(t, w.value("queue_length"), 1.0, "one alert takes one place")

		w.ams["a"].answer(http.StatusOK, false)
		time.Sleep(time.Minute)
		synctest.Wait()
		got := one(t, w.ams["a"].take())
		require.False(t, got.resolved(), "what comes after an outage is the newest and not yet over")
		require.Equal(t, 1, strings.Count(w.log.String(), "does not take alerts"), "logged once: %s", w.log)
		require.Equal(t, 1, strings.Count(w.log.String(), "takes alerts again"))
		w.end()
	})
}

func TestResolvedReachesAnAlertmanagerThatWasAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		w.ticks(1, scaleOut(2))
		w.ams["a"].take()
		w.ams["a"].answer(http.StatusServiceUnavailable, false)
		w.ticks(20, steady())
		w.ams["a"].answer(http.StatusOK, false)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.True(t, one(t, w.ams["a"].take()).resolved())
	})
}

func TestFullQueueDropsTheOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, func(o *alerts.Options) { o.QueueCapacity = 10 })
		w.ams["a"].answer(http.StatusServiceUnavailable, false)
		list := clusters(25)
		w.tick(list...)
		require.InDelta(t, 15, w.value("dropped_total"), 0)
		require.InDelta(t, 10, w.value("queue_length"), 0)
		w.ams["a"].answer(http.StatusOK, false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		var got []string
		for _, p := range w.ams["a"].take() {
			got = append(got, p.Labels["cluster"])
		}
		require.Len(t, got, 10)
		require.Equal(t, "c00015", got[0], "the newest stay, in order")
		require.Contains(t, w.log.String(), "queue for Alertmanager is full")
		w.end()
	})
}

// What Alertmanager calls a bad request is not sent again: the rest waits
// behind it.
func TestRefusedBatchesAreDropped(t *testing.T) {
	for status, dropped := range map[int]float64{
		http.StatusBadRequest: 1, http.StatusRequestEntityTooLarge: 1, http.StatusUnprocessableEntity: 1,
		http.StatusUnauthorized: 0, http.StatusTooManyRequests: 0, http.StatusBadGateway: 0,
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := build(t, []string{"a"}, nil)
				w.ams["a"].answer(status, false)
				w.tick(scaleOut(2))
				require.InDelta(t, dropped, w.value("dropped_total"), 0)
				require.InDelta(t, 1-dropped, w.value("queue_length"), 0)
				w.ams["a"].answer(http.StatusOK, false)
				time.Sleep(2 * time.Second)
				synctest.Wait()
				require.Len(t, w.ams["a"].take(), int(1-dropped))
				w.end()
			})
		})
	}
}

func TestStopDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a", "hangs", "fails"}, nil)
		w.ams["hangs"].answer(0, true)
		w.ams["fails"].answer(http.StatusServiceUnavailable, false)
		w.n.Publish(t.Context(), clusters(600), nil) // nobody has looked at it yet
		began := time.Now()
		require.NoError(t, w.stop())
		require.Equal(t, alerts.DefaultDrainTimeout, time.Since(began), "the one that hangs takes all the time there is")
		require.Len(t, w.ams["a"].take(), 600)
		require.InDelta(t, 1200, w.value("dropped_total"), 0)
		require.InDelta(t, 0, w.value("queue_length"), 0)
		require.NoError(t, check(w.store, 600))
	})
}

// check counts the stored records.
func check(s state.Store, want int) error {
	records, err := s.List(context.Background(), state.Alert)
	if err == nil && len(records) != want {
		err = fmt.Errorf("%d records, expected %d", len(records), want)
	}
	return err
}

// The id is a label: a new generation is a new alert and ends the old one at
// once.
func TestNewGenerationIsANewAlert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		w.ticks(1, scaleOut(2))
		w.ams["a"].take()
		w.tick(scaleOut(3))
		got := w.ams["a"].take()
		require.Len(t, got, 2)
		require.Equal(t, "7-2-prod", got[0].Labels["recommendation"])
		require.True(t, got[0].resolved())
		require.Equal(t, "7-3-prod", got[1].Labels["recommendation"])
		require.False(t, got[1].resolved())
	})
}

// Spec 1.9: a short loss of the worker count keeps the generation.
func TestShortLossOfTheWorkerCountKeepsTheAlert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		w.ticks(1, scaleOut(2))
		lost := func(generation uint64) scaling.Evaluation {
			ev := scaleOut(generation)
			ev.Recommendation.Action, ev.Recommendation.Row = scaling.NoAction, scaling.RowWorkersUnknown
			ev.Recommendation.CurrentWorkers, ev.Recommendation.RecommendedWorkers = nil, nil
			return ev
		}
		w.ticks(1, lost(2))
		w.ticks(1, scaleOut(2))
		for _, p := range w.ams["a"].take() {
			require.False(t, p.resolved())
			require.Equal(t, "7-2-prod", p.Labels["recommendation"])
		}
		w.tick(lost(3))
		require.True(t, one(t, w.ams["a"].take()).resolved(), "a longer one is a new generation")
	})
}

func TestSeverityFollowsTheShortage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		w.ticks(11, invalid(false))
		require.Equal(t, "warning", one(t, w.ams["a"].take()).Labels["severity"])
		w.tick(invalid(true))
		severities := map[string]bool{}
		for _, p := range w.ams["a"].take() {
			if p.name() == alerts.MetricsInvalid {
				severities[p.Labels["severity"]] = p.resolved()
			}
		}
		require.Equal(t, map[string]bool{"warning": true, "page": false}, severities, "at once: the five minutes are over")
	})
}

// One failure is one alert: its severity may rise while it lasts, and never falls.
func TestAFailureIsOneAlert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		heard := func(ev scaling.Evaluation) map[string]bool {
			w.ticks(3, ev)
			out := map[string]bool{}
			for _, p := range w.ams["a"].take() {
				if p.name() == alerts.ActionFailed {
					out[p.Labels["severity"]] = p.resolved()
				}
			}
			return out
		}
		require.Equal(t, map[string]bool{"warning": false}, heard(withAction(steady(), scaling.ActionFailed)))
		require.Equal(t, map[string]bool{"warning": true, "page": false}, heard(withAction(scaleOut(2), scaling.ActionFailed)), "that is news")
		for range 30 {
			over := heard(withAction(steady(), scaling.ActionFailed))
			require.False(t, over["page"], "the shortage is over, the failure is not")
			if again, sent := over["warning"]; sent {
				require.True(t, again, "no other alert begins")
			}
		}
		require.True(t, heard(withAction(steady(), scaling.ActionSucceeded))["page"])
	})
}

func TestScopeThatIsGoneIsResolved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		w.ticks(1, scaleOut(2))
		w.ams["a"].take()
		require.NoError(t, check(w.store, 1))
		w.n.Publish(t.Context(), nil, []scaling.Scope{steady().Scope, {Key: "never-seen"}})
		synctest.Wait()
		require.True(t, one(t, w.ams["a"].take()).resolved())
		records, err := w.store.List(t.Context(), state.Alert)
		require.NoError(t, err)
		stored, err := state.Decode[state.AlertRecord](records[0])
		require.NoError(t, err)
		require.False(t, stored.Alerts[0].ResolvedAt.IsZero(), "a new leader has to know that it is over")
		time.Sleep(30 * time.Minute) // without any tick
		synctest.Wait()
		again := w.ams["a"].take()
		require.GreaterOrEqual(t, len(again), 10)
		require.Less(t, len(again), 15)
		require.NoError(t, check(w.store, 0))
		w.tick(scaleOut(5))
		require.False(t, one(t, w.ams["a"].take()).resolved(), "it may come back")
	})
}
