package metrics

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Options say what is exported.
type Options struct {
	// PerSignal adds the three signal_* metrics, which are most of the series.
	PerSignal bool
	// Clock tells how much of a cooldown is left at a scrape.
	Clock func() time.Time
}

// Collector exports the latest evaluation of every scope. It is a publisher of
// the evaluator and a prometheus.Collector, safe for concurrent use.
type Collector struct {
	Options
	families families
	pairs    pairs

	mu     sync.RWMutex
	scopes map[string]*entry
}

var _ prometheus.Collector = (*Collector)(nil)

// entry is one scope as it was last published. It is not changed: a scrape
// reads it while the next tick puts another one in its place.
type entry struct {
	*scaling.Evaluation
	labels []*dto.LabelPair
	// recommendations count new generations, in the order of scaling.Actions.
	recommendations [4]uint64
	disagreements   uint64
}

// New returns a collector without scopes.
func New(o Options) *Collector {
	return &Collector{Options: o, families: newFamilies(), scopes: map[string]*entry{}}
}

// Publish takes over one tick's evaluations and forgets the scopes that are
// gone, their counters included.
func (c *Collector) Publish(_ context.Context, evaluations []scaling.Evaluation, gone []scaling.Scope) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range gone {
		delete(c.scopes, s.Key)
	}
	for i := range evaluations {
		key := evaluations[i].Scope.Key
		c.scopes[key] = c.scopes[key].next(&evaluations[i])
	}
}

// next counts on from the entry before, nil for a scope that is new.
func (e *entry) next(ev *scaling.Evaluation) *entry {
	n := &entry{Evaluation: ev}
	if e != nil {
		n.recommendations, n.disagreements = e.recommendations, e.disagreements
	}
	if e != nil && slices.Equal(e.Scope.Labels, ev.Scope.Labels) {
		n.labels = e.labels
	} else {
		n.labels = scopeLabels(ev.Scope)
	}
	if i := slices.Index(scaling.Actions(), ev.Recommendation.Action); ev.NewGeneration && i >= 0 {
		n.recommendations[i]++
	}
	// A provisional tick is decided on unknowns and says nothing about rules.
	for i := range ev.Shadows {
		if !ev.Provisional && !ev.Shadows[i].Agrees {
			n.disagreements++
		}
	}
	return n
}

// Describe sends nothing, which makes the collector unchecked: the labels of
// a scope are those of its rule set, and a reload may bring others.
func (c *Collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends every known value of every scope.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	c.mu.RLock()
	entries := make([]*entry, 0, len(c.scopes))
	for _, e := range c.scopes {
		entries = append(entries, e)
	}
	c.mu.RUnlock()
	for _, e := range entries {
		s := scrape{c: c, e: e, ch: ch}
		s.identity()
		s.actions()
		if s.expired() {
			continue
		}
		s.recommendation()
		s.inputs()
		s.shadows()
		s.next()
		if c.PerSignal {
			s.signals()
		}
	}
}
