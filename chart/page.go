package chart

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
)

// Stylesheet has the colours of the pictures, for pages that show them.
//
//go:embed charts.css
var Stylesheet string

//go:embed page.css
var pageStylesheet string

//go:embed page.html
var pageTemplate string

// WritePage writes a report as a page that is a file of its own: no network, no
// script, the pictures' colours, text and tables, light and dark. The text defines the
// templates title, body and, for rules of its own, style.
func WritePage(w io.Writer, text string, funcs template.FuncMap, report any) error {
	style := func() template.CSS { return template.CSS(Stylesheet + pageStylesheet) } //nolint:gosec // both are ours
	t, err := template.New("report").Funcs(funcs).Funcs(template.FuncMap{"style": style}).Parse(pageTemplate)
	if err == nil {
		_, err = t.New("text").Parse(text)
	}
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

// Key is the legend as a list.
func (p Picture) Key() template.HTML {
	var b strings.Builder
	b.WriteString(`<ul class="legend">`)
	for _, l := range p.Legend {
		fmt.Fprintf(&b, `<li><svg viewBox="0 0 28 16" aria-hidden="true"><line class="%s" x1="0" x2="28" y1="8" y2="8"/></svg>%s</li>`,
			template.HTMLEscapeString(l.Class), template.HTMLEscapeString(l.Name))
	}
	b.WriteString("</ul>")
	return template.HTML(b.String()) //nolint:gosec // what is not ours is escaped
}

// LegendEntry is one colour of a picture, as a class of the style sheet.
type LegendEntry struct{ Class, Name string }
