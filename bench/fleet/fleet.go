// Package fleet makes up what Prometheus would say of many clusters, so that
// whole programs can be measured without one.
package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// PackName is the rule set that everything is measured with.
const PackName = "zeta-fixed-slot"

// every is how many clusters there are to one that lacks slots.
const every = 10

// Samples answer the expressions of one rule set for N clusters of four
// workers. Every tenth lacks slots, the others are idle. It is an
// evaluator.Source.
type Samples struct {
	N int
	// Values are by expression.
	Values map[string]Value
}

// Value is what a cluster says to one expression: idle, or lacking slots.
type Value struct{ Idle, Short float64 }

// Of is the value of one cluster, 0 ≤ cluster < N.
func (v Value) Of(cluster int) float64 {
	if Lacks(cluster) {
		return v.Short
	}
	return v.Idle
}

// Lacks reports whether a cluster lacks slots.
func Lacks(cluster int) bool { return cluster%every == 0 }

// New makes samples for n clusters that are evaluated by rs, one of the kind of
// PackName.
func New(rs *rules.RuleSet, n int) *Samples {
	s := &Samples{N: n, Values: map[string]Value{
		rs.Workers.Current.Text:   {4, 4},
		rs.Workers.Reporting.Text: {4, 4},
	}}
	for e, v := range map[*rules.Expr]Value{rs.Workers.Slots: {8, 8}, rs.Workers.Free: {28, 0}, rs.Workers.Sources: {1, 1}} {
		if e != nil {
			s.Values[e.Text] = v
		}
	}
	bySignal := map[string]Value{
		"blocked_jobs": {0, 3}, "oldest_blocked_age": {0, 300}, "unsatisfied_slots": {0, 3}, "resource_rejections": {0, 0},
		"avg_cpu": {0.1, 0.1}, "avg_memory": {0.2, 0.2}, "slot_utilization": {0.125, 0.125}, "head_job_too_big": {0, 1},
	}
	for i := range rs.Signals {
		s.Values[rs.Signals[i].Expr.Text] = bySignal[rs.Signals[i].Name]
	}
	return s
}

// cluster is made anew for every answer, as a decoder makes it: nothing of it
// is shared with the answer before.
func cluster(i int) labels.Labels { return labels.FromStrings("cluster", ClusterName(i)) }

// ClusterName is the value of the label cluster.
func ClusterName(i int) string { return fmt.Sprintf("cluster-%05d", i) }

// Instant implements evaluator.Source.
func (s *Samples) Instant(_ context.Context, expr string, _ time.Time) (source.Vector, error) {
	v, ok := s.Values[expr]
	if !ok {
		return source.Vector{}, fmt.Errorf("nothing is known about %s", expr)
	}
	out := make([]source.Sample, s.N)
	for i := range out {
		out[i] = source.Sample{Labels: cluster(i), Value: v.Of(i)}
	}
	return source.Vector{Samples: out}, nil
}

// Range implements evaluator.Source.
func (s *Samples) Range(_ context.Context, expr string, w source.Window) (source.Matrix, error) {
	v, ok := s.Values[expr]
	if !ok {
		return source.Matrix{}, fmt.Errorf("nothing is known about %s", expr)
	}
	out := make([]source.Series, s.N)
	for i := range out {
		points := make([]source.Point, 0, w.End.Sub(w.Start)/w.Step+1)
		for t := w.Start; !t.After(w.End); t = t.Add(w.Step) {
			points = append(points, source.Point{T: t.UnixMilli(), V: v.Of(i)})
		}
		out[i] = source.Series{Labels: cluster(i), Points: points}
	}
	return source.Matrix{Series: out}, nil
}

// Quick is the pack with all times shortened alike, so that a window is as
// many ticks as in the pack, written to a file of dir, whose name it returns.
func Quick(dir string, interval time.Duration) (*rules.RuleSet, string, error) {
	rs, text, err := rules.Pack(PackName)
	if err != nil {
		return nil, "", err
	}
	short := strings.NewReplacer(
		"ruleset: "+PackName, "ruleset: "+PackName+"-quick\ninterval: "+interval.String(),
		"for: 5m}", fmt.Sprintf("for: %s}", 5*time.Minute/rs.Interval*interval),
		"for: 10m}", fmt.Sprintf("for: %s}", 10*time.Minute/rs.Interval*interval),
	).Replace(string(text))
	file := filepath.Join(dir, "rules.yaml")
	if err := os.WriteFile(file, []byte(short), 0o600); err != nil {
		return nil, "", err
	}
	quick, err := rules.ParseFile(file)
	return quick, file, err
}
