package api

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// elements returns every element of a document in order.
func elements(t *testing.T, body string) []*html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(body))
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
	rec := call(handler(t, o), http.MethodGet, target)
	require.Equal(t, http.StatusOK, rec.Code, rec.Body.String())
	return elements(t, rec.Body.String())
}

func TestPageShowsTheDecision(t *testing.T) {
	nodes := pageOf(t, options(t), "/?scope=prod")
	articles := named(nodes, "article")
	require.Len(t, articles, 1)
	words := text(articles[0])
	for _, want := range []string{
		"SCALE_OUT 2 → 3 workers",
		"oldest blocked job 412 s > 60 s for at least 5m30s (window 5m); 2 → 3 workers",
		"Row shortage : shortage", "Held back by cooldown", "Workers allowed 1 to 10", "Slots dynamic",
		"Rule set zeta-auto 1.0.0", "Evaluated 2026-03-14T09:26:30Z , 12s ago",
		"Workers asked for that have not registered: 1.",
		"oldest_blocked_job blocking 412 seconds scale out if > 60 sustained at least 5m30s of 5m",
		"scale in if ≤ 0 false 0s of 10m",
		"avg_cpu saturation 0.2712 scale in if < 0.3 true 2m30s of 10m",
		"slot_utilization capacity unknown (not_applicable) scale out if > unbounded does not apply",
		"head_job guard unknown (absent) no condition",
		"zeta-next 2.0.0-rc.1 SCALE_OUT 4 shortage 2 → 4 workers no",
	} {
		require.Contains(t, words, want)
	}
	require.Contains(t, text(named(nodes, "title")[0]), "prod · zeta-scaler")
}

func TestPageShowsWhatIsUnknown(t *testing.T) {
	o := options(t)
	words := text(named(pageOf(t, o, "/?scope=empty"), "article")[0])
	for _, want := range []string{
		"NO_ACTION unknown → unknown workers", "Paused.", "Prometheus gives no answer",
		"The metrics are not valid", "Workers allowed 1 or more", "Held back by nothing",
	} {
		require.Contains(t, words, want)
	}
	require.NotContains(t, words, "Out of date")
	late := o.Now().Add(seconds(600))
	o.Now = func() time.Time { return late }
	require.Contains(t, text(named(pageOf(t, o, "/?scope=empty"), "article")[0]), "Out of date")
}

// The policy must hold, and nothing in the page may need more than it allows.
func TestPageIsInert(t *testing.T) {
	h := handler(t, options(t))
	for _, target := range []string{"/", "/?scope=" + url.QueryEscape(hostile), "/?after=a&refresh=0", "/?scope=none", "/?x=" + url.QueryEscape(hostile)} {
		rec := call(h, http.MethodGet, target)
		require.Equal(t, pagePolicy, rec.Header().Get("Content-Security-Policy"))
		require.Equal(t, "nosniff", rec.Header().Get("X-Content-Type-Options"))
		require.Equal(t, "no-referrer", rec.Header().Get("Referrer-Policy"))
		require.Equal(t, "text/html; charset=UTF-8", rec.Header().Get("Content-Type"))
		for _, n := range elements(t, rec.Body.String()) {
			require.NotContains(t, []string{"script", "style", "iframe", "object", "embed", "img", "form", "base", "svg"}, n.Data, target)
			for _, a := range n.Attr {
				require.NotEqual(t, "style", a.Key)
				require.False(t, strings.HasPrefix(a.Key, "on"), "%s has %s", n.Data, a.Key)
				if a.Key == "href" || a.Key == "src" {
					u, err := url.Parse(a.Val)
					require.NoError(t, err)
					require.Empty(t, u.Scheme, a.Val)
					require.Empty(t, u.Host, a.Val)
					require.False(t, strings.HasPrefix(a.Val, "/"), "%s breaks behind a prefix", a.Val)
				}
			}
		}
	}
}

func TestPageEscapesHostileNames(t *testing.T) {
	nodes := pageOf(t, options(t), "/")
	var headings, links, reasons int
	for _, n := range nodes {
		switch {
		case n.Data == "h2" && n.FirstChild != nil && n.FirstChild.Data == hostile:
			headings++
		case n.Data == "a" && n.FirstChild != nil && n.FirstChild.Data == hostile:
			links++
			u, err := url.Parse(attribute(n, "href"))
			require.NoError(t, err)
			require.Equal(t, hostile, u.Query().Get("scope"))
		case (n.Data == "td" || n.Data == "p" || n.Data == "dd") && n.FirstChild != nil && n.FirstChild.Data == hostile:
			reasons++
		}
	}
	require.Equal(t, 1, headings)
	require.Equal(t, 1, links)
	require.Equal(t, 3, reasons, "the reason twice, the label once")
	require.Empty(t, named(nodes, "script"))
}

func TestPageServesKeyboardAndScreenReader(t *testing.T) {
	for _, target := range []string{"/", "/?scope=prod", "/?refresh=0"} {
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
	h := handler(t, options(t))
	for target, want := range map[string]string{
		"/?scope=none":   "Not Found there is no scope \"none\"",
		"/?refresh=soon": "Bad Request invalid query: \"refresh\": \"soon\" is not a whole number from 0 to 3600",
		"/?after=":       "\"after\": is empty",
	} {
		rec := call(h, http.MethodGet, target)
		require.GreaterOrEqual(t, rec.Code, 400)
		nodes := elements(t, rec.Body.String())
		alerts := 0
		for _, n := range nodes {
			if attribute(n, "role") == "alert" {
				alerts++
				require.Contains(t, text(n), want)
			}
		}
		require.Equal(t, 1, alerts, target)
	}
}

func TestPagePages(t *testing.T) {
	b := &fakeBoard{}
	for i := range 120 {
		b.evaluations = append(b.evaluations, scaleOut(fmt.Sprintf("scope-%03d", i)))
	}
	o := options(t)
	o.Board = b
	var keys []string
	target := "/"
	for pages := 1; ; pages++ {
		nodes := pageOf(t, o, target)
		for _, a := range named(nodes, "article") {
			keys = append(keys, text(named(descendants(a), "h2")[0]))
		}
		target = ""
		for _, n := range named(nodes, "a") {
			if attribute(n, "rel") == "next" {
				target = "/" + attribute(n, "href")
			}
		}
		if target == "" {
			require.Equal(t, 3, pages)
			break
		}
	}
	require.Len(t, keys, 120)
	require.IsIncreasing(t, keys)
	require.Contains(t, call(handler(t, o), "GET", "/?after=zzz").Body.String(), "There is no scope after")
}

func descendants(n *html.Node) []*html.Node {
	var out []*html.Node
	for d := range n.Descendants() {
		out = append(out, d)
	}
	return out
}

func TestStylesheet(t *testing.T) {
	rec := call(handler(t, options(t)), http.MethodGet, "/static/page.css")
	require.Equal(t, http.StatusOK, rec.Code)
	require.Equal(t, "text/css; charset=utf-8", rec.Header().Get("Content-Type"))
	require.Contains(t, rec.Body.String(), "prefers-color-scheme: dark")
	require.NotContains(t, rec.Body.String(), "url(")
	require.NotContains(t, rec.Body.String(), "@import")
	for _, a := range scaling.Actions() {
		require.Contains(t, rec.Body.String(), "."+string(a))
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
