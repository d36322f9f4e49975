package backtest

import (
	"cmp"
	_ "embed"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/chart"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

//go:embed report.html
var reportTemplate string

// WriteHTML writes the report as one page that needs nothing else: no network, no
// script.
func (r *Report) WriteHTML(w io.Writer) error {
	return chart.WritePage(w, reportTemplate, template.FuncMap{
		"stamp": scaling.At, "length": length, "seconds": seconds,
		"count":    func(n *int) string { return or(count(n), "unknown") },
		"letter":   func(i int) string { return string(rune('A' + i)) },
		"share":    func(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) },
		"ofTicks":  func(n int, rs RuleSet) string { return length(float64(n) * rs.IntervalSeconds / 3600) },
		"rows":     rowsOf,
		"outs":     func(v *Verdict) int { return v.Recommendations[scaling.ScaleOut] },
		"ins":      func(v *Verdict) int { return v.Recommendations[scaling.ScaleInCandidate] },
		"pictures": func(s *Scope) []chart.Picture { return r.Pictures(s, nil) },
	}, r)
}

// rowTicks is a row with its ticks.
type rowTicks struct {
	Row   scaling.RowID
	Ticks int
}

// rowsOf are the rows of a verdict, the longest first.
func rowsOf(v *Verdict) []rowTicks {
	out := make([]rowTicks, 0, len(v.Rows))
	for id, n := range v.Rows {
		out = append(out, rowTicks{id, n})
	}
	slices.SortFunc(out, func(a, b rowTicks) int { return cmp.Or(cmp.Compare(b.Ticks, a.Ticks), cmp.Compare(a.Row, b.Row)) })
	return out
}

// Pictures are the plots of a scope, none if it has no data for them. With link,
// every column of the first leads to what it says about that instant.
func (r *Report) Pictures(s *Scope, link func(time.Time) string) []chart.Picture {
	p := s.Plot
	if p == nil {
		return nil
	}
	out := []chart.Picture{r.workers(p, link), r.strips(p)}
	for _, l := range p.Lines {
		if l.Band.Empty() {
			continue
		}
		c := chart.New(p.axis(), 130, []*chart.Band{&l.Band}, l.Out, l.In)
		c.Level(l.Out, "out", "scale out")
		c.Level(l.In, "in", "scale in")
		c.Line(&l.Band, "signal")
		title := l.Name
		if twice(p.Lines, l.Name) {
			title += " of " + r.letter(l.RuleSet)
		}
		if l.Unit != "" {
			title += ", " + l.Unit
		}
		legend := []chart.LegendEntry{{Class: "signal", Name: "value"}}
		if l.Out != nil {
			legend = append(legend, chart.LegendEntry{Class: "out", Name: "scale out"})
		}
		if l.In != nil {
			legend = append(legend, chart.LegendEntry{Class: "in", Name: "scale in"})
		}
		out = append(out, chart.Picture{Title: title, SVG: c.SVG(title), Legend: legend})
	}
	return out
}

// workers draws the observed and the recommended workers.
func (r *Report) workers(p *Plot, link func(time.Time) string) chart.Picture {
	bands := []*chart.Band{&p.Observed}
	for i := range p.Recommended {
		bands = append(bands, &p.Recommended[i])
	}
	c := chart.New(p.axis(), 240, bands)
	c.Marks(p.Failed, "failed", "an expression had no value")
	legend := []chart.LegendEntry{{Class: "observed", Name: "workers observed"}}
	c.Line(&p.Observed, "observed")
	for i := range p.Recommended {
		class := [...]string{"first", "second"}[i]
		c.Line(&p.Recommended[i], class)
		legend = append(legend, chart.LegendEntry{Class: class, Name: "recommended by " + r.RuleSets[i].Name + " " + r.RuleSets[i].Version})
	}
	c.Links(link)
	return chart.Picture{Title: "Workers", SVG: c.SVG("workers observed and recommended"), Legend: legend}
}

// strips draws which row decided for how much of each column.
func (r *Report) strips(p *Plot) chart.Picture {
	c := chart.NewStrips(p.axis(), len(p.Rows))
	seen := map[scaling.RowID]int{}
	for i, columns := range p.Rows {
		for id, n := range chart.Strip(c, i, strings.TrimSpace(r.letter(i)+" row"), columns) {
			seen[id] += n
		}
	}
	var legend []chart.LegendEntry
	for _, id := range slices.SortedFunc(maps.Keys(seen), func(a, b scaling.RowID) int { return cmp.Or(seen[b]-seen[a], cmp.Compare(a, b)) }) {
		legend = append(legend, chart.LegendEntry{Class: "row-" + string(id), Name: string(id)})
	}
	return chart.Picture{Title: "Row that decided", SVG: c.SVG("the row that decided, over time"), Legend: legend}
}

// twice reports whether both rule sets have a signal of that name, and not the
// same.
func twice(lines []*PlotLine, name string) bool {
	n := 0
	for _, l := range lines {
		if l.Name == name {
			n++
		}
	}
	return n > 1
}

func (r *Report) letter(i int) string {
	if len(r.RuleSets) < 2 {
		return ""
	}
	return string(rune('A' + i))
}
