package chart

import (
	"fmt"
	"html"
	"html/template"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The measures of a chart. What is drawn is chartWidth units wide and stretched to
// whatever width there is; its height, and what is written, are in pixels.
const (
	chartWidth  = 886.0
	chartTop    = 10.0
	chartBottom = 24.0
	// chartLabel is how much of the width an instant below needs at its right.
	chartLabel = 42.0
)

// Axis is a stretch of time in columns of equal length.
type Axis struct {
	// From is where the first column begins, Step how long each is, > 0.
	From time.Time
	Step time.Duration
	// Columns is how many there are, ≥ 1.
	Columns int
	// Elapsed writes the times below as what has passed since From, not as
	// instants of a day.
	Elapsed bool
}

// Chart draws columns of time as SVG. Colours are classes, so that a style sheet
// picks them.
type Chart struct {
	axis   Axis
	height float64
	low    float64
	high   float64
	// frame is what keeps its form at any width: scales and words. body is stretched.
	frame, body strings.Builder
}

// New is a chart with a scale that has room for the given values, and for 0.
func New(axis Axis, height float64, bands []*Band, levels ...*float64) *Chart {
	c := &Chart{axis: axis, height: height}
	grow := func(v float64) {
		if !math.IsNaN(v) {
			v = bounded(v)
			c.low, c.high = min(c.low, v), max(c.high, v)
		}
	}
	for _, b := range bands {
		for i := range b.Low {
			grow(float64(b.Low[i]))
			grow(float64(b.High[i]))
		}
	}
	for _, l := range levels {
		if l != nil {
			grow(*l)
		}
	}
	unit := nice((c.high - c.low) / 4)
	c.high = (math.Floor(c.high/unit) + 1) * unit
	if c.low < 0 {
		c.low = math.Floor(c.low/unit) * unit
	}
	c.grid(unit)
	return c
}

// greatest is the greatest number that a scale has room for: sums and differences of
// such numbers, and a scale that goes a little further, are still numbers.
const greatest = 1e300

// bounded draws what is beyond the scale at its end.
func bounded(v float64) float64 { return max(-greatest, min(greatest, v)) }

// nice is a round number near a length of the scale.
func nice(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if v <= m*power {
			return m * power
		}
	}
	return 10 * power
}

func (c *Chart) x(column float64) float64 {
	return column / float64(c.axis.Columns) * chartWidth
}

func (c *Chart) y(v float64) float64 {
	bottom := c.height - chartBottom
	return bottom - (bounded(v)-c.low)/(c.high-c.low)*(bottom-chartTop)
}

func (c *Chart) printf(format string, args ...any) { fmt.Fprintf(&c.body, format, args...) }

// write adds to the frame.
func (c *Chart) write(format string, args ...any) { fmt.Fprintf(&c.frame, format, args...) }

// grid draws the scales.
func (c *Chart) grid(unit float64) {
	for i := 0; c.low+float64(i)*unit <= c.high+unit/2 && i < 50; i++ {
		v := c.low + float64(i)*unit
		c.write(`<line class="grid" x1="0" x2="100%%" y1="%.1f" y2="%.1f"/>`, c.y(v), c.y(v))
		c.write(`<text class="scale" x="-6" y="%.1f" text-anchor="end">%s</text>`, c.y(v)+4, scaleLabel(v))
	}
	c.times()
}

// scaleLabel is a number of a scale: as people write it up to where there is no room.
func scaleLabel(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e6 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// timeUnits are how far apart the instants below a chart may be.
func timeUnits() []time.Duration {
	const day = 24 * time.Hour
	return []time.Duration{
		time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour,
		12 * time.Hour, day, 2 * day, 7 * day, 28 * day, 91 * day, 364 * day,
	}
}

// times writes a few round instants below; where there is little room, the style
// leaves every other one out.
func (c *Chart) times() {
	span := time.Duration(c.axis.Columns) * c.axis.Step
	units := timeUnits()
	unit := units[len(units)-1]
	for _, u := range slices.Backward(units) {
		if span/u <= 8 {
			unit = u
		}
	}
	first := c.axis.From
	if !c.axis.Elapsed {
		first = first.Truncate(unit)
	}
	classes := [...]string{"scale", "scale other"}
	n := 0
	for at := first; at.Before(c.axis.From.Add(span)); at = at.Add(unit) {
		if at.Before(c.axis.From) {
			continue
		}
		x := 100 * float64(at.Sub(c.axis.From)) / float64(span)
		c.write(`<line class="grid" x1="%.2f%%" x2="%.2f%%" y1="%.1f" y2="%.1f"/>`, x, x, c.height-chartBottom, c.height-chartBottom+4)
		if x > 100*(1-chartLabel/chartWidth) {
			break // it would be cut off
		}
		c.write(`<text class="%s" x="%.2f%%" y="%.1f">%s</text>`, classes[n%2], x, c.height-6, c.axis.label(at))
		n++
	}
}

// label is what is written below an instant.
func (a Axis) label(at time.Time) string {
	switch {
	case a.Elapsed:
		passed := at.Sub(a.From)
		return fmt.Sprintf("%d:%02d", int(passed.Hours()), int(passed.Minutes())%60)
	case at.UTC().Truncate(24 * time.Hour).Equal(at):
		return at.UTC().Format("Jan 2")
	}
	return at.UTC().Format("15:04")
}

// Line draws a band as a line through its least and greatest values; where there
// are none it breaks off.
func (c *Chart) Line(b *Band, class string) {
	var path strings.Builder
	down := false
	for i := range b.Low {
		low, high := float64(b.Low[i]), float64(b.High[i])
		if math.IsNaN(low) {
			down = false
			continue
		}
		command := "M"
		if down {
			command = "L"
		}
		fmt.Fprintf(&path, "%s%.1f %.1fH%.1f", command, c.x(float64(i)), c.y(low), c.x(float64(i)+1))
		if high != low {
			fmt.Fprintf(&path, "V%.1f", c.y(high))
		}
		down = true
	}
	if path.Len() > 0 {
		c.printf(`<path class="%s" fill="none" d="%s"/>`, class, path.String())
	}
}

// Dot is a value at a place between the columns, counted from 0.
type Dot struct{ Column, Value float64 }

// Dots draws single values; of those that would lie upon each other, one.
func (c *Chart) Dots(dots []Dot, class string) {
	type place struct{ x, y int }
	drawn := map[place]bool{}
	var path strings.Builder
	for _, d := range dots {
		p := place{int(c.x(d.Column)), int(c.y(d.Value))}
		if !drawn[p] {
			drawn[p] = true
			fmt.Fprintf(&path, "M%d %dh.1", p.x, p.y)
		}
	}
	if path.Len() > 0 {
		c.printf(`<path class="%s" fill="none" d="%s"/>`, class, path.String())
	}
}

// Level draws a threshold.
func (c *Chart) Level(v *float64, class, name string) {
	if v == nil {
		return
	}
	c.write(`<line class="%s" x1="0" x2="100%%" y1="%.1f" y2="%.1f"><title>%s %s</title></line>`,
		class, c.y(*v), c.y(*v), name, strconv.FormatFloat(*v, 'g', 6, 64))
}

// Marks draws a strip on top of the columns that count something.
func (c *Chart) Marks(counts []int, class, title string) {
	for i, n := range counts {
		if n > 0 {
			c.printf(`<rect class="%s" x="%.1f" width="%.1f" y="0" height="6"><title>%s: %d ticks</title></rect>`,
				class, c.x(float64(i)), c.x(1)-c.x(0)+0.3, html.EscapeString(title), n)
		}
	}
}

// Links makes every column lead somewhere.
func (c *Chart) Links(to func(time.Time) string) {
	if to == nil {
		return
	}
	for i := range c.axis.Columns {
		at := c.axis.From.Add(time.Duration(i)*c.axis.Step + c.axis.Step/2)
		c.printf(`<a href="%s"><rect class="pick" x="%.1f" width="%.1f" y="0" height="%.1f"><title>%s</title></rect></a>`,
			html.EscapeString(to(at)), c.x(float64(i)), c.x(1)-c.x(0), c.height-chartBottom, at.UTC().Format(time.RFC3339))
	}
}

// stripHeight is how much room a strip takes.
const stripHeight = 26.0

// NewStrips is a chart of strips, one below the other: what was the case for how
// much of each column.
func NewStrips(axis Axis, strips int) *Chart {
	c := &Chart{axis: axis, height: stripHeight*float64(strips) + chartBottom}
	c.times()
	return c
}

// Strip fills strip i of c with the counts of each column, by name, and returns
// their sums. The class of a name is "row-" and the name.
func Strip[Name ~string](c *Chart, i int, label string, columns []map[Name]int) map[Name]int {
	sums := map[Name]int{}
	top := float64(i) * stripHeight
	c.write(`<text class="scale" x="-6" y="%.1f" text-anchor="end">%s</text>`, top+16, html.EscapeString(label))
	for j, counts := range columns {
		total := 0
		for _, n := range counts {
			total += n
		}
		at := top
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			sums[name] += counts[name]
			h := (stripHeight - 4) * float64(counts[name]) / float64(total)
			c.printf(`<rect class="row-%s" x="%.1f" width="%.1f" y="%.1f" height="%.1f"><title>%s %s</title></rect>`,
				html.EscapeString(string(name)), c.x(float64(j)), c.x(1)-c.x(0)+0.3, at, h,
				c.axis.From.Add(time.Duration(j)*c.axis.Step).UTC().Format(time.RFC3339), html.EscapeString(string(name)))
			at += h
		}
	}
	return sums
}

// SVG is the whole picture; label is for those who cannot see it.
func (c *Chart) SVG(label string) template.HTML {
	return template.HTML(fmt.Sprintf( //nolint:gosec // numbers, classes of ours, and escaped text
		`<svg class="chart" height="%.0f" role="img" aria-label="%s">%s<svg width="100%%" height="%.0f" viewBox="0 0 %.0f %.0f" preserveAspectRatio="none">%s</svg></svg>`,
		c.height, html.EscapeString(label), c.frame.String(), c.height, chartWidth, c.height, c.body.String()))
}
