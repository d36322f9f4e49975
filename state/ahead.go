package state

import (
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// A clock that was ahead, if only for the seconds until the time service set it
// right, leaves instants that lie ahead of now. They are put right once, when
// they are read, and stored: what has happened never lies ahead.

// Happened sets the instants at which something happened to now, where they lie
// ahead of it, and reports whether any did.
func Happened(now time.Time, instants ...*time.Time) (corrected bool) {
	for _, t := range instants {
		if t.After(now) {
			*t, corrected = Instant(now), true
		}
	}
	return corrected
}

// Correct puts right what a clock that was ahead has left.
func (d *DecisionRecord) Correct(now time.Time) (corrected bool) {
	corrected = Happened(now, &d.Since, &d.LastTick, &d.LastSeen, &d.FirstTick)
	if d.Ramp != nil && d.Ramp.Tick.After(now) {
		ramp := *d.Ramp
		d.Ramp = &ramp
		corrected = Happened(now, &ramp.Tick)
	}
	return corrected
}

// Correct puts right what a clock that was ahead has left. A pause or
// a bound ends at the instant that somebody has asked for, whatever our clock said
// then.
func (c *ControlRecord) Correct(now time.Time) (corrected bool) {
	corrected = Happened(now, &c.UpdatedAt, &c.ResumedAt, &c.PausedSince)
	for _, b := range []**scaling.TimedBound{&c.MinTimed, &c.MaxTimed} {
		if *b != nil && (*b).Since.After(now) {
			timed := **b
			*b = &timed
			corrected = Happened(now, &timed.Since)
		}
	}
	return corrected
}

// Correct puts right what a clock that was ahead has left.
func (a *FiredAlert) Correct(now time.Time) (corrected bool) {
	return Happened(now, &a.StartsAt, &a.ResolvedAt)
}
