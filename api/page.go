package api

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"sort"

	"github.com/labstack/echo/v4"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

//go:embed page
var pageFiles embed.FS

const (
	// perPage is how many scopes one page shows with their signals.
	perPage = 50
	// pagePolicy lets a browser load the page's own stylesheet and nothing else.
	pagePolicy = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// page renders the page for people. It works without scripts.
type page struct {
	template *template.Template
	style    []byte
}

func newPage() (*page, error) {
	t, err := template.ParseFS(pageFiles, "page/*.html")
	if err != nil {
		return nil, fmt.Errorf("parsing the page's template: %w", err)
	}
	style, err := pageFiles.ReadFile("page/page.css")
	if err != nil {
		return nil, fmt.Errorf("reading the page's stylesheet: %w", err)
	}
	return &page{template: t, style: style}, nil
}

func (p *page) stylesheet(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderCacheControl, "max-age=300")
	return c.Blob(http.StatusOK, "text/css; charset=utf-8", p.style)
}

// GetPage serves the page for people.
func (s *server) GetPage(c echo.Context, params GetPageParams) error {
	evaluations, err := s.selected(params.Scope)
	if err != nil {
		return err
	}
	view := pageView{
		Scope: params.Scope, After: params.After, Refresh: defaultRefresh,
		Total: len(evaluations), Counts: countsOf(evaluations),
	}
	if params.Refresh != nil {
		view.Refresh = *params.Refresh
	}
	from := sort.Search(len(evaluations), func(i int) bool { return evaluations[i].Scope.Key > params.After })
	if params.After == "" {
		from = 0
	}
	evaluations = evaluations[from:]
	if len(evaluations) > perPage {
		evaluations = evaluations[:perPage]
		view.Next = evaluations[perPage-1].Scope.Key
	}
	when := make(map[scaling.RowID]string, len(s.Table))
	for _, row := range s.Table {
		when[row.ID] = row.When
	}
	now := s.Now()
	for i := range evaluations {
		view.Scopes = append(view.Scopes, scopeViewOf(&evaluations[i], when, now))
	}
	return s.writePage(c, http.StatusOK, view)
}

// writePage fills in what every page shows. It renders before it writes, so
// that an error of the template is an error of the request.
func (s *server) writePage(c echo.Context, status int, view pageView) error {
	view.Leader, view.Epoch, view.Rows = s.Board.Leader(), s.Board.Epoch(), s.Table
	view.Now = instant(s.Now())
	var b bytes.Buffer
	if err := s.page.template.ExecuteTemplate(&b, "page.html", view); err != nil {
		return fmt.Errorf("rendering the page: %w", err)
	}
	c.Response().Header().Set(echo.HeaderContentSecurityPolicy, pagePolicy)
	return c.HTMLBlob(status, b.Bytes())
}
