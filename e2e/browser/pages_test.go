package browser

import (
	"context"
	"math"
	"net/url"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/backtest"
	"github.com/zeta-scaler/zeta-scaler/chart"
	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// loaded are the rule sets of the pages.
func loaded() []*rules.RuleSet {
	var out []*rules.RuleSet
	for _, name := range []string{"zeta-auto", "zeta-fixed-slot"} {
		if rs, _, err := rules.Pack(name); err == nil {
			out = append(out, rs)
		}
	}
	return out
}

// settings are those of a small configuration.
func settings() []api.Setting {
	return []api.Setting{
		{Path: "log.level", Value: "info", Origin: api.FromDefault},
		{Path: "web.listen_address", Value: ":9880", Origin: api.FromFlag, Source: "--web.listen-address"},
		{Path: "web.external_url", Value: hostile, Origin: api.FromEnvironment, Source: "ZETA_SCALER__WEB__EXTERNAL_URL"},
		{Path: "prometheus.urls[0]", Value: "http://prometheus:9090", Origin: api.FromFile, Source: "zeta-scaler.yml:4:9"},
		{Path: "prometheus.http_config.basic_auth.password", Value: "<secret>", Origin: api.FromFile, Source: "zeta-scaler.yml:7:9"},
		{Path: "scopes[0].bounds.max_workers", Value: 10, Origin: api.FromFile, Source: "zeta-scaler.yml:12:9"},
	}
}

// fired writes alerts of a scope: one that is active and one that is over.
func (s *site) fired(t *testing.T, scope, name, severity, summary string) {
	t.Helper()
	s.write(t, state.Alert, scope, state.AlertRecord{Alerts: []state.FiredAlert{
		{
			Labels:      map[string]string{"alertname": name, "severity": severity, "scope": scope},
			Annotations: map[string]string{"summary": summary, "description": "exceeded quota: compute, requested: pods=1"},
			StartsAt:    time.Now().Add(-90 * time.Minute),
		},
		{
			Labels:      map[string]string{"alertname": "ZetaMetricsInvalid", "severity": "warning", "scope": scope},
			Annotations: map[string]string{"summary": "over: " + summary}, StartsAt: time.Now().Add(-3 * time.Hour), ResolvedAt: time.Now().Add(-time.Minute),
		},
	}})
}

// Every page for people, on every screen: what it says, what it leads to, and
// that nothing of a name runs.
func TestPagesForPeople(t *testing.T) {
	ev, odd := shortage("prod", scaling.Label{Name: "cluster", Value: "prod"}), shortage(hostile, scaling.Label{Name: "cluster", Value: hostile})
	odd.Recommendation.Reason = hostile
	s := serve(t, ev, odd)
	h := healthy()
	h.Alertmanagers = []contact.Status{{Name: "alertmanager", URL: "http://alertmanager:9093", State: contact.Up}}
	s.answers(h)
	s.remember(t, ev)
	s.put(t, state.DecisionEntry, hostile, time.Now(), scaling.HistoryRecord{Recommendation: odd.Recommendation, Inputs: odd.Inputs})
	failed := action("7-4-prod", scaling.ActionFailed)
	failed.Error = "patching StatefulSet st/seatunnel-worker: quota exceeded"
	s.put(t, state.ActionEntry, "prod", time.Now(), failed)
	strange := action("7-5-odd", scaling.ActionFailed)
	strange.Scope, strange.Error, strange.Actuator = hostile, hostile, hostile
	s.put(t, state.ActionEntry, hostile, time.Now(), strange)
	s.execution(t, "prod", state.ExecutionRecord{Action: action("7-12-prod", scaling.ActionConverging)})
	s.control(t, hostile, state.ControlRecord{Paused: true, Reason: hostile, By: "ann", UpdatedAt: time.Now().Add(-time.Hour), MaxWorkers: new(20)})
	s.put(t, state.AuditEntry, "prod", time.Now().Add(-40*time.Minute), api.AuditRecord{
		Who: "ann", What: "pause", Scope: "prod", After: state.ControlRecord{Paused: true, Reason: "upgrade of m1"}, At: time.Now(),
	})
	s.fired(t, "prod", "ZetaActionFailed", "page", "prod: the action to bring 4 workers has failed (kubernetes)")
	s.fired(t, hostile, "ZetaScaleOutRecommended", "info", hostile)

	for path, words := range map[string][]string{
		"history": {"5 → 4", "SCALE_IN_CANDIDATE", "by ann: upgrade of m1", "<img src=x onerror=alert(1)>"},
		"actions": {"CONVERGING 2 → 4 workers of prod", "quota exceeded", "<img src=x onerror=alert(1)>"},
		"alerts":  {"Active: 2.", "ZetaActionFailed page", "(1h3", "Silence this", "Over for at most 15 minutes: 2", "<img src=x onerror=alert(1)>"},
		"rules":   {"zeta-auto", "from pack", "scale out if > 60 for", "open in Prometheus"},
		"config":  {"set at run time", "file zeta-scaler.yml:4:9", "<secret>", "<img src=x onerror=alert(1)>"},
		"runbook": {"ZetaActionFailed", "Do."},
	} {
		for name, screen := range screens() {
			b := open(t, screen)
			b.visit(s.url + "/" + path)
			b.see(words...)
			require.Zero(t, ask[int](b, "document.images.length"))
			require.Zero(t, ask[int](b, `document.querySelectorAll("script:not([src])").length`))
			b.fits()
			b.isNamed()
			b.keep("page-" + path + "-" + name)
		}
	}
}

// What somebody does who was paged: from the alert to what to do, to the silence,
// to the scope, to what was decided then, by clicks.
func TestFromAnAlertToItsCause(t *testing.T) {
	ev := shortage("prod", scaling.Label{Name: "cluster", Value: "prod"})
	s := serve(t, ev)
	s.answers(healthy())
	s.remember(t, ev)
	s.fired(t, "prod", "ZetaActionFailed", "page", "prod: the action to bring 4 workers has failed (kubernetes)")
	b := open(t, phone)
	b.visit(s.url + "/")
	b.do(chromedp.Click(chromedp.CSS(`nav.main a[href="alerts"]`)))
	b.see("ZetaActionFailed")
	silence, err := url.Parse(ask[string](b, `document.querySelector('td[data-label="Do"] a:last-child').href`))
	require.NoError(t, err)
	require.Equal(t, "alertmanager:9093", silence.Host)
	require.Contains(t, silence.Fragment, `/silences/new?filter={alertname="ZetaActionFailed", scope="prod"}`)
	b.do(chromedp.Click(chromedp.CSS(`td[data-label="Do"] a`)))
	b.await("the runbook is open at its section", `location.pathname + location.hash`, "/runbook#zetaactionfailed")
	b.see("ZetaActionFailed")
	require.InDelta(t, 0, ask[float64](b, `document.getElementById("zetaactionfailed").getBoundingClientRect().top`), 40, "its section is on top")
	b.keep("runbook-section-phone")
	b.do(chromedp.Click(chromedp.CSS(`header a[href="history"]`)))
	b.see("What was decided")
	b.do(chromedp.Click(chromedp.CSS(`tbody tr:nth-child(3) th a`)))
	b.see("Not now:", "This is the recorded decision of", "5 → 3 workers")
	require.Zero(t, ask[int](b, `Number(document.body.dataset.refresh)`), "the past does not change")
	b.fits()
	b.keep("recorded-phone")
}

// pastSource is what a Prometheus would have of the scopes: a signal that comes and
// goes.
type pastSource struct{}

func (pastSource) At(context.Context, string, time.Time) (scaling.Evaluation, error) {
	return scaling.Evaluation{}, backtest.ErrNoSample
}

func (pastSource) Backtest(context.Context, string, time.Time, time.Time, *rules.RuleSet) (*backtest.Report, error) {
	return nil, backtest.ErrNoSample
}

func (pastSource) RuleSets(string) []*rules.RuleSet { return loaded() }

func (pastSource) Signals(_ context.Context, _ scaling.Scope, axis chart.Axis) (map[string]*chart.Band, error) {
	blocked, cpu := chart.NewBand(axis.Columns), chart.NewBand(axis.Columns)
	for i := range axis.Columns {
		blocked.Add(i, float64(max(0, i%100-60)*12))
		cpu.Add(i, 0.5+0.4*math.Sin(float64(i)/20))
	}
	return map[string]*chart.Band{"oldest_blocked_job": &blocked, "avg_cpu": &cpu}, nil
}

// A scope's page has a plot of each signal with its thresholds, which is a page of
// its own for those without scripts.
func TestSignalsOverTime(t *testing.T) {
	ev := shortage("prod", scaling.Label{Name: "cluster", Value: "prod"})
	ev.Next = &scaling.Forecast{At: time.Now().Add(3 * time.Minute), Action: scaling.ScaleOut, Row: scaling.RowShortage, RecommendedWorkers: new(6)}
	s := serve(t, ev)
	s.answers(healthy())
	s.remember(t, ev)
	for name, screen := range screens() {
		b := open(t, screen)
		b.visit(scopeURL(s, "prod", "&refresh=0&range=6h"))
		b.see("If nothing changes: SCALE_OUT 2 → 6 workers at", "oldest_blocked_job, seconds", "avg_cpu, ratio", "scale out if > 0.8", "A value every 1m30s")
		require.Empty(t, ask[string](b, emptyPlots), "plots without a line, or without an extent")
		require.Equal(t, 2, ask[int](b, `document.querySelectorAll("#over-time svg.chart").length`))
		b.fits()
		b.isNamed()
		b.keep("signals-" + name)
		b.visit(s.url + "/signals?scope=prod&range=1h")
		b.see("Signals of prod over time", "A value every 15s")
		b.fits()
		b.isNamed()
		b.keep("page-signals-" + name)
	}
}

// max_workers is raised until a time with the credential that pauses, and taken
// back.
func TestRaiseForAWhile(t *testing.T) {
	s := serve(t, shortage("a/b%2Fc"))
	b := open(t, phone)
	b.visit(scopeURL(s, "a/b%2Fc", "&refresh=0"))
	b.see("Workers allowed: 1 to 10.")
	require.Equal(t, "11", ask[string](b, `document.querySelector('[name="workers"]').value`))
	raise, reason, secret := chromedp.CSS(`[value="raise"]`), chromedp.CSS(`#raise [name="reason"]`), chromedp.CSS(`[name="secret"]`)
	b.do(chromedp.SetValue(chromedp.CSS(`[name="workers"]`), "25"), chromedp.SendKeys(reason, "quarter end "+hostile), chromedp.SendKeys(secret, "wrong"), chromedp.Click(raise))
	b.see("401: a valid credential is needed")
	require.Empty(t, s.posted())

	b.do(chromedp.SetValue(secret, token), chromedp.Click(raise))
	b.see("Raised.", "max_workers 25 since", "quarter end", "<img src=x onerror=alert(1)>")
	require.Zero(t, ask[int](b, "document.images.length"))
	b.fits()
	b.isNamed()
	b.keep("raised-phone")
	got := s.posted()
	require.Len(t, got, 1)
	require.Equal(t, "/autoscaler/config", got[0].path)
	require.Equal(t, "Bearer "+token, got[0].authorization)
	change := got[0].body["scopes"].([]any)[0].(map[string]any)
	require.Equal(t, "a/b%2Fc", change["scope"])
	require.InDelta(t, 25, change["maxWorkers"], 0)
	until, err := time.Parse(time.RFC3339, change["until"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(time.Hour), until, time.Minute)

	b.visit(s.url + "/config?scope=" + url.QueryEscape("a/b%2Fc"))
	b.see("25 set at run time max_workers 25 until")
	b.visit(scopeURL(s, "a/b%2Fc", "&refresh=0"))
	b.do(chromedp.SendKeys(secret, token), chromedp.Click(chromedp.CSS(`[value="end"]`)))
	b.see("As configured again, from the next tick on.")
	b.await("the bound is gone from the card", `String(document.querySelectorAll("#card .paused").length)`, "0")
}

// A filter is typed into a page that follows it: what is not a time yet takes nothing
// away, and an empty filter is that page without one.
func TestHistoryFollowsWhatIsTyped(t *testing.T) {
	ev := shortage("prod", scaling.Label{Name: "cluster", Value: "prod"})
	s := serve(t, ev)
	s.remember(t, ev)
	b := open(t, desk)
	b.visit(s.url + "/history")
	b.see("What was decided")
	b.do(chromedp.SendKeys(chromedp.CSS(`[name="until"]`), "2026-13-31T15:04:05Z"))
	b.await("what is wrong is said", `document.getElementById("banner").textContent`, "is not an RFC 3339 time")
	b.see("What was decided")
	require.Equal(t, "until", ask[string](b, "document.activeElement.name"), "the form is gone")
	require.False(t, ask[bool](b, `(document.activeElement.value = "2026-1", document.activeElement.form.checkValidity())`), "half a time is none")
	require.True(t, ask[bool](b, `(document.activeElement.value = "", document.activeElement.dispatchEvent(new Event("input", {bubbles: true})))`))
	b.await("it is still the history", `location.pathname + location.search + "."`, "/history.")
	b.await("nothing is wrong", `String(document.getElementById("banner").hidden)`, "true")
	b.see("What was decided")
}

// An hour begins when somebody asks for it, however long ago a page was loaded that
// does not load itself again.
func TestRaiseOnAnOldPage(t *testing.T) {
	s := serve(t, shortage("prod"))
	b := open(t, desk)
	b.visit(scopeURL(s, "prod", "&refresh=0"))
	b.see("Workers allowed: 1 to 10.")
	require.True(t, ask[bool](b, `(Date.now = (was => () => was() + 2 * 3600 * 1000)(Date.now), true)`))
	b.do(chromedp.SendKeys(chromedp.CSS(`#raise [name="reason"]`), "quarter end"), chromedp.SendKeys(chromedp.CSS(`[name="secret"]`), token), chromedp.Click(chromedp.CSS(`[value="raise"]`)))
	b.see("Raised.")
	change := s.posted()[0].body["scopes"].([]any)[0].(map[string]any)
	until, err := time.Parse(time.RFC3339, change["until"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(3*time.Hour), until, time.Minute)
}
