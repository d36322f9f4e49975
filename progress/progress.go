// Package progress says how far a long run is, and how long the rest takes.
package progress

import "time"

// Progress is how far a run is.
type Progress struct {
	// Done of Total steps, all of about the same length.
	Done, Total int
	// Before are those of Done that an interrupted run has left.
	Before int
	// Where says in a few words what was done last.
	Where   string
	Elapsed time.Duration
}

// Left is how long the rest takes at the speed of what is done; 0 if that cannot
// be said.
func (p Progress) Left() time.Duration {
	if p.Done <= p.Before || p.Done >= p.Total {
		return 0
	}
	return time.Duration(float64(p.Elapsed) / float64(p.Done-p.Before) * float64(p.Total-p.Done))
}
