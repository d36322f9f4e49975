package api

import (
	"fmt"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// badge is a word that makes a scope stand out; Kind is its style.
type badge struct{ Kind, Words string }

// badges are in the order of their weight.
func badges(ev *scaling.Evaluation, st *standing, now time.Time) []badge {
	var out []badge
	add := func(holds bool, kind, words string) {
		if holds {
			out = append(out, badge{kind, words})
		}
	}
	add(!fresh(ev, now), "alarm", "out of date")
	add(ev.Provisional, "alarm", "no answer from Prometheus")
	add(!ev.Recommendation.MetricsValid && !ev.Provisional, "unknown", "metrics not valid")
	add(st.paused(ev, now), "person", "paused")
	if x := st.latest(ev); x != nil && (!x.State.Final() || x.State == scaling.ActionFailed) {
		kind := "open"
		if x.State == scaling.ActionFailed {
			kind = "alarm"
		}
		add(true, kind, fmt.Sprintf("action %s: %s", strings.ToLower(string(x.State)), workersOf(x.Target)))
	}
	add(ev.Mode != scaling.Advisory, "plain", string(ev.Mode))
	add(ev.Deployment == scaling.Application, "plain", "application")
	return out
}

// notes say in sentences what badges say in words, and more.
func notes(ev *scaling.Evaluation, st *standing, now time.Time) []badge {
	var out []badge
	add := func(holds bool, kind, note string) {
		if holds {
			out = append(out, badge{kind, note})
		}
	}
	switch paused := st.paused(ev, now); {
	case paused && ev.Paused:
		add(true, "plain", "Paused: nothing acts on what is recommended; it is still evaluated.")
	case paused:
		add(true, "plain", "Paused: that counts from the next tick on.")
	default:
		add(ev.Paused, "plain", "Resumed: it counts from the next tick on.")
	}
	add(ev.Provisional, "alarm", "Prometheus gives no answer: decided on unknown values.")
	add(!fresh(ev, now), "alarm", "Out of date: no evaluation for more than three intervals.")
	add(!ev.Recommendation.MetricsValid, "unknown", "The metrics are not valid: nothing may be removed.")
	if n := ev.Recommendation.StaleWorkerCount; n != nil && *n > 0 {
		add(true, "unknown", fmt.Sprintf("Workers without a young sample: %d.", *n))
	}
	add(ev.Booting > 0, "plain", fmt.Sprintf("Workers asked for that have not registered: %d.", ev.Booting))
	return out
}
