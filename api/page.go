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
	"time"

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

// pageView is what every page shows; one of Problem, List and Scope is there.
type pageView struct {
	Title  string
	Leader bool
	Epoch  uint64
	Now    string
	// Refresh is in seconds, 0 is never; ToggleURL turns it off or on.
	Refresh   int
	ToggleURL string
	// Interval is the shortest time between two ticks of what is shown, in
	// seconds: data older than three of them is out of date.
	Interval float64
	Problem  *Problem
	List     *listView
	Scope    *scopeView
	Rows     []scaling.Row
}

// GetPage serves the page for people: all scopes, or one.
func (s *server) GetPage(c echo.Context, params GetPageParams) error {
	evaluations, err := s.selected(params.Scope)
	if err != nil {
		return err
	}
	view := pageView{Refresh: defaultRefresh, Interval: interval(evaluations)}
	if params.Refresh != nil {
		view.Refresh = *params.Refresh
	}
	now := s.Now()
	if params.Scope == "" {
		list := listViewOf(evaluations, listQueryOf(params), now)
		ctx, cancel := context.WithTimeout(c.Request().Context(), storeTimeout)
		defer cancel()
		list.Control = s.controlView(ctx, now, state.GlobalKey)
		view.List = &list
	} else {
		scope := s.scopeView(c.Request().Context(), &evaluations[0], now)
		view.Scope, view.Title = &scope, params.Scope
	}
	return s.writePage(c, http.StatusOK, view)
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
	view.Leader, view.Epoch, view.Rows = s.Board.Leader(), s.Board.Epoch(), s.Table
	view.Now = instant(s.Now())
	view.ToggleURL = toggleRefresh(c.Request().URL.Query(), view.Refresh)
	var b bytes.Buffer
	if err := s.page.template.ExecuteTemplate(&b, "page.html", view); err != nil {
		return fmt.Errorf("rendering the page: %w", err)
	}
	c.Response().Header().Set(echo.HeaderContentSecurityPolicy, pagePolicy)
	return c.HTMLBlob(status, b.Bytes())
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

// instant writes a time for machines and people alike.
func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }
