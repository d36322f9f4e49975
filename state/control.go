package state

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// ControlRecord is what operators set at run time, for one scope or, under
// GlobalKey, for the whole service.
type ControlRecord struct {
	Paused bool `json:"paused"`
	// Reason and By say why and by whom it was paused or changed.
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
	// PausedSince is when the pause began and PausedBy who paused; both are empty
	// in records of older versions.
	PausedSince time.Time `json:"pausedSince,omitzero"`
	PausedBy    string    `json:"pausedBy,omitempty"`
	// PausedUntil ends the pause by itself; zero is until resumed.
	PausedUntil time.Time `json:"pausedUntil,omitzero"`
	// MinWorkers, MaxWorkers and Mode override the configuration; nil does not.
	MinWorkers *int          `json:"minWorkers,omitempty"`
	MaxWorkers *int          `json:"maxWorkers,omitempty"`
	Mode       *scaling.Mode `json:"mode,omitempty"`
	// MinTimed and MaxTimed override the bounds until a time, and what is set
	// without an end until then; nil where nothing was. They stay in the record for
	// a while when the time is over: who reads it compares with the clock.
	MinTimed  *scaling.TimedBound `json:"minTimed,omitempty"`
	MaxTimed  *scaling.TimedBound `json:"maxTimed,omitempty"`
	UpdatedAt time.Time           `json:"updatedAt"`
	// ResumedAt is when somebody last resumed the scope, paused or not: it says
	// that what the platform has now is accepted.
	ResumedAt time.Time `json:"resumedAt,omitzero"`
}

// check refuses bounds that nobody can have set through the API. Of those that end by
// themselves it compares no two: one may have been over when the other was set.
func (c ControlRecord) check() error {
	var bad []string
	say := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	atLeast := func(least int, name scaling.BoundName, plain *int, timed *scaling.TimedBound) {
		if plain != nil && *plain < least {
			say("%s is %d, expected %d or more", name, *plain, least)
		}
		if timed != nil && timed.Workers < least {
			say("%s until %s is %d, expected %d or more", name, timed.Until.UTC().Format(time.RFC3339), timed.Workers, least)
		}
	}
	atLeast(0, scaling.MinWorkers, c.MinWorkers, c.MinTimed)
	atLeast(1, scaling.MaxWorkers, c.MaxWorkers, c.MaxTimed)
	if c.MinWorkers != nil && c.MaxWorkers != nil && *c.MinWorkers > *c.MaxWorkers {
		say("%s %d is greater than %s %d", scaling.MinWorkers, *c.MinWorkers, scaling.MaxWorkers, *c.MaxWorkers)
	}
	if len(bad) > 0 {
		return errors.New(strings.Join(bad, "; "))
	}
	return nil
}

// PausedAt reports whether the pause holds at t.
func (c ControlRecord) PausedAt(t time.Time) bool {
	return c.Paused && (c.PausedUntil.IsZero() || t.Before(c.PausedUntil))
}

// Since is when the pause began, as far as the record tells.
func (c ControlRecord) Since() time.Time {
	if c.PausedSince.IsZero() {
		return c.UpdatedAt
	}
	return c.PausedSince
}

// Pauser is who paused, as far as the record tells.
func (c ControlRecord) Pauser() string { return cmp.Or(c.PausedBy, c.By) }

// Timed are the bounds that hold at t and end by themselves.
func (c ControlRecord) Timed(t time.Time) []scaling.TimedBound {
	var out []scaling.TimedBound
	for _, b := range []*scaling.TimedBound{c.MinTimed, c.MaxTimed} {
		if b != nil && t.Before(b.Until) {
			out = append(out, *b)
		}
	}
	return out
}

// InForce reports whether the record holds anything back or overrides anything at
// t: one that does outlives its scope.
func (c ControlRecord) InForce(t time.Time) bool {
	return c.PausedAt(t) || c.MinWorkers != nil || c.MaxWorkers != nil || c.Mode != nil || len(c.Timed(t)) > 0
}

// At is the record without what has ended by itself at t: a pause, or bounds.
func (c ControlRecord) At(t time.Time) ControlRecord {
	for _, b := range []**scaling.TimedBound{&c.MinTimed, &c.MaxTimed} {
		if *b != nil && !t.Before((*b).Until) {
			*b = nil
		}
	}
	if c.Paused && !c.PausedAt(t) {
		c.Paused, c.Reason, c.PausedUntil = false, "", time.Time{}
		c.PausedSince, c.PausedBy = time.Time{}, ""
	}
	return c
}

// Ended reports whether anything in the record has ended by itself at t.
func (c ControlRecord) Ended(t time.Time) bool {
	at := c.At(t)
	return at.Paused != c.Paused || at.MinTimed != c.MinTimed || at.MaxTimed != c.MaxTimed
}

// Empty reports whether nothing is set, be it over or not.
func (c ControlRecord) Empty() bool {
	return !c.Paused && c.MinWorkers == nil && c.MaxWorkers == nil && c.Mode == nil && c.MinTimed == nil && c.MaxTimed == nil
}
