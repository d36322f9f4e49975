package state_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// drawInstant is an instant at most 400 days from noon, or none.
func drawInstant(t *rapid.T) time.Time {
	if rapid.IntRange(0, 4).Draw(t, "none") == 0 {
		return time.Time{}
	}
	return noon.Add(time.Duration(rapid.IntRange(-400*24*3600, 400*24*3600).Draw(t, "second")) * time.Second)
}

// Whatever a clock has left: nothing that happened lies ahead, what is right
// stays, and once is enough.
func TestCorrectedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := drawInstant(t)
		after := before
		corrected := state.Happened(noon, &after)
		require.Equal(t, before.After(noon), corrected)
		require.False(t, after.After(noon))
		if !corrected {
			require.Equal(t, before, after)
		}
		require.False(t, state.Happened(noon.Add(time.Second), &after), "time goes on")
	})
}

func TestNothingThatHappenedLiesAhead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := state.DecisionRecord{
			Since: drawInstant(t), LastTick: drawInstant(t), LastSeen: drawInstant(t), FirstTick: drawInstant(t),
			Ramp: &state.Ramp{Tick: drawInstant(t)},
		}
		ramp := *d.Ramp
		shared := d.Ramp
		d.Correct(noon)
		require.Equal(t, ramp, *shared, "others may have the same ramp")
		for _, at := range []time.Time{d.Since, d.LastTick, d.LastSeen, d.FirstTick, d.Ramp.Tick} {
			require.False(t, at.After(noon))
		}
		require.False(t, d.Correct(noon))

		until := drawInstant(t)
		c := state.ControlRecord{Paused: true, PausedUntil: until, UpdatedAt: drawInstant(t), ResumedAt: drawInstant(t)}
		timed := scaling.TimedBound{Bound: scaling.MaxWorkers, Workers: 9, Since: drawInstant(t), Until: until}
		before := timed
		c.MaxTimed = &timed
		c.Correct(noon)
		require.False(t, c.UpdatedAt.After(noon) || c.ResumedAt.After(noon) || c.MaxTimed.Since.After(noon))
		require.Equal(t, until, c.PausedUntil, "somebody has asked for it")
		require.Equal(t, until, c.MaxTimed.Until, "somebody has asked for it")
		require.Equal(t, before, timed, "other copies of the record have it")
		require.False(t, c.Correct(noon))

		a := state.FiredAlert{StartsAt: drawInstant(t), ResolvedAt: drawInstant(t)}
		a.Correct(noon)
		require.False(t, a.StartsAt.After(noon) || a.ResolvedAt.After(noon))
		require.False(t, a.Correct(noon))
	})
}
