package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// packs are two of the rule sets in the binary.
func packs(t testing.TB) []*rules.RuleSet {
	t.Helper()
	var out []*rules.RuleSet
	for _, name := range []string{"zeta-auto", "zeta-fixed-slot"} {
		rs, _, err := rules.Pack(name)
		require.NoError(t, err)
		out = append(out, rs)
	}
	return out
}

// storeAlerts puts an alert of each kind into the store: active, hostile, of a
// cluster, and over.
func storeAlerts(t testing.TB, store state.Store) {
	t.Helper()
	alerts := func(key string, all ...state.FiredAlert) {
		put, err := state.NewPut(state.Alert, key, 0, state.AlertRecord{Alerts: all})
		require.NoError(t, err)
		_, err = store.Apply(context.Background(), state.NoFence, state.Batch{Puts: []state.Put{put}})
		require.NoError(t, err)
	}
	alerts("prod", state.FiredAlert{
		Labels:      map[string]string{"alertname": "ZetaActionFailed", "severity": "page", "scope": "prod", "recommendation": "7-3-prod"},
		Annotations: map[string]string{"summary": "prod: the action to bring 3 workers has failed", "description": "quota"},
		StartsAt:    tick.Add(-time.Hour),
	}, state.FiredAlert{
		Labels:      map[string]string{"alertname": "ZetaMetricsInvalid", "severity": "warning", "scope": "prod"},
		Annotations: map[string]string{"summary": "over: decisions lack metrics"},
		StartsAt:    tick.Add(-2 * time.Hour), ResolvedAt: tick.Add(-time.Minute),
	})
	alerts(hostile, state.FiredAlert{
		Labels:      map[string]string{"alertname": "ZetaScaleOutRecommended", "severity": "info", "scope": hostile},
		Annotations: map[string]string{"summary": hostile, "description": hostile}, StartsAt: tick.Add(-time.Minute),
	})
	alerts("cluster prod", state.FiredAlert{
		Labels:   map[string]string{"alertname": "ZetaClusterDown", "severity": "page", "cluster": "prod"},
		StartsAt: tick.Add(-2 * time.Hour),
	})
}

func TestPagesForPeople(t *testing.T) {
	o := options(t)
	for target, want := range map[string][]string{
		"/history": {
			"What was decided, and what people have set", "prod 2 → 3 SCALE_OUT oldest blocked job 412 s", "gone unknown → unknown NO_ACTION",
		},
		"/history?scope=prod&action=SCALE_OUT": {"2026-03-14T09:25:30Z prod 2 → 3"},
		"/history?scope=empty":                 {"No decision is recorded of that scope."},
		"/actions":                             {"2 → 3 workers of acting By log", "PENDING 2026-03-14T09:25:30Z 1m accepted"},
		"/actions?state=FAILED":                {"FAILED"},
		"/alerts": {
			"Active: 3.", "ZetaClusterDown page prod", "ZetaActionFailed page prod prod: the action to bring 3 workers has failed quota",
			"(1h)", "Over for at most 15 minutes: 1", "2026-03-14T09:25:30Z",
		},
		"/rules": {
			"zeta-auto", "Decides for", "from pack", "scale out if > 60 for", "open in Prometheus", "workers.current",
		},
		"/config": {
			"prod", "max_workers", "rule set", "scopes[0].bounds.max_workers 10 file zeta-scaler.yml:12:9", "log : as by default", "<secret> environment",
		},
		"/config?scope=prod":     {"prod"},
		"/runbook":               {"ZetaActionFailed", "Raise bounds.max_workers"},
		"/?scope=prod&id=1":      {"Not now:", "This is the recorded decision of 2026-03-14T08:26:30Z, entry 1", "unknown → unknown"},
		"/history?refresh=0":     {"What was decided"},
		"/history?scope=&until=": {"What was decided"},
	} {
		words := mainOf(t, o, target)
		for _, w := range want {
			require.Contains(t, words, w, target)
		}
	}
}

// Every page leads to every other one, and says which one it is.
func TestPagesAreLinked(t *testing.T) {
	for _, p := range append(pageRoutes(), pageRoute{path: "/", words: "Scopes"}) {
		nodes := pageOf(t, options(t), p.path+map[bool]string{true: "?scope=prod"}[p.aside])
		links := map[string]bool{}
		for _, n := range named(nodes, "a") {
			links[attribute(n, "href")] = true
			if attribute(n, "aria-current") == "page" {
				require.Equal(t, p.words, text(n))
			}
		}
		for _, to := range (&server{Options: options(t)}).navViews("/") {
			require.True(t, links[to.URL], "%s does not lead to %s", p.path, to.URL)
		}
	}
}

// A process without settings, such as the demo, does not lead to a page that it does
// not serve.
func TestAPageThatIsNotServedIsNotLinked(t *testing.T) {
	o := options(t)
	o.Settings = nil
	for _, n := range named(pageOf(t, o, "/"), "a") {
		require.NotEqual(t, "config", attribute(n, "href"))
	}
}

func TestPagesRefuseWhatTheyCannotRead(t *testing.T) {
	o := options(t)
	for target, want := range map[string]string{
		"/history?limit=1":                                 `"limit": unknown parameter`,
		"/history?action=GROW":                             "is not an action",
		"/history?until=now":                               "is not an RFC 3339 time",
		"/actions?cursor=x":                                "is not the nextCursor of a page",
		"/rules?q=a":                                       "unknown parameter",
		"/runbook?x=" + url.QueryEscape(hostile):           "unknown parameter",
		"/config?scope=none":                               `there is no scope "none"`,
		"/?scope=prod&id=99":                               "no recorded decision 99",
		"/?scope=prod&id=1&at=2026-03-14T09%3A10%3A05Z&x=": "unknown parameter",
	} {
		rec := call(newHandler(t, o), http.MethodGet, target)
		require.Contains(t, []int{http.StatusBadRequest, http.StatusNotFound}, rec.Code, target)
		require.Equal(t, "text/html; charset=UTF-8", rec.Header().Get("Content-Type"))
		require.Contains(t, text(named(elements(t, rec.Body.String()), "main")[0]), want)
	}
	o.Store = nil
	for _, target := range []string{"/actions", "/alerts", "/config"} {
		require.Equal(t, http.StatusNotImplemented, call(newHandler(t, o), http.MethodGet, target).Code, target)
	}
	o = options(t)
	o.History = failingHistory{errors.New("disk on fire")}
	rec := call(newHandler(t, o), http.MethodGet, "/history")
	require.Equal(t, http.StatusInternalServerError, rec.Code)
	require.NotContains(t, rec.Body.String(), "disk on fire")
}

// Older leads through everything, with the filter.
func TestHistoryPageGoesOn(t *testing.T) {
	o := options(t)
	for i := range 250 {
		record(t, o.Store, scaleOut("prod"), tick.Add(time.Duration(i)*time.Second))
	}
	h := newHandler(t, o)
	seen, target := 0, "/history?scope=prod&action=SCALE_OUT"
	for target != "" {
		nodes := elements(t, call(h, http.MethodGet, target).Body.String())
		seen += len(named(nodes, "tr")) - 1
		target = ""
		for _, n := range named(nodes, "a") {
			if attribute(n, "rel") == "next" {
				target = "/" + attribute(n, "href")
			}
		}
	}
	require.Equal(t, 251, seen)
}

func TestSilenceURL(t *testing.T) {
	for _, tt := range []struct {
		labels map[string]string
		want   string
	}{
		{map[string]string{"alertname": "ZetaActionFailed", "scope": "a/b", "severity": "page", "recommendation": "7-1-a"}, `{alertname="ZetaActionFailed", scope="a/b"}`},
		{map[string]string{"alertname": "ZetaClusterDown", "cluster": "p\"\\\n&#%"}, `{alertname="ZetaClusterDown", cluster="p\"\\\n&#%"}`},
	} {
		got, err := url.Parse(silenceURL("http://am:9093/base/", tt.labels))
		require.NoError(t, err)
		require.Equal(t, "/base/", got.Path)
		route, query, _ := strings.Cut(got.EscapedFragment(), "?")
		require.Equal(t, "/silences/new", route)
		values, err := url.ParseQuery(query)
		require.NoError(t, err)
		require.Equal(t, strings.ReplaceAll(tt.want, "\n", `\n`), values.Get("filter"))
	}
	up := contact.Status{URL: "http://two", State: contact.Up}
	require.Equal(t, "http://two", alertmanagerOf([]contact.Status{{URL: "http://one", State: contact.Down}, up}))
	require.Equal(t, "http://one", alertmanagerOf([]contact.Status{{URL: "http://one", State: contact.Down}}))
	require.Empty(t, alertmanagerOf(nil))
}

func TestAskURL(t *testing.T) {
	s := &server{Options: Options{PrometheusURL: func() string { return "https://ann:secret@prom/base/" }}}
	u, err := url.Parse(s.askURL("up == 1", tick))
	require.NoError(t, err)
	require.Equal(t, "https://prom/base/graph", fmt.Sprintf("%s://%s%s", u.Scheme, u.Host, u.Path))
	require.Nil(t, u.User)
	require.Equal(t, "up == 1", u.Query().Get("g0.expr"))
	require.Equal(t, "2026-03-14 09:26:30", u.Query().Get("g0.end_input"))
	s.Samples = http.NotFoundHandler()
	require.Equal(t, "api/v1/query?query=up", s.askURL("up", time.Time{}))
	require.Empty(t, (&server{}).askURL("up", time.Time{}))
}
