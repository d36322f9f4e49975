package main

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// samples answer the expressions of one rule set for n clusters of four
// workers. Every tenth lacks slots, the others are idle.
type samples struct {
	n      int
	values map[string]value
}

// value is what a cluster says to one expression: idle, or lacking slots.
type value struct{ idle, short float64 }

func (v value) of(cluster int) float64 {
	if cluster%10 == 0 {
		return v.short
	}
	return v.idle
}

func newSamples(rs *rules.RuleSet, n int) *samples {
	s := &samples{n: n, values: map[string]value{
		rs.Workers.Current.Text:   {4, 4},
		rs.Workers.Reporting.Text: {4, 4},
	}}
	if e := rs.Workers.Slots; e != nil {
		s.values[e.Text] = value{8, 8}
	}
	bySignal := map[string]value{
		"blocked_jobs": {0, 3}, "oldest_blocked_age": {0, 300}, "unsatisfied_slots": {0, 3}, "resource_rejections": {0, 0},
		"avg_cpu": {0.1, 0.1}, "avg_memory": {0.2, 0.2}, "slot_utilization": {0.125, 0.125}, "head_job_too_big": {0, 1},
	}
	for i := range rs.Signals {
		s.values[rs.Signals[i].Expr.Text] = bySignal[rs.Signals[i].Name]
	}
	return s
}

// Every answer is made anew, as a decoder makes it: nothing of it is shared
// with the answer before.
func cluster(i int) labels.Labels { return labels.FromStrings("cluster", clusterName(i)) }

func clusterName(i int) string { return fmt.Sprintf("cluster-%05d", i) }

// Instant implements evaluator.Source.
func (s *samples) Instant(_ context.Context, expr string, _ time.Time) (source.Vector, error) {
	v, ok := s.values[expr]
	if !ok {
		return source.Vector{}, fmt.Errorf("nothing is known about %s", expr)
	}
	out := make([]source.Sample, s.n)
	for i := range out {
		out[i] = source.Sample{Labels: cluster(i), Value: v.of(i)}
	}
	return source.Vector{Samples: out}, nil
}

// Range implements evaluator.Source.
func (s *samples) Range(_ context.Context, expr string, w source.Window) (source.Matrix, error) {
	v, ok := s.values[expr]
	if !ok {
		return source.Matrix{}, fmt.Errorf("nothing is known about %s", expr)
	}
	out := make([]source.Series, s.n)
	for i := range out {
		points := make([]source.Point, 0, w.End.Sub(w.Start)/w.Step+1)
		for t := w.Start; !t.After(w.End); t = t.Add(w.Step) {
			points = append(points, source.Point{T: t.UnixMilli(), V: v.of(i)})
		}
		out[i] = source.Series{Labels: cluster(i), Points: points}
	}
	return source.Matrix{Series: out}, nil
}
