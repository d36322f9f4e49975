package app

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// NewRegistry is a registry with what every Go process exports.
func NewRegistry() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(goCollector{collectors.NewGoCollector()}, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return reg
}

// clashing is a gauge that has the value of go_memstats_heap_alloc_bytes, and in
// OpenMetrics the name of the counter go_memstats_alloc_bytes_total: strict
// parsers refuse a whole page that has both.
const clashing = `fqName: "go_memstats_alloc_bytes",`

// goCollector is client_golang's collector without that gauge.
type goCollector struct{ prometheus.Collector }

// Describe implements prometheus.Collector.
func (c goCollector) Describe(ch chan<- *prometheus.Desc) {
	pass(c.Collector.Describe, ch, func(d *prometheus.Desc) bool { return strings.Contains(d.String(), clashing) })
}

// Collect implements prometheus.Collector.
func (c goCollector) Collect(ch chan<- prometheus.Metric) {
	pass(c.Collector.Collect, ch, func(m prometheus.Metric) bool { return strings.Contains(m.Desc().String(), clashing) })
}

// pass sends on what a collector sends, except what is dropped.
func pass[T any](send func(chan<- T), to chan<- T, drop func(T) bool) {
	all := make(chan T)
	go func() {
		defer close(all)
		send(all)
	}()
	for v := range all {
		if !drop(v) {
			to <- v
		}
	}
}
