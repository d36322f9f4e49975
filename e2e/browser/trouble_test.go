package browser

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// screens are those that every picture is looked at on.
func screens() map[string]screen {
	return map[string]screen{
		"desk": desk, "desk-dark": deskDark, "phone": {width: 390, height: 844, mobile: true}, "phone-dark": phoneDark,
	}
}

// healthy is that everybody answers.
func healthy() api.Health {
	now := time.Now()
	up := func(name, url string) contact.Status {
		return contact.Status{Name: name, URL: url, State: contact.Up, Since: new(now.Add(-time.Hour)), LastAnswer: &now}
	}
	prom, store, prod := up("prometheus", "http://prometheus:9090"), up("file", "data/state.db"), up("prod", "http://m1:8080")
	prom.InUse, prod.Version = true, "2.3.13"
	return api.Health{
		Sources: []contact.Status{prom}, Store: &store, Clusters: []contact.Status{prod},
		Alertmanagers: []contact.Status{up("alertmanager", "http://alertmanager:9093")}, NextTick: now.Add(20 * time.Second),
	}
}

func down(s *contact.Status, words string) {
	s.State, s.Error, s.Since = contact.Down, words, new(time.Now().Add(-7*time.Minute))
}

// A Prometheus that is dead from the start, one that dies while somebody looks on,
// and a cluster that is dead: a red line on every page, and it goes by itself.
func TestWhoDoesNotAnswerIsSaidOnEveryPage(t *testing.T) {
	never := healthy()
	down(&never.Sources[0], "dial tcp: connection refused")
	never.Sources[0].LastAnswer, never.Clusters = nil, nil
	for name, screen := range screens() {
		s := serve(t)
		s.answers(never)
		b := open(t, screen)
		b.visit(s.url + "/?refresh=1")
		b.see("Prometheus http://prometheus:9090 gives no answer since", "and never did", "There is no scope yet", "The next evaluation is due at")
		require.Less(t, ask[float64](b, `document.querySelector(".trouble").getBoundingClientRect().bottom`), 400.0, "it is on the first screen")
		b.fits()
		b.isNamed()
		b.keep("prometheus-never-" + name)

		s.answers(healthy())
		s.publish(shortage("prod", scaling.Label{Name: "cluster", Value: "prod"}))
		b.see("Everybody who was asked answers", "SCALE_OUT 1")
		require.Zero(t, ask[int](b, `document.querySelectorAll(".trouble").length`))

		dies := healthy()
		down(&dies.Sources[0], "dial tcp: connection refused")
		down(&dies.Clusters[0], "no route to host "+hostile)
		s.answers(dies)
		b.visit(scopeURL(s, "prod", "&refresh=1"))
		b.see("gives no answer since", "Cluster prod gives no answer", "no route to host", "<img src=x onerror=alert(1)>")
		require.Zero(t, ask[int](b, "document.images.length"))
		b.fits()
		b.keep("prometheus-dies-" + name)
		b.visit(s.url + "/")
		b.see("Somebody does not answer")
		b.keep("cluster-dead-" + name)
	}
}

// failing is a scope whose action has failed.
func failing(t *testing.T) *site {
	t.Helper()
	ev := shortage("prod", scaling.Label{Name: "cluster", Value: "prod"})
	ev.Mode = scaling.Webhook
	until := time.Now().Add(3 * time.Minute)
	ev.Recommendation.BlockingConditions = []scaling.Condition{{Name: scaling.BlockerFailureBackoff, Until: &until}}
	s := serve(t, ev)
	s.answers(healthy())
	s.remember(t, ev)
	x := action("7-12-prod", scaling.ActionFailed)
	x.Error = "patching StatefulSet st/seatunnel-worker: pods \"seatunnel-worker-3\" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=20, limited: pods=20"
	s.execution(t, "prod", state.ExecutionRecord{Action: x, BackoffUntil: until})
	return s
}

// On a phone the first screen says what there is, why, and what now.
func TestFirstScreenOfAFailure(t *testing.T) {
	for name, screen := range screens() {
		s := failing(t)
		b := open(t, screen)
		b.visit(s.url + "/")
		b.see("action failed", "failed 1", "Failed: patching StatefulSet")
		b.fits()
		b.keep("failed-list-" + name)
		b.visit(scopeURL(s, "prod", ""))
		b.see("An action has failed", "exceeded quota", "What now:", "Next attempt at", "failure_backoff", "(in 2m")
		bottom := func(selector string) float64 {
			return ask[float64](b, fmt.Sprintf("document.querySelector(%q).getBoundingClientRect().bottom", selector))
		}
		for _, selector := range []string{".failure", ".decision", ".reason", ".blockers"} {
			require.LessOrEqual(t, bottom(selector), float64(screen.height), "%s is on the first screen of %s", selector, name)
		}
		b.fits()
		b.isNamed()
		b.keep("failed-scope-" + name)
	}
}

// A replica that does not lead says so, and shows nobody as down whom it does not
// ask.
func TestFollower(t *testing.T) {
	s := serve(t)
	s.board.Begin(0)
	h := healthy()
	h.NextTick = time.Time{}
	for _, all := range [][]contact.Status{h.Sources, h.Clusters, h.Alertmanagers} {
		for i := range all {
			all[i] = contact.Status{Name: all[i].Name, URL: all[i].URL, State: contact.Unasked}
		}
	}
	s.answers(h)
	for name, screen := range screens() {
		b := open(t, screen)
		b.visit(s.url + "/")
		b.see("This replica does not lead", "Everybody who was asked answers")
		require.Zero(t, ask[int](b, `document.querySelectorAll(".trouble, .contact.down").length`))
		b.fits()
		b.keep("follower-" + name)
	}
}

// 41 scopes, one in trouble: it is on the first screen, also of a phone.
func TestOneOfFortyOneInTrouble(t *testing.T) {
	all := many(41)
	for i := range all {
		all[i].Recommendation.MetricsValid = true
	}
	stuck := &all[30]
	stuck.Recommendation.Row, stuck.Recommendation.Action = scaling.RowUnsatisfiable, scaling.NoAction
	s := serve(t, all...)
	s.answers(healthy())
	for name, screen := range screens() {
		b := open(t, screen)
		b.visit(s.url + "/")
		b.see("blocked for good 1", "Scopes 1 to 41 of 41")
		require.Equal(t, stuck.Scope.Key, ask[string](b, `document.querySelector("tbody th a").textContent`))
		require.Less(t, ask[float64](b, `document.querySelector("tbody tr").getBoundingClientRect().top`), float64(screen.height), "it is on the first screen")
		b.fits()
		b.keep("one-of-41-" + name)
	}
}

// Between two points the plot says what held then: the values of the earlier one,
// however near the later one is.
func TestPlotBetweenTwoPoints(t *testing.T) {
	ev := shortage("prod")
	s := serve(t, ev)
	s.remember(t, ev)
	b := open(t, desk)
	b.visit(scopeURL(s, "prod", "&refresh=0&range=6h"))
	b.see("Recommended:")
	ask[bool](b, `(() => {
		const over = document.querySelector("#plot .u-over"), box = over.getBoundingClientRect();
		const at = JSON.parse(document.getElementById("plot").dataset.points).map((p) => p[0]);
		const moment = at[3] + 0.9 * (at[4] - at[3]);
		const { from, to } = document.getElementById("plot").dataset;
		const x = box.left + (moment - from) / (to - from) * box.width;
		for (const kind of ["mouseenter", "mousemove"]) {
			over.dispatchEvent(new MouseEvent(kind, { clientX: x, clientY: box.top + 10, bubbles: true }));
		}
		return true;
	})()`)
	b.await("the values are those of the point before", `document.querySelector("#plot .u-legend .u-value").textContent`,
		ask[string](b, `new Date(JSON.parse(document.getElementById("plot").dataset.points)[3][0] * 1000).toISOString().slice(0, 19) + "Z"`))
}

// A click into the plot explains that moment; actions and pauses are marked, and
// another period is a link away.
func TestPlotMarksAndExplains(t *testing.T) {
	ev := shortage("prod", scaling.Label{Name: "cluster", Value: "prod"})
	for name, screen := range screens() {
		s := serve(t, ev)
		s.answers(healthy())
		s.remember(t, ev)
		at := time.Now().Add(-70 * time.Minute)
		failed := action("7-4-prod", scaling.ActionFailed)
		failed.Transitions = []scaling.Transition{{State: scaling.ActionPending, At: at}, {State: scaling.ActionFailed, At: at.Add(12 * time.Minute)}}
		s.put(t, state.ActionEntry, "prod", at.Add(12*time.Minute), failed)
		s.put(t, state.AuditEntry, "prod", at.Add(20*time.Minute), api.AuditRecord{
			Who: "ann", What: "pause", Scope: "prod", At: at.Add(20 * time.Minute), After: state.ControlRecord{Paused: true, Reason: hostile, PausedUntil: at.Add(40 * time.Minute)},
		})
		b := open(t, screen)
		b.visit(scopeURL(s, "prod", "&refresh=0&range=6h"))
		b.see("Action 2 → 4: failed", "Paused by ann:", "<img src=x onerror=alert(1)>", "Max")
		require.Equal(t, "6h", ask[string](b, `document.querySelector(".ranges [aria-current]").textContent`))
		b.fits()
		b.isNamed()
		b.keep("plot-marks-" + name)
		ask[bool](b, `(() => {
			const over = document.querySelector("#plot .u-over"), box = over.getBoundingClientRect();
			for (const kind of ["mouseenter", "mousemove"]) {
				over.dispatchEvent(new MouseEvent(kind, { clientX: box.left + box.width * 0.9, clientY: box.top + 10, bubbles: true }));
			}
			return true;
		})()`)
		b.await("the moment can be explained", `document.querySelector("#moment a").textContent`, "Explain ")
		moment := ask[string](b, `new URL(document.querySelector("#moment a").href).searchParams.get("at")`)
		ask[bool](b, `document.querySelector("#plot .u-over").dispatchEvent(new PointerEvent("pointerup", { pointerType: "mouse", button: 0, bubbles: true }))`)
		b.await("a click goes there", `location.search`, "at="+url.QueryEscape(moment))
		b.see("Not now:", "This is the recorded decision of")
	}
}
