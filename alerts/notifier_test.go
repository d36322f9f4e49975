package alerts_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/alerts"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
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

// Prometheus issue 5277: a reload must not skip a send.
func TestReloadSendsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a", "b"}, nil)
		defer w.end()
		w.ticks(1, scaleOut(2))
		w.ams["a"].take()
		w.ams["b"].take()
		w.ams["c"] = newAlertmanager()
		change, err := w.n.Prepare(alerts.Settings{Alertmanagers: endpoints("a", "c")})
		require.NoError(t, err)
		synctest.Wait()
		require.Empty(t, w.ams["c"].take(), "a check changes nothing")
		change.Apply()
		synctest.Wait()
		for _, name := range []string{"a", "c"} {
			got := one(t, w.ams[name].take())
			require.True(t, got.EndsAt.Equal(time.Now().Add(4*time.Minute)))
			require.Empty(t, got.GeneratorURL, "the new settings have no external URL")
		}
		require.Empty(t, w.ams["b"].take())
		w.ticks(3, scaleOut(2))
		require.Empty(t, w.ams["b"].take())
		require.NotEmpty(t, w.ams["c"].take())
		require.NotContains(t, labelValues(t, w), "http://b/am/", "its series are gone")

		time.Sleep(time.Hour) // no tick in that time
		change, err = w.n.Prepare(alerts.Settings{Alertmanagers: endpoints("a", "c")})
		require.NoError(t, err)
		change.Apply()
		synctest.Wait()
		require.Empty(t, w.ams["c"].take(), "a reload does not wake what no tick speaks for")
	})
}

func labelValues(t *testing.T, w *world) []string {
	t.Helper()
	list, err := w.reg.Gather()
	require.NoError(t, err)
	var out []string
	for _, f := range list {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				out = append(out, l.GetValue())
			}
		}
	}
	return out
}

func TestReloadThatEndsAlerting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		w.ticks(1, scaleOut(2))
		w.ams["a"].take()
		change, err := w.n.Prepare(alerts.Settings{})
		require.NoError(t, err)
		change.Apply()
		synctest.Wait()
		w.ticks(5, scaleOut(2))
		require.Empty(t, w.ams["a"].take())
		require.NoError(t, check(w.store, 0))

		change, err = w.n.Prepare(alerts.Settings{Alertmanagers: endpoints("a")})
		require.NoError(t, err)
		change.Apply()
		w.tick(scaleOut(2))
		one(t, w.ams["a"].take())
	})
}

func TestSettingsAreChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		_, err := w.n.Prepare(alerts.Settings{Alertmanagers: endpoints("a", "b", "a")})
		require.ErrorContains(t, err, "alertmanager http://a/am/ is listed twice")
		bad := endpoints("a")
		bad[0].HTTPClientConfig.TLSConfig.CAFile = filepath.Join(t.TempDir(), "missing.pem")
		_, err = w.n.Prepare(alerts.Settings{Alertmanagers: bad})
		require.ErrorContains(t, err, "missing.pem")
		bad[0] = alerts.Endpoint{URL: "http://user:secret@a:b"}
		_, err = w.n.Prepare(alerts.Settings{Alertmanagers: bad})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
		w.tick(scaleOut(2))
		one(t, w.ams["a"].take())
	})
}

// Credentials come from files, are read again when they rotate, and are shown
// nowhere.
func TestCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("first"), 0o600))
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, func(o *alerts.Options) {
			o.Alertmanagers[0].HTTPClientConfig.Authorization = &promconfig.Authorization{Type: "Bearer", CredentialsFile: file}
		})
		defer w.end()
		w.ticks(2, scaleOut(2))
		require.NoError(t, os.WriteFile(file, []byte("second"), 0o600))
		w.tick(scaleOut(2))
		require.Equal(t, "Bearer first", w.ams["a"].headers[0].Get("Authorization"))
		require.Equal(t, "Bearer second", w.ams["a"].headers[1].Get("Authorization"))
	})
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, func(o *alerts.Options) { o.Alertmanagers[0].URL = "http://user:hidden@a/am" })
		defer w.end()
		w.ams["a"].answer(http.StatusForbidden, false)
		w.ticks(4, scaleOut(3))
		require.Contains(t, w.log.String(), "403")
		require.NotContains(t, w.log.String(), "hidden")
		require.NotContains(t, strings.Join(labelValues(t, w), " "), "hidden")
	})
}
