package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// places are the numbers of the attributes that say where something is.
var places = regexp.MustCompile(`(?: (?:x|y|x1|x2|y1|y2|width|height)|d)="([^"]*)"`)

// wellDrawn fails for a picture that is no XML, or in which something has no place
// inside of it.
func wellDrawn(t require.TestingT, svg string, height float64) {
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	drawn := regexp.MustCompile("<title>.*?</title>").ReplaceAllString(svg, "")
	require.NotContains(t, drawn, "NaN")
	require.NotContains(t, drawn, "Inf")
	for _, m := range places.FindAllStringSubmatch(svg, -1) {
		for _, number := range regexp.MustCompile(`-?[\d.]+(e[-+]\d+)?`).FindAllString(m[1], -1) {
			v, err := strconv.ParseFloat(number, 64)
			require.NoError(t, err)
			require.LessOrEqual(t, math.Abs(v), max(chartWidth, height)+1, "%s lies outside", m[0])
		}
	}
}

// Whatever the values are, they have a place on the scale.
func TestEveryValueHasAPlace(t *testing.T) {
	const height = 130
	axis := Axis{From: time.Unix(0, 0), Step: time.Minute, Columns: 2}
	for _, values := range [][2]float64{
		{1e308, -1e308},
		{math.MaxFloat64, -math.MaxFloat64},
		{math.MaxFloat64, math.MaxFloat64},
		{math.Inf(1), math.Inf(-1)},
		{5e-324, 0},
		{-5e-324, 5e-324},
		{0, 0},
		{math.NaN(), math.NaN()},
		{1, math.Inf(1)},
	} {
		b := NewBand(2)
		b.Add(0, values[0])
		b.Add(1, values[1])
		c := New(axis, height, []*Band{&b}, &values[0])
		c.Line(&b, "signal")
		if !math.IsNaN(values[1]) {
			c.Level(&values[1], "out", "scale out")
			c.Dots([]Dot{{0.5, values[1]}}, "dots")
		}
		svg := string(c.SVG("extreme"))
		wellDrawn(t, svg, height)
		require.GreaterOrEqual(t, strings.Count(svg, `class="scale" x="-6"`), 2, "%v has no scale", values)
	}
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64(), 1, 20).Draw(t, "values")
		b := NewBand(len(values))
		for i, v := range values {
			b.Add(i, v)
		}
		c := New(Axis{From: time.Unix(1e9, 0), Step: time.Minute, Columns: len(values)}, height, []*Band{&b})
		c.Line(&b, "signal")
		wellDrawn(t, string(c.SVG("any")), height)
	})
}

// A picture of one column has the times of that column below, and no others.
func TestAPlotOfASinglePoint(t *testing.T) {
	for _, step := range []time.Duration{time.Second, 30 * time.Second, time.Minute, time.Hour, 36 * time.Hour} {
		axis := Axis{From: time.Date(2026, 3, 14, 9, 26, 30, 0, time.UTC), Step: step, Columns: 1}
		b := NewBand(1)
		b.Add(0, 3)
		c := New(axis, 130, []*Band{&b})
		c.Line(&b, "signal")
		svg := string(c.SVG("one"))
		wellDrawn(t, svg, 130)
		require.Contains(t, svg, `<path class="signal" fill="none" d="M0.0 `)
		for _, m := range regexp.MustCompile(`x="([\d.]+)%"`).FindAllStringSubmatch(svg, -1) {
			x, err := strconv.ParseFloat(m[1], 64)
			require.NoError(t, err)
			require.LessOrEqual(t, x, 100.0)
		}
	}
}

func TestLabelsOfScalesAreAsPeopleWriteThem(t *testing.T) {
	for want, v := range map[string]float64{"0": 0, "-3": -3, "0.25": 0.25, "40000": 40_000, "999999": 999_999, "2e+06": 2_000_000} {
		require.Equal(t, want, scaleLabel(v))
	}
}
