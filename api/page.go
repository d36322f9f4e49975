package api

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

//go:embed page
var pageFiles embed.FS

// pagePolicy lets a browser load the page's own files, ask this service, and
// nothing else: what a hostile name might smuggle in cannot run.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// page renders the page for people. It works without scripts; with them it is
// live.
type page struct {
	template *template.Template
	assets   map[string]asset
}

func newPage() (*page, error) {
	p := &page{}
	var err error
	if p.assets, err = readAssets(staticFiles); err != nil {
		return nil, err
	}
	p.template, err = template.New("page").Funcs(template.FuncMap{"static": p.link}).ParseFS(pageFiles, "page/*.html")
	if err != nil {
		return nil, fmt.Errorf("parsing the page's templates: %w", err)
	}
	return p, nil
}

// pageView is what every page shows; one of Problem, List and those below it is
// there.
type pageView struct {
	Title  string
	Nav    []navView
	Leader bool
	// LeaderName is who leads where this replica does not; empty if nobody knows.
	LeaderName string
	Epoch      uint64
	Now        string
	// Refresh is in seconds, 0 is never; ToggleURL turns it off or on.
	Refresh   int
	ToggleURL string
	// Follows is false for a page of which nothing changes.
	Follows bool
	// Interval is the shortest time between two ticks of what is shown, in
	// seconds: data older than three of them is out of date.
	Interval float64
	// Troubles stand above everything else.
	Troubles []string
	Problem  *Problem
	List     *listView
	Scope    *scopeView
	// Rows are the decision table, for the list.
	Rows    []scaling.Row
	History *pastView
	Actions *actionsPage
	Alerts  *alertsView
	Rules   *rulesView
	Config  *configPage
	Signals *signalsPage
	Runbook template.HTML
}

// GetPage serves the page for people: all scopes, or one.
func (s *server) GetPage(c echo.Context, params GetPageParams) error {
	evaluations, err := s.selected(params.Scope)
	if err != nil {
		return err
	}
	view := pageView{Follows: true, Refresh: defaultRefresh, Interval: interval(evaluations)}
	if params.Refresh != nil {
		view.Refresh = *params.Refresh
	}
	now := s.Now()
	if params.Scope == "" {
		ctx, cancel := context.WithTimeout(c.Request().Context(), storeTimeout)
		defer cancel()
		st := s.standing(ctx)
		list := listViewOf(evaluations, listQueryOf(params), &st, now)
		list.Control = s.controlView(ctx, now, state.GlobalKey)
		view.List = &list
	} else {
		ev, asOf, err := s.shown(c.Request().Context(), &evaluations[0], params)
		if err != nil {
			return err
		}
		scope := s.scopeView(c.Request().Context(), &ev, rangeOf(string(params.Range)), asOf != "", now)
		if asOf != "" {
			scope.AsOf, view.Refresh, view.Interval = scaling.At(ev.Tick), 0, 0
			scope.Remarks = append([]string{asOf}, scope.Remarks...)
		}
		view.Scope, view.Title = &scope, scope.Shown
	}
	return s.writePage(c, http.StatusOK, view)
}

// shown is the newest evaluation of a scope, or that of a past time: computed
// again, or as it was recorded. For one of the past, asOf says what it is.
func (s *server) shown(ctx context.Context, newest *scaling.Evaluation, params GetPageParams) (ev scaling.Evaluation, asOf string, err error) {
	at := params.At
	switch {
	case params.Id != "":
		return s.recordedAs(ctx, newest, GetExplainParams{Scope: newest.Scope.Key, Id: params.Id})
	case at.IsZero():
		return *newest, "", nil
	case at.After(s.Now()):
		return *newest, "", refuse(http.StatusBadRequest, "invalid query: at is not in the past")
	}
	if s.Past == nil {
		return s.recordedAs(ctx, newest, GetExplainParams{Scope: newest.Scope.Key, At: at})
	}
	computed, err := s.pastAt(ctx, newest.Scope.Key, at)
	if err == nil {
		return computed, computedAgain(&computed), nil
	}
	ev, asOf, recordErr := s.recordedAs(ctx, newest, GetExplainParams{Scope: newest.Scope.Key, At: at})
	if recordErr != nil {
		return ev, "", pastFailure(err, recordErr)
	}
	return ev, asOf + " It cannot be computed for that very time: " + err.Error() + ".", nil
}

// recordedAs is a decision of the history as an evaluation.
func (s *server) recordedAs(ctx context.Context, newest *scaling.Evaluation, params GetExplainParams) (ev scaling.Evaluation, asOf string, err error) {
	e, err := s.recorded(ctx, params)
	if err != nil {
		return ev, "", err
	}
	r, err := decodeRecord(e)
	if err != nil {
		return ev, "", fail(http.StatusInternalServerError, "the entry of the history cannot be read; the log says why", err)
	}
	ev = scaling.Evaluation{
		Scope: newest.Scope, Recommendation: r.Recommendation, Inputs: r.Inputs, SlotMode: r.SlotMode, Mode: r.Mode,
		Deployment: newest.Deployment, Paused: r.Paused, MinWorkers: r.MinWorkers, MaxWorkers: r.MaxWorkers, Booting: r.Booting,
		Provisional: r.Provisional, Interval: newest.Interval, Tick: e.At.UTC(),
	}
	if r.Facts != nil {
		ev.Facts = *r.Facts
	}
	return ev, fmt.Sprintf("This is the recorded decision of %s, entry %d of the history.", scaling.At(e.At), e.ID), nil
}

// interval is the shortest of the scopes', 0 without any.
func interval(evaluations []scaling.Evaluation) float64 {
	least := 0.0
	for i := range evaluations {
		if v := evaluations[i].Interval; v > 0 && (least == 0 || v < least) {
			least = v
		}
	}
	return least
}

// writePage fills in what every page shows. It renders before it writes, so
// that an error of the template is an error of the request.
func (s *server) writePage(c echo.Context, status int, view pageView) error {
	view.Leader, view.Epoch, view.Nav = s.leads(c), s.Board.Epoch(), s.navViews(c.Path())
	view.LeaderName, view.Now = s.leaderName(c), scaling.At(s.Now())
	h := s.health()
	view.Troubles = h.Troubles()
	if why := leaderProblem(c); why != "" {
		view.Troubles = append([]string{why}, view.Troubles...)
	}
	if view.List != nil {
		view.List.health(&h)
		view.List.Leads, view.List.LeaderName, view.List.Early = view.Leader, view.LeaderName, !s.Board.Published()
		view.Rows = s.Table
	}
	if view.Follows {
		view.ToggleURL = toggleRefresh(c.Request().URL.Query(), view.Refresh)
	}
	var b bytes.Buffer
	if err := s.page.template.ExecuteTemplate(&b, "page.html", view); err != nil {
		return fmt.Errorf("rendering the page: %w", err)
	}
	c.Response().Header().Set(echo.HeaderContentSecurityPolicy, pagePolicy)
	return c.HTMLBlob(status, straight(b.Bytes()))
}

// toggleRefresh is the same page with the refresh off, or on again.
func toggleRefresh(query url.Values, refresh int) string {
	to := defaultRefresh
	if refresh > 0 {
		to = 0
	}
	query.Set("refresh", strconv.Itoa(to))
	return "?" + query.Encode()
}
