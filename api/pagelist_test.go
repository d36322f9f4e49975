package api

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// listed250 are as many scopes with worker counts, some of them idle.
func listed250(t testing.TB) Options {
	t.Helper()
	b := &fakeBoard{}
	for i := range 250 {
		ev := scaleOut(fmt.Sprintf("scope-%03d", i), scaling.Label{Name: "cluster", Value: fmt.Sprintf("c%d", i%5)})
		ev.Recommendation.CurrentWorkers, ev.Recommendation.RecommendedWorkers = new(i%7), new(i%7+i%3)
		if i%10 == 0 {
			ev.Recommendation.Action, ev.Recommendation.Row = scaling.NoAction, scaling.RowSteady
			ev.Recommendation.RecommendedWorkers = ev.Recommendation.CurrentWorkers
		}
		b.evaluations = append(b.evaluations, ev)
	}
	o := options(t)
	o.Board = b
	return o
}

// rowsOf are the cells of the list's rows in words; its table is the first.
func rowsOf(nodes []*html.Node) [][]string {
	var out [][]string
	for _, tr := range named(descendants(named(nodes, "tbody")[0]), "tr") {
		var cells []string
		for _, n := range descendants(tr) {
			if n.Data == "td" || n.Data == "th" {
				cells = append(cells, text(n))
			}
		}
		out = append(out, cells)
	}
	return out
}

func descendants(n *html.Node) []*html.Node {
	var out []*html.Node
	for d := range n.Descendants() {
		out = append(out, d)
	}
	return out
}

func column(rows [][]string, i int) []string {
	out := make([]string, len(rows))
	for j, r := range rows {
		out[j] = r[i]
	}
	return out
}

func TestPagePages(t *testing.T) {
	o := listed250(t)
	var keys []string
	target := "/?refresh=0"
	for pages := 1; ; pages++ {
		nodes := pageOf(t, o, target)
		keys = append(keys, column(rowsOf(nodes), 0)...)
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
		require.Contains(t, target, "refresh=0", "links keep what was asked for")
	}
	require.Len(t, keys, 250)
	require.IsIncreasing(t, keys)
	require.Contains(t, mainOf(t, o, "/?page=99"), "Scopes 201 to 250 of 250")
}

func TestPageFiltersAndSorts(t *testing.T) {
	o := listed250(t)
	for target, want := range map[string]string{
		"/?action=NO_ACTION":                "Scopes 1 to 25 of 25, filtered from 250",
		"/?action=NO_ACTION&q=CLUSTER%3Dc0": "Scopes 1 to 25 of 25, filtered from 250",
		"/?q=cluster%3Dc1":                  "Scopes 1 to 50 of 50, filtered from 250",
		"/?q=scope-01+steady":               "Scopes 1 to 1 of 1, filtered from 250",
		"/?q=&action=":                      "Scopes 1 to 100 of 250",
		"/?q=nothing+like+it":               "None of the 250 scopes is like that",
	} {
		require.Contains(t, mainOf(t, o, target), want, target)
	}
	workers := column(rowsOf(pageOf(t, o, "/?sort=-workers")), 1)
	require.True(t, strings.HasPrefix(workers[0], "6 → "), workers[0])
	require.True(t, strings.HasPrefix(column(rowsOf(pageOf(t, o, "/?sort=workers")), 1)[0], "0 → "))
	require.Equal(t, "+2", column(rowsOf(pageOf(t, o, "/?sort=-change")), 2)[0])
	require.Equal(t, "SCALE_OUT", column(rowsOf(pageOf(t, o, "/?sort=action")), 3)[0])
	require.Equal(t, "NO_ACTION", column(rowsOf(pageOf(t, o, "/?sort=-action")), 3)[0])
	for _, n := range pageOf(t, o, "/?sort=-workers") {
		switch {
		case n.Data == "th" && text(n) == "Workers":
			require.Equal(t, "descending", attribute(n, "aria-sort"))
			require.Equal(t, "?sort=workers", attribute(named(descendants(n), "a")[0], "href"))
		case n.Data == "th" && text(n) == "Scope":
			require.Equal(t, "none", attribute(n, "aria-sort"))
			require.Equal(t, "?sort=scope", attribute(named(descendants(n), "a")[0], "href"))
		}
	}
}

// An unknown count is no number: it comes before 0, and its change is unknown.
func TestPageSortsUnknownCounts(t *testing.T) {
	o := options(t)
	rows := rowsOf(pageOf(t, o, "/?sort=change"))
	require.Equal(t, []string{"unknown", "+1", "+1"}, column(rows, 2))
	require.Equal(t, "unknown → unknown", rowsOf(pageOf(t, o, "/?sort=workers"))[0][1])
}

func TestPageShowsActions(t *testing.T) {
	o := options(t)
	store := memory.New()
	done := scaling.Execution{
		ID: "7-1-prod", RecommendationID: "7-1-prod", Scope: "prod", Row: scaling.RowShortage, From: new(1), Target: 2,
		Actuator: "kubernetes", State: scaling.ActionSucceeded, Condition: scaling.ConditionPlatformAhead,
		Transitions: []scaling.Transition{{State: scaling.ActionPending, At: tick}, {State: scaling.ActionSucceeded, At: tick.Add(seconds(60)), Reason: "2 of 2 workers"}},
	}
	running := scaling.Execution{
		ID: "7-3-prod", RecommendationID: "7-4-prod", Scope: "prod", From: new(2), Target: 4, Actuator: hostile,
		State: scaling.ActionConverging, Rounds: []string{"7-3-prod"}, Error: "",
		Transitions: []scaling.Transition{{State: scaling.ActionConverging, At: tick, Reason: hostile}},
	}
	value, err := json.Marshal(done)
	require.NoError(t, err)
	for _, v := range []string{string(value), `[1]`, `{}`} {
		keep(t, store, state.Entry{Scope: "prod", At: tick, Kind: state.ActionEntry, Value: []byte(v)})
	}
	ev := scaleOut("prod")
	ev.Mode, ev.Execution = scaling.Direct, &running
	o.History, o.Board = store, &fakeBoard{evaluations: []scaling.Evaluation{ev}}
	words := mainOf(t, o, "/?scope=prod")
	for _, want := range []string{
		"action converging: 4 workers", "CONVERGING 2 → 4 workers By " + hostile + " , action 7-3-prod , raised once.",
		"CONVERGING 2026-03-14T09:26:30Z " + hostile,
		"SUCCEEDED 1 → 2 workers By kubernetes because of row shortage , action 7-1-prod .",
		"There was nothing to do", "SUCCEEDED 2026-03-14T09:27:30Z 2 of 2 workers",
	} {
		require.Contains(t, words, want)
	}

	// What the history knows of the same action is newer than the tick.
	over := running
	over.State = scaling.ActionFailed
	over.Error = "quota exceeded"
	value, err = json.Marshal(over)
	require.NoError(t, err)
	keep(t, store, state.Entry{Scope: "prod", At: tick, Kind: state.ActionEntry, Value: value})
	words = mainOf(t, o, "/?scope=prod")
	require.Contains(t, words, "FAILED 2 → 4 workers")
	require.Contains(t, words, "quota exceeded")
	require.NotContains(t, words, "CONVERGING 2 → 4 workers")
}

// A store that fails hides its own part of the page and nothing else, and the
// reader does not learn what only the log should say.
func TestPageOutlivesTheStore(t *testing.T) {
	var log strings.Builder
	o := options(t)
	o.Logger = textLogger(&log)
	o.History = failingHistory{errors.New("disk on fire")}
	words := mainOf(t, o, "/?scope=prod")
	require.Contains(t, words, "SCALE_OUT 2 → 3 workers")
	require.Equal(t, 4, strings.Count(words, unreadable))
	require.NotContains(t, words, "disk on fire")
	require.Equal(t, 4, strings.Count(log.String(), "disk on fire"))
}

func TestPlotPointsAreNumbersOnly(t *testing.T) {
	o := options(t)
	for _, n := range pageOf(t, o, "/?scope=prod") {
		if attribute(n, "id") != "plot" {
			continue
		}
		var points [][3]*int64
		require.NoError(t, json.Unmarshal([]byte(attribute(n, "data-points")), &points))
		require.Len(t, points, 3, "two recorded decisions and the latest")
		require.Nil(t, points[0][1])
		require.Equal(t, tick.Unix(), *points[2][0])
		require.Equal(t, int64(3), *points[2][2])
		return
	}
	require.Fail(t, "there is no plot")
}

func TestStaticFilesAreKeptByContent(t *testing.T) {
	h := newHandler(t, options(t))
	links := 0
	for _, n := range elements(t, call(h, http.MethodGet, "/?scope=prod").Body.String()) {
		link := attribute(n, "src") + attribute(n, "href")
		if !strings.HasPrefix(link, "static/") {
			continue
		}
		links++
		rec := call(h, http.MethodGet, "/"+link)
		require.Equal(t, http.StatusOK, rec.Code, link)
		require.Equal(t, maxAge, rec.Header().Get("Cache-Control"), link)
		require.NotContains(t, rec.Body.String(), "@import")
		path, _, _ := strings.Cut(link, "?")
		rec = call(h, http.MethodGet, "/"+path+"?v=old")
		require.Equal(t, "no-cache", rec.Header().Get("Cache-Control"), "what another version asks for is not kept")
		req := httptest.NewRequest(http.MethodGet, "/"+link, http.NoBody)
		req.Header.Set("If-None-Match", "W/"+rec.Header().Get("ETag"))
		require.Equal(t, http.StatusNotModified, serve(h, req).Code)
	}
	require.Equal(t, 8, links, "icon, three stylesheets, four scripts")
	for _, path := range []string{"/static/", "/static/uplot.LICENSE", "/static/none.js", "/static/..%2fapi.go", "/static/page.css/x"} {
		require.Equal(t, http.StatusNotFound, call(h, http.MethodGet, path).Code, path)
	}
	css := call(h, http.MethodGet, "/static/page.css")
	require.Equal(t, "text/css; charset=utf-8", css.Header().Get("Content-Type"))
	require.Contains(t, css.Body.String(), "prefers-color-scheme: dark")
	require.NotContains(t, css.Body.String(), "url(")
	for _, a := range scaling.Actions() {
		require.Contains(t, css.Body.String(), "."+string(a))
	}
}

// All that a browser loads for one scope, compressed, fits into 150 KB; a list
// of 1 000 scopes does, too.
func TestPageWeighsLittle(t *testing.T) {
	const most = 150_000
	o := listed250(t)
	b := &fakeBoard{}
	for i := range 1000 {
		b.evaluations = append(b.evaluations, scaleOut(fmt.Sprintf("scope-%04d", i)))
	}
	o.Board = b
	h := newHandler(t, o)
	for _, target := range []string{"/", "/?scope=scope-0000"} {
		body := call(h, http.MethodGet, target).Body.Bytes()
		sum := packed(t, body)
		for _, n := range elements(t, string(body)) {
			if link := attribute(n, "src") + attribute(n, "href"); strings.HasPrefix(link, "static/") {
				sum += packed(t, call(h, http.MethodGet, "/"+link).Body.Bytes())
			}
		}
		t.Logf("%s weighs %d bytes", target, sum)
		require.Less(t, sum, most)
	}
}

func packed(t *testing.T, body []byte) int {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	require.NoError(t, err)
	_, err = w.Write(body)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Len()
}

// The scripts say no more than they have to.
func TestScriptsStaySmall(t *testing.T) {
	for _, name := range []string{"live.js", "control.js", "plot.js"} {
		b, err := staticFiles.ReadFile("static/" + name)
		require.NoError(t, err)
		require.LessOrEqual(t, strings.Count(string(b), "\n"), 200, name)
		for _, bad := range []string{"innerHTML", "eval(", "localStorage", "sessionStorage", "document.cookie", "://"} {
			require.NotContains(t, string(b), bad, name)
		}
	}
}

func TestPausedScopesAreFound(t *testing.T) {
	ev := scaling.Evaluation{Scope: scaling.Scope{Key: "prod"}}
	require.False(t, matches(&ev, listQuery{Search: "PAUSED prod"}))
	require.True(t, matches(&ev, listQuery{Search: "PAUSED prod"}, "paused"))
}

func TestNotesOfAScope(t *testing.T) {
	stale := 2
	ev := scaling.Evaluation{Booting: 3}
	ev.Recommendation.StaleWorkerCount = &stale
	words := fmt.Sprint(notes(&ev, &standing{}, time.Now()))
	require.Contains(t, words, "Workers without a young sample: 2.")
	require.Contains(t, words, "have not registered: 3.")
	stale = 0
	require.NotContains(t, fmt.Sprint(notes(&ev, &standing{}, time.Now())), "young sample")
}

// One is one, beside whatever unit.
func TestOneIsSingular(t *testing.T) {
	o := options(t)
	ev := scaleOut("prod", scaling.Label{Name: "cluster", Value: "prod"})
	ev.Inputs[0].Value = scaling.Known(1)
	ev.Inputs[0].Unit = "workers"
	o.Board = &fakeBoard{evaluations: []scaling.Evaluation{ev}}
	require.Contains(t, mainOf(t, o, "/?scope=prod"), "oldest_blocked_job blocking 1 worker ")
	require.Contains(t, mainOf(t, o, "/?q=nothing"), "The only scope is not like that.")
	late := o.Now().Add(seconds(600))
	o.Now = func() time.Time { return late }
	require.Contains(t, mainOf(t, o, "/"), "Out of date: 1 of 1 scope had no evaluation")
}
