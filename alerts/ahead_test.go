package alerts

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// asking is an evaluation that asks for workers, or does not.
func asking(tick time.Time, asks bool) *scaling.Evaluation {
	ev := &scaling.Evaluation{
		Scope: scaling.NewScope([]scaling.Label{{Name: "cluster", Value: "a"}}), Tick: tick,
		Recommendation: scaling.Recommendation{Action: scaling.NoAction, Row: scaling.RowSteady, MetricsValid: true},
	}
	if asks {
		ev.Recommendation.Action, ev.Recommendation.Row = scaling.ScaleOut, scaling.RowShortage
		ev.Recommendation.RecommendationID = "1-1-a"
	}
	return ev
}

// Whatever the clock did before, and however often the alerts were read from
// the store meanwhile: with the first tick after it is right nothing that is
// sent or stored lies ahead, and what is over is forgotten when its time is up.
func TestWhateverTheClockDid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		s := &scopeAlerts{}
		for range rapid.IntRange(1, 8).Draw(t, "ticks") {
			now = now.Add(time.Minute)
			skewed := now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 24 * 8, 24 * 400, -1, -24 * 400}).Draw(t, "hours")) * time.Hour)
			s.observe(asking(skewed, rapid.Bool().Draw(t, "asks")), time.Minute)
			if rapid.Bool().Draw(t, "restart") {
				r := s.record(1)
				s = restored(&r, skewed)
			}
		}
		for range 2 {
			now = now.Add(time.Minute)
			due, _ := s.observe(asking(now, false), time.Minute)
			for _, a := range due {
				require.False(t, a.startsAt.After(now) || a.resolvedAt.After(now), "%+v", a)
				require.False(t, a.resolvedAt.Before(a.startsAt), "%+v", a)
			}
		}
		r := s.record(1)
		require.Equal(t, r, corrected(r, now))
		s.observe(asking(now.Add(retention), false), time.Minute)
		require.Empty(t, s.alerts)
	})
}

func corrected(r state.AlertRecord, now time.Time) state.AlertRecord {
	r.Alerts = append([]state.FiredAlert(nil), r.Alerts...)
	for i := range r.Alerts {
		r.Alerts[i].Correct(now)
	}
	return r
}

// What a clock that was ahead has stored is put right when it is read, also of a
// scope that is never evaluated again.
func TestStoredAlertsBeginByNow(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := state.AlertRecord{Alerts: []state.FiredAlert{{StartsAt: now.Add(time.Hour), ResolvedAt: now.Add(2 * time.Hour)}}}
	a := restored(&r, now).alerts[0]
	require.False(t, a.startsAt.After(now))
	require.False(t, a.resolvedAt.After(now))
}
