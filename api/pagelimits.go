package api

import (
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// limitsView is what the page says about a scope's bounds that end by themselves,
// and whether it can set one.
type limitsView struct {
	Key      string
	Possible bool
	Bounds   string
	// Suggested is one worker more than there may be now.
	Suggested int
	Timed     []timedView
	// Conflicts say what was set at run time and does not count.
	Conflicts []string
}

// timedView is a bound that somebody has set until a time.
type timedView struct {
	Bound       string
	Workers     int
	By, Reason  string
	Since       string
	Until, Left string
}

// limitsView is about a scope as it is now.
func (s *server) limitsView(ev *scaling.Evaluation, st *standing, now time.Time) limitsView {
	v := limitsView{
		Key: ev.Scope.Key, Possible: s.Store != nil && s.Settings != nil,
		Bounds: bounds(ev), Suggested: 1, Conflicts: st.conflicts(ev.Scope.Key),
	}
	if ev.MaxWorkers != nil {
		v.Suggested = *ev.MaxWorkers + 1
	}
	for _, b := range st.timed(now, ev) {
		v.Timed = append(v.Timed, timedView{
			Bound: string(b.Bound), Workers: b.Workers, By: b.By, Reason: b.Reason,
			Since: scaling.At(b.Since), Until: scaling.At(b.Until), Left: left(b.Until, now),
		})
	}
	return v
}
