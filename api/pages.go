package api

import (
	"context"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// pageRoute is one of the pages for people beside that of the scopes. They are no
// part of the API: the document has the same as JSON.
type pageRoute struct {
	path, words string
	// aside is true for a page that others lead to, not those links.
	aside bool
	// ofLeader is that of Route.
	ofLeader bool
	query    map[string]check
	view     func(s *server, ctx context.Context, query url.Values) (pageView, error)
}

// signalsPath is that of the page with a plot for each signal.
const signalsPath = "/signals"

// pageRoutes are in the order of the links on top of every page.
func pageRoutes() []pageRoute {
	refresh := between(0, maxRefresh)
	return []pageRoute{
		{path: "/history", words: "History", view: (*server).historyPageView, query: map[string]check{
			"scope": checkKey, "action": among("an action", scaling.Actions()), "until": checkTime, "cursor": checkCursor, "refresh": refresh,
		}},
		{path: "/actions", words: "Actions", view: (*server).actionsPageView, query: map[string]check{
			"scope": checkKey, "state": among("a state", scaling.ActionStates()), "cursor": checkActionsCursor, "refresh": refresh,
		}},
		{path: "/alerts", words: "Alerts", view: (*server).alertsPageView, query: map[string]check{"refresh": refresh}},
		{path: "/rules", words: "Rule sets", ofLeader: true, view: (*server).rulesPageView, query: map[string]check{"refresh": refresh}},
		{path: "/config", words: "Configuration", view: (*server).configPageView, query: map[string]check{"scope": checkKey, "refresh": refresh}},
		{path: signalsPath, words: "Signals over time", aside: true, ofLeader: true, view: (*server).signalsPageView, query: map[string]check{"scope": checkKey, "range": checkRange}},
		{path: "/runbook", words: "Runbook", view: (*server).runbookPageView, query: map[string]check{}},
	}
}

// registerPages serves them.
func (s *server) registerPages(r headToo) {
	for _, p := range pageRoutes() {
		r.GET(p.path, func(c echo.Context) error {
			ctx, cancel := context.WithTimeout(c.Request().Context(), storeTimeout)
			defer cancel()
			query := c.QueryParams()
			view, err := p.view(s, ctx, query)
			if err != nil {
				return err
			}
			view.Title = p.words
			if p.query["refresh"] != nil {
				view.live(query)
			}
			return s.writePage(c, http.StatusOK, view)
		})
	}
}

// live makes a page follow the service, as often as it was asked for.
func (v *pageView) live(query url.Values) {
	v.Follows, v.Refresh = true, defaultRefresh
	if given := query.Get("refresh"); given != "" {
		v.Refresh, _ = strconv.Atoi(given) // it was checked
	}
}

// queryRoutes are all routes whose queries are checked.
func queryRoutes() []Route {
	out := Routes()
	for _, p := range pageRoutes() {
		out = append(out, Route{Method: http.MethodGet, Path: p.path, ofLeader: p.ofLeader, query: p.query})
	}
	return out
}

// isPage reports whether people look at what is at a path.
func isPage(path string) bool {
	return path == "/" || slices.ContainsFunc(pageRoutes(), func(p pageRoute) bool { return p.path == path })
}

// navView is one of the links on top of every page.
type navView struct {
	URL, Words string
	Current    bool
}

// navViews leave out a page that this process does not serve.
func (s *server) navViews(path string) []navView {
	out := []navView{{URL: "./", Words: "Scopes", Current: path == "/"}}
	for _, p := range pageRoutes() {
		if p.aside || p.path == "/config" && (s.Store == nil || s.Settings == nil) {
			continue
		}
		out = append(out, navView{URL: p.path[1:], Words: p.words, Current: p.path == path})
	}
	return out
}

// scopeURL is the page of a scope, empty for none.
func scopeURL(key string) string {
	if key == "" || key == state.GlobalKey {
		return ""
	}
	return "./?" + url.Values{"scope": {key}}.Encode()
}

// parsedTime is that of a query that was checked.
func parsedTime(text string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, text)
	return t
}

// linkTo is one of the pages with a query; what is empty is left out.
func linkTo(page string, pairs ...string) string {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	if len(query) == 0 {
		return page
	}
	return page + "?" + query.Encode()
}

//go:generate go -C ../tools run ./runbook ../docs/runbook.md ../api/page/runbook.gen

// runbookPageView shows the runbook of this version.
func (s *server) runbookPageView(context.Context, url.Values) (pageView, error) {
	text, err := pageFiles.ReadFile("page/runbook.gen")
	return pageView{Runbook: template.HTML(text)}, err //nolint:gosec // it is ours, and made without any HTML of its source
}
