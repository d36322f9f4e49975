package backtest

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// day is a backtest of a day with a busy hour, with names that a page must not
// take for markup.
func day(t *testing.T, lines Lines) *Report {
	t.Helper()
	values := func(expr, c string, at time.Time) (float64, bool) {
		if expr == "cpu" && at.Sub(period).Hours() > 9 && at.Sub(period).Hours() < 10 {
			return 0.9, true
		}
		return steady(0.5)(expr, c, at)
	}
	r, err := Run(t.Context(), Options{
		Source: &tape{values: values}, SourceName: "<script>alert(1)</script>", Start: period, End: period.Add(24 * time.Hour), Plots: true, Lines: lines,
		RuleSets: []*rules.RuleSet{parseRules(t, "1.0.0", "30s", "60"), parseRules(t, "2.0.0", "1m", "100")},
	})
	require.NoError(t, err)
	return r
}

func TestPage(t *testing.T) {
	var page bytes.Buffer
	r := day(t, nil)
	require.NoError(t, r.WriteHTML(&page))
	text := page.String()
	require.NotContains(t, text, "<script")
	for _, reference := range []string{"http://", "https://", "src=", "url(", "@import"} {
		require.NotContains(t, text, reference, "the page needs nothing else")
	}
	require.Equal(t, 2*5, strings.Count(text, `<svg class="chart"`), "for each scope workers, rows, CPU, and age with two thresholds")
	for _, p := range r.Pictures(r.Scopes[0], nil) {
		wellFormed(t, string(p.SVG))
		require.NotContains(t, p.SVG, "NaN", p.Title)
		require.True(t, strings.Contains(string(p.SVG), `<path class=`) || strings.Contains(string(p.SVG), `<rect class="row-`), p.Title)
	}
}

func TestPicturesLeadSomewhere(t *testing.T) {
	r := day(t, nil)
	pictures := r.Pictures(r.Scopes[0], func(at time.Time) string { return "/explain?at=" + scaling.At(at) + "&x=1" })
	wellFormed(t, string(pictures[0].SVG))
	require.Contains(t, pictures[0].SVG, `<a href="/explain?at=2026-03-01T00:`)
	require.NotContains(t, pictures[1].SVG, "<a ")
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

func TestLines(t *testing.T) {
	var text bytes.Buffer
	r := day(t, JSONLines(&text, false))
	n := 0
	for l := range strings.Lines(text.String()) {
		var got line
		require.NoError(t, json.Unmarshal([]byte(l), &got))
		require.Equal(t, got.Changed, got.Reason != "")
		n++
	}
	ticks := 0
	for _, s := range r.Scopes {
		for _, v := range s.Verdicts {
			ticks += v.Ticks
		}
	}
	require.Equal(t, ticks, n)

	text.Reset()
	day(t, CSV(&text, []string{"age", "cpu"}, true, true))
	rows, err := csv.NewReader(&text).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{
		"time", "scope", "rule_set", "version", "action", "row", "current_workers", "recommended_workers", "changed", "failed", "age", "cpu",
	}, rows[0])
	require.Len(t, rows[1:], 2*2*3, "steady, saturated, steady: two scopes, two rule sets")
}

func TestText(t *testing.T) {
	var text bytes.Buffer
	require.NoError(t, day(t, nil).WriteText(&text))
	require.Contains(t, text.String(), "short of capacity for 58m")
	require.Contains(t, text.String(), "A and B agree at all of")
}
