package fleet

import (
	"fmt"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/zeta-scaler/zeta-scaler/source"
)

// Workers is how many each cluster has.
const Workers = 4

// Exported are the series that an exporter gives of one cluster, with a sample
// at each of the times, in Unix milliseconds.
func Exported(cluster int, times []int64) []source.Series {
	var all []source.Series
	add := func(name string, v float64, kv ...string) {
		s := source.Series{Labels: labels.FromStrings(append([]string{
			"__name__", "seatunnel_zeta_" + name, "cluster", ClusterName(cluster), "instance", "exporter:9881", "job", "zeta",
		}, kv...)...)}
		for _, t := range times {
			s.Points = append(s.Points, source.Point{T: t, V: v})
		}
		all = append(all, s)
	}
	lacking := 0.0
	if Lacks(cluster) {
		lacking = 3
	}
	add("info", 1, "slot_mode", "fixed", "version", "2.3.13")
	add("workers", Workers)
	add("pending_jobs", lacking)
	add("pending_job_oldest_seconds", 100*lacking)
	add("pending_head_lacking_slots", lacking)
	add("pending_head_required_slots", lacking)
	add("resource_rejections_total", 3)
	for w := range Workers {
		worker := fmt.Sprintf("10.0.0.%d:5802", w)
		for _, m := range []struct {
			name string
			v    float64
		}{{"worker_cpu_ratio", 0.1}, {"worker_memory_ratio", 0.2}, {"worker_sample_age_seconds", 1}, {"worker_dynamic_slot", 0}} {
			add(m.name, m.v, "worker", worker)
		}
		add("worker_slots", 1, "worker", worker, "state", "assigned")
		add("worker_slots", 7, "worker", worker, "state", "unassigned")
	}
	add("slots", Workers, "state", "assigned")
	add("slots", 7*Workers, "state", "unassigned")
	return all
}
