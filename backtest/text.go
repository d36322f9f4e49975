package backtest

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// maxShown is how many changes and differences of a scope people are shown.
const maxShown = 20

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	r.head(&b)
	for _, s := range r.Scopes {
		b.WriteString("\n")
		r.scope(&b, s)
	}
	// Names come from the clusters that were watched.
	_, err := io.WriteString(w, document.Printable(b.String(), "\n"))
	return err
}

func (r *Report) head(b *strings.Builder) {
	if r.Partial {
		fmt.Fprintf(b, "PARTIAL: %s.\n", r.Stopped)
	}
	period := "no tick"
	if r.From != nil {
		period = fmt.Sprintf("%s to %s", scaling.At(*r.From), scaling.At(*r.To))
	}
	fmt.Fprintf(b, "Backtest over %s: %s, %s.\n", r.Source, period, scaling.Counted(r.Ticks, "tick"))
	for i, rs := range r.RuleSets {
		letter := ""
		if len(r.RuleSets) > 1 {
			letter = string(rune('A'+i)) + ": "
		}
		fmt.Fprintf(b, "%s%s %s, every %s, %s\n", letter, rs.Name, rs.Version, seconds(rs.IntervalSeconds), rs.Digest)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(b, "Note: %s\n", n)
	}
	for _, f := range r.Failures {
		fmt.Fprintf(b, "Unknown at %s, %s to %s: %s\n  %s\n", scaling.Counted(f.Ticks, "tick"), scaling.At(f.First), scaling.At(f.Last), f.Error, oneLine(f.Expr))
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func (r *Report) scope(b *strings.Builder, s *Scope) {
	fmt.Fprintf(b, "%s\n", s.Scope.Shown())
	for i, v := range s.Verdicts {
		rs := &r.RuleSets[i]
		if len(s.Verdicts) > 1 {
			fmt.Fprintf(b, "  %c: %s %s\n", 'A'+i, rs.Name, rs.Version)
		}
		v.text(b, time.Duration(rs.IntervalSeconds*float64(time.Second)))
	}
	if s.Comparison != nil {
		s.Comparison.text(b)
	}
}

func (v *Verdict) text(b *strings.Builder, interval time.Duration) {
	fmt.Fprintf(b, "  workers: %.1f worker-hours observed, %.1f recommended; short of capacity for %s, to spare for %s\n",
		v.ObservedWorkerHours, v.RecommendedWorkerHours, length(v.ShortHours), length(v.SpareHours))
	fmt.Fprintf(b, "  recommendations: %d SCALE_OUT, %d SCALE_IN_CANDIDATE in %d ticks",
		v.Recommendations[scaling.ScaleOut], v.Recommendations[scaling.ScaleInCandidate], v.Ticks)
	if v.Failed > 0 {
		fmt.Fprintf(b, "; an expression had no value at %d", v.Failed)
	}
	if v.Unknown > 0 {
		fmt.Fprintf(b, "; no worker count at %d", v.Unknown)
	}
	b.WriteString("\n  time in each row:\n")
	rows := slices.SortedFunc(maps.Keys(v.Rows), func(x, y scaling.RowID) int {
		return cmp.Or(cmp.Compare(v.Rows[y], v.Rows[x]), cmp.Compare(x, y))
	})
	for _, id := range rows {
		n := v.Rows[id]
		fmt.Fprintf(b, "    %-18s %6.2f %%  %s\n", id, 100*float64(n)/float64(v.Ticks), length(hours(n, interval)))
	}
	if len(v.Changes) == 0 {
		return
	}
	b.WriteString("  decisions:\n")
	for _, c := range v.Changes[:min(maxShown, len(v.Changes))] {
		fmt.Fprintf(b, "    %s  %s → %s  %s, %s: %s\n", scaling.At(c.At), or(count(c.Current), "?"), or(count(c.Recommended), "?"), c.Action, c.Row, c.Reason)
	}
	if more := len(v.Changes) + v.MoreChanges - maxShown; more > 0 {
		fmt.Fprintf(b, "    and %d more: -o jsonl lists them all\n", more)
	}
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func (c *Comparison) text(b *strings.Builder) {
	if c.Differ == 0 {
		fmt.Fprintf(b, "  A and B agree at all of %s.\n", scaling.Counted(c.Ticks, "tick"))
		return
	}
	fmt.Fprintf(b, "  A and B differ at %d of %s:\n", c.Differ, scaling.Counted(c.Ticks, "tick"))
	for _, d := range c.Differences[:min(maxShown, len(c.Differences))] {
		fmt.Fprintf(b, "    %s, %s: A %s; B %s\n", scaling.At(d.From), scaling.Counted(d.Ticks, "tick"), d.First.text(), d.Second.text())
	}
	if more := len(c.Differences) + c.MoreDifferences - maxShown; more > 0 {
		fmt.Fprintf(b, "    and %d more %s: -o json lists them\n", more, scaling.Plural(more, "stretch", "stretches"))
	}
}

func (s *Said) text() string {
	return fmt.Sprintf("%s to %s (%s)", s.Action, or(count(s.Recommended), "?"), s.Row)
}

// length shows hours as people say them.
func length(h float64) string {
	return seconds(h * 3600)
}

func seconds(s float64) string {
	text := time.Duration(s * float64(time.Second)).Round(time.Millisecond).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
