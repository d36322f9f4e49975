package api

import (
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// firstInQueue is the job that waits first; one of a tick that is out of date may
// run by now.
func firstInQueue(ev *scaling.Evaluation, now time.Time) *scaling.QueueHead {
	if !fresh(ev, now) {
		return nil
	}
	return ev.FirstInQueue
}

// foundBy are the words by which a scope is found beside those that it always has.
func foundBy(ev *scaling.Evaluation, st *standing, now time.Time) []string {
	var out []string
	if st.paused(ev, now) {
		out = append(out, "paused")
	}
	if h := firstInQueue(ev, now); h != nil {
		out = append(out, h.JobID)
	}
	return out
}
