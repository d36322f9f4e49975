package zeta

import (
	"slices"
	"time"
)

// maxSeenJobs bounds the ids of failed jobs that are remembered per cluster.
const maxSeenJobs = 50_000

// rejections counts the jobs that newly FAILED for want of resources. Zeta only
// has a history that expires, so what is counted must be remembered by id.
//
//	no baseline ──answer──▶ counting at 0 ──answer──▶ counting
//	     ▲                      │ 1 h without a scrape
//	     └──────────────────────┘ (the ids go, the total stays)
//
// Ids that are forgotten to keep the bound are the smallest: Zeta draws ids
// from a clock, so these are the oldest. floor is the largest of them, and
// everything up to it counts as seen: at the bound a rejection may be missed,
// but none is counted twice.
type rejections struct {
	limit    int
	seen     map[int64]struct{}
	floor    int64
	baseline bool
	// asked is failedJobs of /overview when the history was last read;
	// unknown when it must be read again.
	asked Count
	total float64
	last  time.Time
}

// begin marks a scrape. After an hour without one the history that we knew has
// little to do with the one that we will see, so its reading starts over.
func (r *rejections) begin(now time.Time) {
	if !r.last.IsZero() && now.Sub(r.last) > idleAfter {
		r.seen, r.floor, r.baseline, r.asked = nil, 0, false, Count{}
	}
	r.last = now
}

// due reports whether the history has to be read: it is long, so only when the
// number of failed jobs is not what it was.
func (r *rejections) due(failed Count) bool {
	return failed.Known && failed != r.asked
}

// failedToRead makes the history due again.
func (r *rejections) failedToRead() { r.asked = Count{} }

// read takes in the history as it was when /overview said failed. The first
// one is the baseline: nobody knows when its jobs failed.
func (r *rejections) read(failed Count, jobs []FailedJob) {
	r.see(jobs)
	r.baseline, r.asked = true, failed
}

// readPart takes in some of the history, of which the rest could not be read. It
// reports whether there were rejections among what is new: then the counter
// tells of them, though there may be more. Otherwise nothing is known, and the
// history is due again. Without a baseline no part of it tells anything.
func (r *rejections) readPart(jobs []FailedJob) (grew bool) {
	r.failedToRead()
	if !r.baseline {
		return false
	}
	before := r.total
	r.see(jobs)
	return r.total > before
}

// see counts the rejections among the jobs that are new.
func (r *rejections) see(jobs []FailedJob) {
	if r.seen == nil {
		r.seen = make(map[int64]struct{}, len(jobs))
	}
	for _, job := range jobs {
		if _, known := r.seen[job.ID]; known || (r.floor != 0 && job.ID <= r.floor) {
			continue
		}
		r.seen[job.ID] = struct{}{}
		if r.baseline && job.NoResources {
			r.total++
		}
	}
	r.forget()
}

// value returns the counter, and false while it cannot be told.
func (r *rejections) value(failed Count) (float64, bool) {
	return r.total, r.baseline && failed.Known && failed == r.asked
}

// forget drops a quarter more than needed, so that it is rarely called for.
func (r *rejections) forget() {
	limit := r.limit
	if limit == 0 {
		limit = maxSeenJobs
	}
	if len(r.seen) <= limit {
		return
	}
	ids := make([]int64, 0, len(r.seen))
	for id := range r.seen {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	drop := ids[:len(ids)-limit*3/4]
	r.floor = max(r.floor, drop[len(drop)-1])
	for _, id := range drop {
		delete(r.seen, id)
	}
}
