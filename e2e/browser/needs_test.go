package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// firstScreen fails when one of the elements does not end on the first screen.
func (b *tab) firstScreen(selectors ...string) {
	b.t.Helper()
	for _, s := range selectors {
		bottom := ask[float64](b, fmt.Sprintf("document.querySelector(%q)?.getBoundingClientRect().bottom ?? Infinity", s))
		require.LessOrEqual(b.t, bottom, float64(b.screen.height), "%s is not on the first screen", s)
	}
}

// Whatever a scope needs a person for: on the first screen stand the decision, its
// cause and what to do now, and the link leads there.
func TestWhatNowIsOnTheFirstScreen(t *testing.T) {
	held := func(name string) func(*testing.T, *site, *scaling.Evaluation) {
		return func(_ *testing.T, _ *site, ev *scaling.Evaluation) {
			ev.Recommendation.BlockingConditions = []scaling.Condition{{Name: name}}
		}
	}
	for name, tt := range map[string]struct {
		prepare func(*testing.T, *site, *scaling.Evaluation)
		step    string
		leads   string
	}{
		"at-max":       {held(scaling.BlockerMaxWorkers), "raise max_workers until a time", "#limits"},
		"ineffective":  {held(scaling.BlockerIneffective), "does not use the workers that came", "runbook#zetascalingineffective"},
		"other-writer": {held(scaling.BlockerOtherWriter), "then resume the scope", "runbook#zetaactionfailed"},
		"unsatisfiable": {func(_ *testing.T, _ *site, ev *scaling.Evaluation) {
			ev.Recommendation.Row, ev.Recommendation.Action, ev.Recommendation.RecommendedWorkers = scaling.RowUnsatisfiable, scaling.NoAction, new(2)
		}, "Lower the parallelism", "runbook#zetaunsatisfiabledemand"},
		"unknown": {func(_ *testing.T, _ *site, ev *scaling.Evaluation) { *ev = blind("prod") }, "zeta-scaler doctor", "runbook#zetametricsinvalid"},
		"invalid": {func(_ *testing.T, _ *site, ev *scaling.Evaluation) { ev.Recommendation.MetricsValid = false }, "zeta-scaler doctor", "runbook#zetametricsinvalid"},
		"paused-until": {func(t *testing.T, s *site, _ *scaling.Evaluation) {
			s.control(t, state.GlobalKey, state.ControlRecord{Paused: true, PausedUntil: time.Now().Add(time.Hour), Reason: "upgrade of all masters", By: "ann", UpdatedAt: time.Now()})
		}, "Resume it when", "#control"},
	} {
		t.Run(name, func(t *testing.T) {
			ev := shortage("prod", scaling.Label{Name: "cluster", Value: "prod"})
			ev.Mode = scaling.Webhook
			s := serve(t)
			tt.prepare(t, s, &ev)
			s.publish(ev)
			s.answers(healthy())
			for screenName, screen := range screens() {
				b := open(t, screen)
				b.visit(s.url + "/")
				b.see("prod")
				b.firstScreen("tbody th", `td[data-label="Why"]`)
				require.True(t, ask[bool](b, `document.querySelector("tbody tr").classList.contains("needy")`))
				b.keep(name + "-list-" + screenName)
				b.visit(scopeURL(s, "prod", ""))
				b.see("What now:", tt.step)
				b.firstScreen(".decision", ".reason", ".step")
				require.Equal(t, tt.leads, ask[string](b, `document.querySelector(".step a").getAttribute("href")`))
				b.isNamed()
				b.keep(name + "-scope-" + screenName)
			}
		})
	}
}

// A worker on its way out, one that is gone, and one whose job does not run yet.
func TestDrains(t *testing.T) {
	at := time.Now().Add(-10 * time.Minute)
	drain := func(id string, now scaling.DrainState, step scaling.DrainStep) scaling.Drain {
		return scaling.Drain{
			ID: id, Scope: "prod", MasterEpoch: 7, Worker: "seatunnel-worker-3", Address: "10.0.0.7:5801", Actuator: "kubernetes", State: now,
			Transitions: []scaling.DrainTransition{{State: scaling.DrainPending, At: at, Reason: "accepted"}, {State: now, At: at.Add(time.Minute), Reason: "its jobs: 1"}},
			Jobs:        []scaling.DrainJob{{ID: "842", Name: "orders " + hostile, Mode: "STREAMING", Step: step, StopAt: at.Add(2 * time.Minute)}},
		}
	}
	ev := idle("prod", scaling.Label{Name: "cluster", Value: "prod"})
	s := serve(t, shortage("calm"), ev)
	s.answers(healthy())
	failed := drain("7-2", scaling.DrainFailed, scaling.JobRestoring)
	failed.Error, failed.Jobs[0].Error = "the job does not run again", "submit-job: 500 "+hostile
	s.write(t, state.Drain, "prod", state.DrainRecord{Open: &failed})
	s.put(t, state.DrainEntry, "prod", at, drain("7-1", scaling.DrainDecommissioned, scaling.JobRestored))
	for name, screen := range screens() {
		b := open(t, screen)
		b.visit(scopeURL(s, "prod", "#drains"))
		b.see("drain failed: seatunnel-worker-3", "the job does not run again", "It is restored again and again", "DECOMMISSIONED", "<img src=x onerror=alert(1)>")
		require.Zero(t, ask[int](b, "document.images.length"))
		b.keep("drains-" + name)
		b.visit(s.url + "/")
		b.see("failed 1", "drain failed: seatunnel-worker-3", "Failed: submit-job: 500", "What now")
		b.fits()
		b.keep("drain-failed-list-" + name)
	}
}

// Names that are long, or turn the direction of writing, change no line but theirs.
func TestNamesThatBreakLayouts(t *testing.T) {
	long, turned := strings.Repeat("seatunnel", 30), "prod\u202egnirts\u2066\u200b\u0301\u0301"
	var all []scaling.Evaluation
	for _, name := range []string{long, turned} {
		ev := shortage(name, scaling.Label{Name: name, Value: name})
		ev.Mode = scaling.Webhook
		ev.Recommendation.Reason = name + " 412 s > 60 s"
		ev.Inputs[0].Name = name
		ev.Execution = action(name, scaling.ActionFailed)
		ev.Execution.Error, ev.Execution.Actuator = name, name
		all = append(all, ev)
	}
	s := serve(t, all...)
	h := healthy()
	down(&h.Clusters[0], long)
	h.Clusters[0].Name = turned
	s.answers(h)
	for _, ev := range all {
		s.remember(t, ev)
		s.fired(t, ev.Scope.Key, "ZetaActionFailed", "page", ev.Scope.Key)
		x := action(ev.Scope.Key, scaling.ActionFailed)
		x.Scope, x.Error = ev.Scope.Key, ev.Scope.Key
		s.put(t, state.ActionEntry, ev.Scope.Key, time.Now(), x)
		s.control(t, ev.Scope.Key, state.ControlRecord{Paused: true, Reason: ev.Scope.Key, By: ev.Scope.Key, UpdatedAt: time.Now()})
	}
	for name, screen := range screens() {
		b := open(t, screen)
		for page, words := range map[string]string{"": "Scopes 1 to 2", "history": "What was decided", "actions": "FAILED", "alerts": "Active: 2", "config": "min_workers"} {
			b.visit(s.url + "/" + page)
			b.see(words)
			b.keep("names-" + page + "-" + name)
		}
		b.visit(s.url + "/")
		b.see("Scopes 1 to 2", `prod\u202egnirts\u2066`)
		require.Empty(t, ask[string](b, `[...document.querySelectorAll(".scopes tbody th")].filter(th => {
			const [link, badge] = [th.querySelector("a"), th.querySelector(".badge")].map(e => e.getClientRects()[0]);
			return badge.top < link.bottom && badge.right <= link.left;
		}).map(th => th.textContent).join("\n")`), "a name turned what stands behind it")
		for i, ev := range all {
			b.visit(scopeURL(s, ev.Scope.Key, "&refresh=0"))
			b.see("An action has failed")
			b.keep(fmt.Sprintf("names-scope-%d-%s", i, name))
		}
	}
}

// Every page is light: what the first visit of a browser that has nothing yet loads.
func TestWeightOfEveryPage(t *testing.T) {
	const most, requests = 150_000, 10
	all := append(many(1000), shortage("prod", scaling.Label{Name: "cluster", Value: "prod"}))
	s := serve(t, all...)
	s.answers(healthy())
	s.remember(t, all[1000])
	for i := range 300 {
		at := time.Now().Add(-time.Duration(i) * time.Minute)
		s.put(t, state.DecisionEntry, "prod", at, scaling.HistoryRecord{Recommendation: all[1000].Recommendation, Inputs: all[1000].Inputs})
		x := action(fmt.Sprintf("7-%d-prod", i), scaling.ActionFailed)
		x.Error = strings.Repeat("quota exceeded ", 20)
		s.put(t, state.ActionEntry, "prod", at, x)
	}
	for _, path := range []string{"", "?scope=prod", "?scope=prod&range=7d", "history", "actions", "alerts", "rules", "config", "runbook", "signals?scope=prod", "?scope=none"} {
		b := open(t, desk)
		b.visit(s.url + "/" + path)
		b.await("all of it is loaded", `document.readyState + (performance.getEntriesByType("navigation")[0].loadEventEnd > 0)`, "completetrue")
		sizes := ask[[]float64](b, `[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].filter(e => !e.name.endsWith("/autoscaler/events")).map(e => e.encodedBodySize)`)
		sum := 0.0
		for _, size := range sizes {
			sum += size
		}
		t.Logf("/%s: %.1f KB in %d requests", path, sum/1000, len(sizes))
		require.LessOrEqual(t, sum, float64(most), "bytes of /%s", path)
		require.LessOrEqual(t, len(sizes), requests, "requests of /%s", path)
	}
}

// A credential that was accepted is taken off the screen, whatever it was given for.
func TestCredentialsLeaveTheScreen(t *testing.T) {
	s := serve(t, shortage("prod"))
	b := open(t, phone)
	secret := chromedp.CSS(`[name="secret"]`)
	for _, what := range []string{"raise", "end", "pause"} {
		b.visit(scopeURL(s, "prod", "&refresh=0"))
		b.see("Workers allowed:")
		b.do(chromedp.SendKeys(secret, token), chromedp.SendKeys(chromedp.CSS(`#raise [name="reason"]`), "why"), chromedp.SendKeys(chromedp.CSS(`#pause [name="reason"]`), "why"),
			chromedp.Click(chromedp.CSS(`[value="`+what+`"]`)))
		b.await(what+" is accepted", `[...document.querySelectorAll(".outcome")].map(e => e.textContent).join()`, map[string]string{"raise": "Raised.", "end": "As configured again", "pause": "Paused."}[what])
		require.Empty(t, ask[string](b, `document.querySelector('[name="secret"]').value`), what)
	}
}

// A plot of one decision shows ten minutes and not years; one without a known number
// says so.
func TestPlotOfASinglePoint(t *testing.T) {
	s := serve(t, shortage("prod"), blind("unknown"))
	for name, screen := range screens() {
		b := open(t, screen)
		b.visit(scopeURL(s, "prod", "&refresh=1"))
		b.see("Recommended:")
		for range 2 {
			span := ask[float64](b, `(({from, to}) => to - from)(document.getElementById("plot").dataset)`)
			require.LessOrEqual(t, span, 3600.0)
			s.publish(shortage("prod"), blind("unknown"))
		}
		require.Positive(t, ask[int](b, `(() => {
			const canvas = document.querySelector("#plot canvas");
			const hue = ([r, g, b, a]) => a > 0 && Math.max(r, g, b) - Math.min(r, g, b) > 60;
			const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
			let coloured = 0;
			for (let i = 0; i < data.length; i += 4) coloured += hue(data.slice(i, i + 4));
			return coloured;
		})()`), "the one point is not drawn")
		b.keep("single-point-" + name)
		b.visit(scopeURL(s, "unknown", "&refresh=0"))
		b.see("Current: unknown. Recommended: unknown.")
		b.keep("no-point-" + name)
	}
}

// The exporter's own page: who is asked, and who gives no answer.
func TestExporterLanding(t *testing.T) {
	address, config := harness.FreeAddress(t), filepath.Join(t.TempDir(), "zeta-scaler.yml")
	require.NoError(t, os.WriteFile(config, []byte("clusters: [{name: prod, urls: [\"http://127.0.0.1:1\"]}]\n"), 0o600))
	lab.Start(t, harness.Command{Name: "exporter", Path: lab.Build(t, harness.ZetaScaler), Args: []string{
		"exporter", "--web.listen-address", address, "--config.file", config,
	}})
	base := harness.URL(address)
	harness.Wait(t, time.Minute, "the exporter answers", func(ctx context.Context) error {
		_, err := harness.Get(ctx, base+"/metrics")
		return err
	})
	for name, screen := range screens() {
		b := open(t, screen)
		b.visit(base + "/metrics")
		b.visit(base + "/")
		b.see("zeta-scaler exporter", "prod", "gives no answer", "connection refused")
		b.keep("exporter-" + name)
	}
}
