package metrics_test

import (
	"strconv"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func clusters(n int) []scaling.Evaluation {
	out := make([]scaling.Evaluation, n)
	for i := range out {
		out[i] = cluster("cluster-" + strconv.Itoa(i))
	}
	return out
}

func BenchmarkPublish(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			c, evaluations := collector(), clusters(n)
			c.Publish(b.Context(), evaluations, nil)
			b.ReportAllocs()
			for b.Loop() {
				c.Publish(b.Context(), evaluations, nil)
			}
		})
	}
}

func BenchmarkCollect(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			c := collector()
			c.Publish(b.Context(), clusters(n), nil)
			b.ReportAllocs()
			for b.Loop() {
				ch := make(chan prometheus.Metric, 1000)
				go func() {
					c.Collect(ch)
					close(ch)
				}()
				series := 0
				for range ch {
					series++
				}
				b.ReportMetric(float64(series), "series")
			}
		})
	}
}

func BenchmarkGather(b *testing.B) {
	c := collector()
	c.Publish(b.Context(), clusters(1000), nil)
	reg := prometheus.NewRegistry()
	reg.MustRegister(c)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := reg.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
