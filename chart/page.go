package chart

import (
	_ "embed"
	"html/template"
)

// Stylesheet has the colours of the pictures, for pages that show them.
//
//go:embed charts.css
var Stylesheet string

//go:embed page.css
var pageStylesheet string

// PageStyle is the style of a page that is a file of its own: the pictures'
// colours, text and tables, light and dark.
func PageStyle() template.CSS {
	return template.CSS(Stylesheet + pageStylesheet) //nolint:gosec // both are ours
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
