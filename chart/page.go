package chart

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

// Stylesheet has the colours of the pictures, for pages that show them.
//
//go:embed charts.css
var Stylesheet string

//go:embed page.css
var pageStylesheet string

// WritePage writes a report as a page that is a file of its own. Its template has,
// beside funcs, style: the pictures' colours, text and tables, light and dark.
func WritePage(w io.Writer, text string, funcs template.FuncMap, report any) error {
	style := func() template.CSS { return template.CSS(Stylesheet + pageStylesheet) } //nolint:gosec // both are ours
	t, err := template.New("report").Funcs(funcs).Funcs(template.FuncMap{"style": style}).Parse(text)
	if err != nil {
		return fmt.Errorf("reading the template of a report: %w", err)
	}
	if err := t.Execute(w, report); err != nil {
		return fmt.Errorf("writing a report: %w", err)
	}
	return nil
}

// Picture is a chart for a page, and what it is called.
type Picture struct {
	Title string
	SVG   template.HTML
	// Legend are its lines; none for one that needs no explanation.
	Legend []LegendEntry
}

// LegendEntry is one colour of a picture, as a class of the style sheet.
type LegendEntry struct{ Class, Name string }
