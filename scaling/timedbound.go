package scaling

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// BoundName names one of the two bounds of a scope.
type BoundName string

// The bounds.
const (
	MinWorkers BoundName = "min_workers"
	MaxWorkers BoundName = "max_workers"
)

// TimedBound is a bound that somebody has set until a time. It ends by itself;
// what held before then holds again.
type TimedBound struct {
	Bound   BoundName `json:"bound"`
	Workers int       `json:"workers"`
	Until   time.Time `json:"until"`
	Since   time.Time `json:"since"`
	// By is who has set it, empty where no credential was asked for, Reason why.
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// String says it in words.
func (b *TimedBound) String() string {
	s := fmt.Sprintf("%s %d until %s", b.Bound, b.Workers, b.Until.UTC().Format(time.RFC3339))
	if b.By != "" {
		s += " by " + b.By
	}
	if b.Reason != "" {
		s += ": " + b.Reason
	}
	return s
}

// LimitsChange is what a tick found changed of a scope's limits since the one
// before.
type LimitsChange struct {
	// Before and After are the bounds; the greatest may be Unbounded.
	Before, After Bounds
	// Mode is the new one, and ModeBefore the old one.
	ModeBefore, Mode Mode
	// Timed are the bounds that hold until a time from now on, Ended those that no
	// longer do.
	Timed, Ended []TimedBound
	// Conflicts say what was set at run time and does not count, or cannot be read.
	Conflicts []string
}

// String says what has changed.
func (c *LimitsChange) String() string {
	var out []string
	add := func(what, before, after string) {
		if before != after {
			out = append(out, fmt.Sprintf("%s %s → %s", what, before, after))
		}
	}
	add(string(MinWorkers), bound(c.Before.Min), bound(c.After.Min))
	add(string(MaxWorkers), bound(c.Before.Max), bound(c.After.Max))
	add("mode", string(c.ModeBefore), string(c.Mode))
	for i := range c.Timed {
		out = append(out, c.Timed[i].String())
	}
	for i := range c.Ended {
		out = append(out, "ended: "+c.Ended[i].String())
	}
	return strings.Join(append(out, c.Conflicts...), "; ")
}

func bound(n int) string {
	if n == Unbounded {
		return "unbounded"
	}
	return strconv.Itoa(n)
}
