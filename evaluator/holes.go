package evaluator

import "slices"

// holes are the expressions of the active rule set that the source may know
// more about than the windows do: they got no answer at a tick at which others
// did, or no range when the windows were restored. They are read again at ever
// longer distances, until the windows have filled by themselves.
type holes struct {
	queries []int
	// next is the tick from which on they are read again, wait how long after
	// that the time after is; until is when the last hole has left the windows.
	// Unix milliseconds and milliseconds.
	next, wait, until int64
}

func (h *holes) none() bool { return len(h.queries) == 0 }

// add notes that an expression has a hole that ends at a tick.
func (h *holes) add(query int, at, step, lookback int64) {
	h.until = at + lookback
	if !slices.Contains(h.queries, query) {
		h.queries = append(h.queries, query)
		h.next, h.wait = at+step, step
	}
}

// readAgain reports whether it is time to read the windows again, and has
// chances: something that has a hole is answered now.
func (h *holes) readAgain(cols []column, at int64) bool {
	answered := slices.ContainsFunc(h.queries, func(q int) bool { return !cols[q].failed })
	if !answered || at < h.next {
		return false
	}
	h.next = at + h.wait
	h.wait *= 2
	return true
}

// over reports whether the windows have filled by themselves.
func (h *holes) over(at int64) bool { return !h.none() && h.until <= at }

// smaller reports whether a restore with the given failures has fewer holes,
// and none that was not there before.
func (h *holes) smaller(failed []int) bool {
	return len(failed) < len(h.queries) && !slices.ContainsFunc(failed, func(q int) bool { return !slices.Contains(h.queries, q) })
}
