package ruletest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// compare lists the fields in which a recommendation is not as expected.
func compare(t *DecisionTest, r *scaling.Recommendation) []Difference {
	var ds []Difference
	add := func(field, want, got string) {
		if want != got {
			ds = append(ds, Difference{Field: field, Expected: want, Got: got})
		}
	}
	if t.Row != nil {
		add("row", string(*t.Row), string(r.Row))
	}
	if t.Action != nil {
		add("action", string(*t.Action), string(r.Action))
	}
	for _, c := range []struct {
		field string
		want  *Count
		got   *int
	}{
		{"recommended_workers", t.RecommendedWorkers, r.RecommendedWorkers},
		{"current_workers", t.CurrentWorkers, r.CurrentWorkers},
		{"stale_workers", t.StaleWorkers, r.StaleWorkerCount},
	} {
		if c.want != nil {
			add(c.field, c.want.String(), countOf(c.got).String())
		}
	}
	if t.MetricsValid != nil {
		add("metrics_valid", strconv.FormatBool(*t.MetricsValid), strconv.FormatBool(r.MetricsValid))
	}
	if t.Triggers != nil {
		add("triggers", setText(*t.Triggers), setText(namesOf(r.TriggerConditions)))
	}
	if t.Blockers != nil {
		add("blockers", setText(*t.Blockers), setText(namesOf(r.BlockingConditions)))
	}
	if t.Reason != nil && !strings.Contains(r.Reason, *t.Reason) {
		add("reason", "… "+strconv.Quote(*t.Reason)+" …", strconv.Quote(r.Reason))
	}
	return ds
}

// String is the number, or null as the test file writes an unknown one.
func (c Count) String() string {
	if !c.Known {
		return "null"
	}
	return strconv.Itoa(c.N)
}

func countOf(n *int) Count {
	if n == nil {
		return Count{}
	}
	return Count{Known: true, N: *n}
}

func namesOf(cs []scaling.Condition) []string {
	names := make([]string, len(cs))
	for i := range cs {
		names[i] = cs[i].Name
	}
	return names
}

// setText writes a set so that equal sets are equal texts.
func setText(names []string) string {
	sorted := slices.Sorted(slices.Values(names))
	return "[" + strings.Join(slices.Compact(sorted), ", ") + "]"
}

// compareSamples tells the expected samples from those that an expression
// gave, both as a set; it is empty if they are the same.
func compareSamples(want []ExpectedSample, got []source.Sample) []Difference {
	w, g := make([]string, len(want)), make([]string, len(got))
	for i, s := range want {
		w[i] = sampleText(s.Labels, s.Value)
	}
	for i, s := range got {
		g[i] = sampleText(s.Labels, s.Value)
	}
	slices.Sort(w)
	slices.Sort(g)
	if slices.EqualFunc(sortedSamples(want), sortedGot(got), sameSample) {
		return nil
	}
	return []Difference{{Field: "samples", Expected: listText(w), Got: listText(g)}}
}

func sortedSamples(s []ExpectedSample) []ExpectedSample {
	s = slices.Clone(s)
	slices.SortFunc(s, func(a, b ExpectedSample) int { return labels.Compare(a.Labels, b.Labels) })
	return s
}

func sortedGot(s []source.Sample) []source.Sample {
	s = slices.Clone(s)
	slices.SortFunc(s, func(a, b source.Sample) int { return labels.Compare(a.Labels, b.Labels) })
	return s
}

// sameSample compares values exactly; NaN is NaN, which promtool cannot expect.
func sameSample(want ExpectedSample, got source.Sample) bool {
	return labels.Equal(want.Labels, got.Labels) &&
		(want.Value == got.Value || math.IsNaN(want.Value) && math.IsNaN(got.Value))
}

func sampleText(l labels.Labels, v float64) string {
	return fmt.Sprintf("%s %s", l, strconv.FormatFloat(v, 'g', -1, 64))
}

func listText(lines []string) string {
	if len(lines) == 0 {
		return "none"
	}
	return strings.Join(lines, ", ")
}
