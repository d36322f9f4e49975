package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// elements returns every element of a document in order.
func elements(t *testing.T, body string) []*html.Node {
	t.Helper()
	root, err := html.ParseWithOptions(strings.NewReader(body), html.ParseOptionEnableScripting(false))
	require.NoError(t, err)
	var out []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			out = append(out, n)
		}
	}
	return out
}

func named(nodes []*html.Node, tag string) []*html.Node {
	var out []*html.Node
	for _, n := range nodes {
		if n.Data == tag {
			out = append(out, n)
		}
	}
	return out
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// text is what a person reads of a node, on one line.
func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func pageOf(t *testing.T, o Options, target string) []*html.Node {
	t.Helper()
	rec := call(newHandler(t, o), http.MethodGet, target)
	require.Equal(t, http.StatusOK, rec.Code, rec.Body.String())
	return elements(t, rec.Body.String())
}

// mainOf is what a reader reads of the page's content.
func mainOf(t *testing.T, o Options, target string) string {
	t.Helper()
	return text(named(pageOf(t, o, target), "main")[0])
}

func TestPageShowsTheDecision(t *testing.T) {
	o := options(t)
	words := mainOf(t, o, "/?scope=prod")
	for _, want := range []string{
		"SCALE_OUT 2 → 3 workers",
		"If nothing changes: NO_ACTION 2 → 2 workers at 2026-03-14T09:30:30Z (in 3m48s), row steady",
		"oldest blocked job 412 s > 60 s for at least 5m30s (window 5m); 2 → 3 workers",
		"Held back by cooldown", "Workers allowed 1 to 10", "Cooldown 18s left", "Slots dynamic",
		"Rule set zeta-auto 1.0.0", "Evaluated 2026-03-14T09:26:30Z , 12s ago",
		"Workers asked for that have not registered: 1.",
		"oldest_blocked_job blocking 412 seconds scale out if > 60 sustained at least 5m30s of 5m",
		"scale in if ≤ 0 false 0s of 10m",
		"avg_cpu saturation 0.2712 scale in if < 0.3 true 2m30s of 10m",
		"slot_utilization capacity unknown (not_applicable) scale out if > unbounded does not apply",
		"head_job guard unknown (absent) no condition",
		"zeta-next 2.0.0-rc.1 SCALE_OUT 4 shortage 2 → 4 workers no",
		"paused scope or service paused did not match: neither the scope nor the service is paused",
		"The row shortage decides SCALE_OUT , target step policy, because: shortage oldest blocked job 412 > 60 for 5m30s of 5m", fmt.Sprintf("Rows below, which were not tried: %d", rowsBelow(scaling.RowShortage)),
		"No action was begun: the scope is advisory",
		"Current: 2 to 2. Recommended: 3 to 3.",
	} {
		require.Contains(t, words, want)
	}
	require.Contains(t, text(named(pageOf(t, o, "/?scope=prod"), "title")[0]), "prod · zeta-scaler")
}

// rowsBelow is how many rows of the decision table are behind one.
func rowsBelow(id scaling.RowID) int {
	table := evaluator.Table()
	return len(table) - 1 - slices.IndexFunc(table, func(r scaling.Row) bool { return r.ID == id })
}

func TestPageShowsWhatIsUnknown(t *testing.T) {
	o := options(t)
	words := mainOf(t, o, "/?scope=empty")
	for _, want := range []string{
		"NO_ACTION unknown → unknown workers", "Resumed: it counts from the next tick on.", "Prometheus gives no answer", "no answer from Prometheus",
		"The metrics are not valid", "Workers allowed 1 or more", "No signal was evaluated.",
		"Current: unknown. Recommended: unknown.", "No decision is recorded yet.", "Mode advisory ",
	} {
		require.Contains(t, words, want)
	}
	require.NotContains(t, words, "Out of date")
	late := o.Now().Add(seconds(600))
	o.Now = func() time.Time { return late }
	require.Contains(t, mainOf(t, o, "/?scope=empty"), "Out of date")
	require.Contains(t, mainOf(t, o, "/"), "Out of date: 3 of 3 scopes")
}

// The policy must hold, and nothing in the page may need more than it allows.
func TestPageIsInert(t *testing.T) {
	h := newHandler(t, options(t))
	for _, target := range []string{"/", "/?scope=" + url.QueryEscape(hostile), "/?q=a&sort=-change&refresh=0", "/?scope=none", "/?x=" + url.QueryEscape(hostile), "/history", "/history?cursor=x", "/actions", "/alerts", "/rules", "/config", "/runbook"} {
		rec := call(h, http.MethodGet, target)
		require.Equal(t, pagePolicy, rec.Header().Get("Content-Security-Policy"))
		require.Equal(t, "nosniff", rec.Header().Get("X-Content-Type-Options"))
		require.Equal(t, "no-referrer", rec.Header().Get("Referrer-Policy"))
		require.Equal(t, "text/html; charset=UTF-8", rec.Header().Get("Content-Type"))
		for _, n := range elements(t, rec.Body.String()) {
			require.NotContains(t, []string{"style", "iframe", "object", "embed", "img", "base", "svg"}, n.Data, target)
			if n.Data == "script" {
				require.Nil(t, n.FirstChild, "no script is in the page itself")
				require.NotEmpty(t, attribute(n, "src"))
			}
			for _, a := range n.Attr {
				require.NotEqual(t, "style", a.Key)
				require.False(t, strings.HasPrefix(a.Key, "on"), "%s has %s", n.Data, a.Key)
				if a.Key == "href" || a.Key == "src" || a.Key == "action" {
					u, err := url.Parse(a.Val)
					require.NoError(t, err)
					if slices.Contains([]string{"am:9093", "prom:9090", "github.com"}, u.Host) && n.Data == "a" {
						continue // where people are sent, and nothing is loaded from
					}
					require.Empty(t, u.Scheme, a.Val)
					require.Empty(t, u.Host, a.Val)
					require.False(t, strings.HasPrefix(a.Val, "/"), "%s breaks behind a prefix", a.Val)
				}
			}
		}
	}
}

func TestPageEscapesHostileNames(t *testing.T) {
	o := options(t)
	links := 0
	for _, n := range named(pageOf(t, o, "/"), "a") {
		if text(n) == hostile {
			links++
			u, err := url.Parse(attribute(n, "href"))
			require.NoError(t, err)
			require.Equal(t, hostile, u.Query().Get("scope"))
		}
	}
	require.Equal(t, 1, links)
	require.Equal(t, 7, strings.Count(mainOf(t, o, "/"), hostile), "key and reason, the job that waits first, the worker that is drained and its error, name and version of a cluster")

	query := url.QueryEscape(hostile)
	for _, n := range pageOf(t, o, "/?q="+query) {
		if attribute(n, "name") == "q" {
			require.Equal(t, hostile, attribute(n, "value"))
		}
	}
	scripts := len(named(pageOf(t, o, "/?scope=prod"), "script"))
	nodes := pageOf(t, o, "/?scope="+query)
	require.Len(t, named(nodes, "script"), scripts, "a name brought one along")
	require.Equal(t, hostile, text(named(nodes, "h2")[0]))
	for _, n := range nodes {
		if attribute(n, "id") == "pause" {
			require.Equal(t, hostile, attribute(n, "data-scope"))
		}
	}
}

func TestPageServesKeyboardAndScreenReader(t *testing.T) {
	for _, target := range []string{
		"/", "/?scope=prod", "/?refresh=0", "/?q=nothing", "/?scope=prod&id=1", "/history", "/history?scope=empty", "/actions", "/alerts", "/rules", "/config", "/runbook",
	} {
		nodes := pageOf(t, options(t), target)
		require.Equal(t, "en", attribute(named(nodes, "html")[0], "lang"))
		require.Len(t, named(nodes, "h1"), 1)
		require.Len(t, named(nodes, "main"), 1)
		require.NotEmpty(t, text(named(nodes, "title")[0]))
		ids := map[string]bool{}
		for _, n := range nodes {
			if id := attribute(n, "id"); id != "" {
				require.False(t, ids[id], "id %s is there twice", id)
				ids[id] = true
			}
		}
		require.Equal(t, "#main", attribute(named(nodes, "a")[0], "href"), "the first stop skips to the content")
		for _, n := range nodes {
			if ref := attribute(n, "aria-labelledby"); ref != "" {
				require.True(t, ids[ref], "nothing has the id %s", ref)
			}
			if n.Data == "a" {
				require.NotEmpty(t, text(n))
			}
			if n.Data == "input" || n.Data == "select" {
				require.True(t, attribute(n, "type") == "hidden" || n.Parent.Data == "label", "%s has no label", attribute(n, "name"))
			}
			if n.Data == "progress" {
				require.NotEmpty(t, attribute(n, "aria-label"))
			}
			if n.Data == "th" {
				require.Contains(t, []string{"col", "row", "rowgroup"}, attribute(n, "scope"))
			}
			if strings.Contains(attribute(n, "class"), "wide") {
				require.Equal(t, "0", attribute(n, "tabindex"), "what scrolls must be reachable")
				require.NotEmpty(t, attribute(n, "aria-label"))
			}
		}
		require.Len(t, named(nodes, "caption"), len(named(nodes, "table")))
	}
}

func TestPageRefreshCanBeStopped(t *testing.T) {
	refresh := func(target string) string {
		for _, n := range named(pageOf(t, options(t), target), "meta") {
			if attribute(n, "http-equiv") == "refresh" {
				return attribute(n, "content")
			}
		}
		return ""
	}
	require.Equal(t, "15", refresh("/"))
	require.Equal(t, "60", refresh("/?refresh=60"))
	require.Empty(t, refresh("/?refresh=0"))
	for _, n := range named(pageOf(t, options(t), "/?scope=prod"), "a") {
		if text(n) == "Stop that" {
			u, err := url.Parse(attribute(n, "href"))
			require.NoError(t, err)
			require.Equal(t, url.Values{"refresh": {"0"}, "scope": {"prod"}}, u.Query())
			return
		}
	}
	require.Fail(t, "there is no link that stops the refresh")
}

func TestPageSaysWhatIsWrong(t *testing.T) {
	h := newHandler(t, options(t))
	for target, want := range map[string]string{
		"/?scope=none":                    "Not Found there is no scope \"none\"",
		"/?refresh=soon":                  "Bad Request invalid query: \"refresh\": \"soon\" is not a whole number from 0 to 3600",
		"/?scope=":                        "\"scope\": is empty",
		"/?sort=size":                     "\"sort\": \"size\" is not a sort order",
		"/?page=0":                        "\"page\": \"0\" is not a whole number from 1 to 100000",
		"/?q=" + strings.Repeat("a", 201): "\"q\": has 201 bytes",
	} {
		rec := call(h, http.MethodGet, target)
		require.GreaterOrEqual(t, rec.Code, 400)
		nodes := elements(t, rec.Body.String())
		alerts := 0
		for _, n := range nodes {
			if attribute(n, "role") == "alert" && attribute(n, "class") == "problem" {
				alerts++
				require.Contains(t, text(n), want)
			}
		}
		require.Equal(t, 1, alerts, target)
	}
}

func TestNumbersAndSpansInWords(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", 0.8: "0.8", 0.91234: "0.9123", 12345: "12345", 1234567.25: "1234567", -42.5: "-42.5", 1e-9: "1e-09",
	} {
		require.Equal(t, want, number(f))
	}
	for s, want := range map[float64]string{0: "0s", 45: "45s", 300: "5m", 330: "5m30s", 3600: "1h", 5400: "1h30m", 3605: "1h0m5s", 0.9: "0s"} {
		require.Equal(t, want, span(s))
	}
}
