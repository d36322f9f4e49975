package alerts_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/alerts"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// The tests of this file are the MUSTs of Prometheus' Alert Generator
// Compliance Specification 1.0 that do not need PromQL: the format of alerts,
// the life of an alert, and when it is sent. A tick is the specification's
// evaluation, patience its `for`.

// "An alert in JSON MUST follow the following format".
func TestComplianceAlertFormat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		w.tick(scaleOut(2))
		am := w.ams["a"]
		require.Equal(t, "application/json", am.headers[0].Get("Content-Type"))
		var list []map[string]any
		require.NoError(t, json.Unmarshal(am.raw[0], &list), "the body is a list")
		require.Len(t, list, 1)
		got := list[0]
		require.Len(t, got, 5)
		for _, key := range []string{"labels", "annotations"} {
			m, ok := got[key].(map[string]any)
			require.True(t, ok, key)
			require.NotEmpty(t, m, key)
			for k, v := range m {
				require.IsType(t, "", v, k)
				require.NotEmpty(t, v, k)
			}
		}
		millis := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
		require.Regexp(t, millis, got["startsAt"])
		require.Regexp(t, millis, got["endsAt"])
		require.Equal(t, "https://scaler.example/?scope=prod", got["generatorURL"])
	})
}

// "The alert name MUST be added to the labels … It MUST override any existing
// alertname label. The labels MUST uniquely identify an alert.".
func TestComplianceAlertNameOverridesLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		w.tick(scaleOut(2, scaling.Label{Name: "alertname", Value: "Mine"}, scaling.Label{Name: "severity", Value: "page"}))
		got := one(t, w.ams["a"].take())
		require.Equal(t, map[string]string{
			"alertname": "ZetaScaleOutRecommended", "scope": "Mine/page", "severity": "warning",
			"action": "SCALE_OUT", "recommendation": "7-2-Mine/page",
		}, got.Labels)
	})
}

// "… MUST NOT send any alerts if there is more than one alert with the same
// labels": no two alerts of any tick can have the same.
func TestComplianceNoTwoAlertsHaveTheSameLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		hostile := []string{"alertname", "severity", "scope", "action", "recommendation", "cluster"}
		var evaluations []scaling.Evaluation
		for _, name := range hostile {
			for _, value := range []string{"x", "x/y", "x%2Fy", "\xff", "\xfe"} {
				evaluations = append(evaluations, scaleOut(2, scaling.Label{Name: name, Value: value}, scaling.Label{Name: "by", Value: name}))
			}
		}
		w.tick(evaluations...)
		seen := map[string]bool{}
		for _, p := range w.ams["a"].take() {
			key := fmt.Sprint(p.Labels)
			require.False(t, seen[key], key)
			seen[key] = true
		}
		require.Len(t, seen, len(evaluations))
	})
}

// "For a zero `for` duration, the alert MUST directly go into firing state" and
// "firing alerts MUST be sent … when it first went into firing state".
func TestComplianceZeroForFiresAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		w.tick(steady())
		require.Empty(t, w.ams["a"].take())
		w.tick(scaleOut(2))
		got := one(t, w.ams["a"].take())
		require.False(t, got.resolved())
		require.True(t, got.StartsAt.Equal(time.Now()))
	})
}

// "Alert-generators MUST send only firing and inactive state alerts", and
// "the alert MUST stay in pending state … less than `for`", "greater than or
// equal … MUST go into firing state immediately".
func TestCompliancePendingAlertsAreNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		w.ticks(10, invalid(false)) // 0s … 4m30s
		require.Empty(t, w.ams["a"].take(), "pending")
		w.tick(steady())
		time.Sleep(interval)
		w.ticks(9, invalid(false))
		w.tick(steady())
		require.Empty(t, w.ams["a"].take(), "an alert that was only pending is not resolved either")

		time.Sleep(interval)
		w.ticks(10, invalid(false))
		fired := time.Now()
		w.tick(invalid(false)) // 5m after the first tick
		got := one(t, w.ams["a"].take())
		require.Equal(t, "ZetaMetricsInvalid", got.name())
		require.True(t, got.StartsAt.Equal(fired), "startsAt is FiredAt, not ActiveAt")
	})
}

// "For a non-zero `for` less than the interval, the alert MUST go into firing
// state during the next evaluation … and not in between evaluations".
func TestComplianceForShorterThanTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		ev := invalid(false)
		ev.Interval = 600
		w.tick(ev)
		time.Sleep(599 * time.Second)
		synctest.Wait()
		require.Empty(t, w.ams["a"].take())
		time.Sleep(time.Second)
		w.tick(ev)
		require.Equal(t, "ZetaMetricsInvalid", one(t, w.ams["a"].take()).name())
	})
}

// "The alerts MUST be sent only after the respective rule evaluations and not
// in between two evaluations.".
func TestComplianceNothingIsSentBetweenEvaluations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		w.tick(scaleOut(2))
		w.ams["a"].take()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Empty(t, w.ams["a"].take())
	})
}

// "ResendDelay MUST default to 1 minute" and "the actual interval MUST be the
// first >0 multiple of the group interval that is more than or equal to
// ResendDelay".
func TestComplianceFiringAlertsAreResent(t *testing.T) {
	for name, tc := range map[string]struct{ delay, interval, want time.Duration }{
		"default":                 {0, 30 * time.Second, time.Minute},
		"default, no divisor":     {0, 25 * time.Second, 75 * time.Second},
		"shorter than interval":   {10 * time.Second, 30 * time.Second, 30 * time.Second},
		"equal":                   {30 * time.Second, 30 * time.Second, 30 * time.Second},
		"longer than the default": {5 * time.Minute, 30 * time.Second, 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := build(t, []string{"a"}, func(o *alerts.Options) { o.ResendDelay = tc.delay })
				defer w.end()
				began := time.Now()
				var sent []time.Duration
				for time.Since(began) <= 3*tc.want {
					ev := scaleOut(2)
					ev.Interval = tc.interval.Seconds()
					w.tick(ev)
					for _, p := range w.ams["a"].take() {
						require.False(t, p.resolved())
						require.True(t, p.StartsAt.Equal(began))
						sent = append(sent, time.Since(began))
					}
					time.Sleep(tc.interval)
				}
				require.Equal(t, []time.Duration{0, tc.want, 2 * tc.want, 3 * tc.want}, sent)
			})
		})
	}
}

// "If the annotation values change at any evaluation, the latest annotations
// MUST be updated to the alert immediately": what is sent is always the newest,
// and a change is no new alert.
func TestComplianceAnnotationsAreTheLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		w.ticks(2, scaleOut(2))
		first := one(t, w.ams["a"].take())
		ev := scaleOut(2)
		ev.Recommendation.Reason, ev.Recommendation.CurrentWorkers = "something else", new(3)
		w.tick(ev)
		second := one(t, w.ams["a"].take())
		require.Equal(t, first.Labels, second.Labels)
		require.Equal(t, first.StartsAt, second.StartsAt)
		require.Equal(t, "4", first.Annotations["current_workers"])
		require.Equal(t, "3", second.Annotations["current_workers"])
		require.Equal(t, "something else", second.Annotations["description"])
	})
}

// "inactive alerts MUST be sent … when it first went into inactive state",
// then every ResendDelay while less than 15 minutes have passed, and "endsAt …
// MUST be ResolvedAt", "startsAt MUST be FiredAt (both when firing or
// inactive)".
func TestComplianceResolvedAlertsAreSentForFifteenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		fired := time.Now()
		w.ticks(1, scaleOut(2))
		w.ams["a"].take()
		resolved := time.Now()
		var sent []time.Duration
		for time.Since(resolved) <= 20*time.Minute {
			w.tick(steady())
			for _, p := range w.ams["a"].take() {
				require.True(t, p.resolved())
				require.True(t, p.StartsAt.Equal(fired))
				require.True(t, p.EndsAt.Equal(resolved))
				require.NotEmpty(t, p.Annotations)
				sent = append(sent, time.Since(resolved))
			}
			time.Sleep(interval)
		}
		require.Len(t, sent, 15)
		require.Equal(t, time.Duration(0), sent[0])
		require.Equal(t, 14*time.Minute, sent[14])
	})
}

// "… AND there is no new active alert with the same labels", and "any alerts in
// future evaluations with the same labels as an inactive alert MUST be
// considered as a new alert".
func TestComplianceRefiringIsANewAlert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		blocked := steady()
		blocked.Recommendation.Action, blocked.Recommendation.Row = scaling.ScaleInBlocked, scaling.RowIdleHeld
		w.ticks(1, blocked)
		w.ticks(1, steady())
		w.ams["a"].take()
		again := time.Now()
		for range 40 {
			w.tick(blocked)
			for _, p := range w.ams["a"].take() {
				require.False(t, p.resolved(), "the old one is not sent beside the new one")
				require.True(t, p.StartsAt.Equal(again))
			}
			time.Sleep(interval)
		}
	})
}

// The life of an alert that has to last begins anew after it was resolved.
func TestComplianceRefiringIsPendingAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		w.ticks(11, invalid(false))
		w.ticks(1, steady())
		w.ams["a"].take()
		w.ticks(9, invalid(false))
		for _, p := range w.ams["a"].take() {
			require.True(t, p.resolved())
		}
	})
}

// "If the alert is firing, endsAt MUST be 4 × ResendDelay or 4 × interval ahead,
// whichever is higher." As Prometheus does, from the time of each sending; but
// by the clock and not by the tick, so that a late tick ends no alert.
func TestComplianceEndsAt(t *testing.T) {
	for name, tc := range map[string]struct{ delay, interval, want time.Duration }{
		"resend delay": {time.Minute, 30 * time.Second, 4 * time.Minute},
		"interval":     {10 * time.Second, 30 * time.Second, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := build(t, []string{"a"}, func(o *alerts.Options) { o.ResendDelay = tc.delay })
				defer w.end()
				for range 3 {
					ev := scaleOut(2)
					ev.Interval, ev.Tick = tc.interval.Seconds(), time.Now().Add(-20*time.Minute)
					w.n.Publish(t.Context(), []scaling.Evaluation{ev}, nil)
					synctest.Wait()
					got := one(t, w.ams["a"].take())
					require.True(t, got.EndsAt.Equal(time.Now().Add(tc.want)), got.EndsAt)
					time.Sleep(tc.delay)
				}
			})
		})
	}
}

// Alerts go to every Alertmanager that is configured.
func TestComplianceEveryAlertmanagerIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a", "b", "c"}, nil)
		defer w.end()
		w.ams["b"].answer(http.StatusInternalServerError, false)
		w.tick(scaleOut(2))
		require.Equal(t, one(t, w.ams["a"].take()).Labels, one(t, w.ams["c"].take()).Labels)
		w.ams["b"].answer(http.StatusOK, false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		one(t, w.ams["b"].take())
	})
}
