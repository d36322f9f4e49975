package state

import (
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Configured is what the configuration says of a scope's limits.
type Configured struct {
	// Listed is true for a scope that it names; only such a one can be more than
	// advisory.
	Listed bool
	Bounds scaling.Bounds
	Mode   scaling.Mode
}

// Effective are the limits of a scope: what was set at run time, laid over what the
// configuration says.
type Effective struct {
	Bounds scaling.Bounds
	Mode   scaling.Mode
	// Conflicts say where the two do not fit, nil if they do.
	Conflicts []Conflict
}

// Conflict is something that was set at run time and does not fit the
// configuration.
type Conflict struct {
	// Why says what does not fit, Counts what holds instead.
	Why, Counts string
}

// String says both.
func (c Conflict) String() string { return c.Why + ": " + c.Counts }

// Overlay lays what was set at run time and is not over at t over what the
// configuration says. What does not fit together never makes a scope larger or lets
// it act: the maximum goes before the minimum, and a mode that may not be is
// advisory.
func (c ControlRecord) Overlay(conf Configured, t time.Time) Effective {
	c = c.At(t)
	out := Effective{Bounds: conf.Bounds, Mode: conf.Mode}
	b := &out.Bounds
	if c.MinWorkers != nil {
		b.Min = *c.MinWorkers
	}
	if c.MaxWorkers != nil {
		b.Max = *c.MaxWorkers
	}
	if c.MinTimed != nil {
		b.Min = c.MinTimed.Workers
	}
	if c.MaxTimed != nil {
		b.Max = c.MaxTimed.Workers
	}
	if c.Mode != nil {
		out.Mode = *c.Mode
	}
	if b.Min > b.Max {
		out.conflict(fmt.Sprintf("min_workers %d is greater than max_workers %d", b.Min, b.Max), fmt.Sprintf("the minimum is %d", b.Max))
		b.Min = b.Max
	}
	acts := c.Mode != nil && (out.Mode == scaling.Webhook || out.Mode == scaling.Direct)
	if acts && !conf.Listed {
		out.conflict(fmt.Sprintf("mode %s is only for a scope that the configuration lists by name", out.Mode), "the mode is advisory")
	}
	if acts && b.Max == scaling.Unbounded {
		out.conflict(fmt.Sprintf("mode %s needs max_workers", out.Mode), "the mode is advisory")
	}
	if acts && (!conf.Listed || b.Max == scaling.Unbounded) {
		out.Mode = scaling.Advisory
	}
	return out
}

func (e *Effective) conflict(why, counts string) {
	e.Conflicts = append(e.Conflicts, Conflict{why, counts})
}

// UnreadableActions says that what is known of a scope's actions or drains cannot be
// decoded.
func UnreadableActions(kind Kind) string {
	return "the record of kind " + string(kind) + " of this scope cannot be read: nothing is carried out until it is removed from the state store"
}

// UnreadableControl says that what was set for a scope cannot be decoded, for the
// whole service with GlobalKey.
func UnreadableControl(key string) string {
	what, scope := "for this scope", " "+scaling.Argument(key)
	if key == GlobalKey {
		what, scope = "for the whole service", ""
	}
	return "what was set " + what + " at run time cannot be read: nothing is carried out; zeta-scaler pause" + scope +
		" --reason WHY or zeta-scaler resume" + scope + " writes it anew"
}
