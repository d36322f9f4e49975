package rules

import (
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// series is a metric that Zeta, or the exporter for it, is known to export.
type series struct {
	name string
	// counter is true for what only grows; rate and increase are for those.
	counter bool
	// labels are the metric's own labels; target labels such as instance come
	// on top.
	labels []string
	// values are the values of labels that have a closed list.
	values map[string][]string
}

// exporterPrefix is the family of the exporter: every name in it is known.
const exporterPrefix = "seatunnel_zeta_"

// knownSeries lists the exporter's family and Zeta's own telemetry. Names that
// any Java program exports are in it only to tell counters from gauges.
func knownSeries() []series {
	return append(exporterSeries(), telemetrySeries()...)
}

func exporterSeries() []series {
	state := func(values ...string) map[string][]string { return map[string][]string{"state": values} }
	s := []series{
		{name: "up"},
		{name: "info", labels: []string{"version", "schedule_strategy", "slot_mode"}, values: map[string][]string{
			"schedule_strategy": {"WAIT", "REJECT", "unknown"}, "slot_mode": {"fixed", "dynamic", "mixed", "unknown"},
		}},
		{name: "workers"},
		{name: "slots", labels: []string{"state"}, values: state("assigned", "unassigned")},
		{name: "worker_slots", labels: []string{"worker", "state"}, values: state("assigned", "unassigned")},
		{name: "worker_assigned_slots", labels: []string{"worker"}},
		{name: "worker_dynamic_slot", labels: []string{"worker"}},
		{name: "worker_cpu_ratio", labels: []string{"worker"}},
		{name: "worker_memory_ratio", labels: []string{"worker"}},
		{name: "worker_processors", labels: []string{"worker"}},
		{name: "worker_cpu_cores", labels: []string{"worker", "state"}, values: state("total", "available")},
		{name: "worker_heap_bytes", labels: []string{"worker", "state"}, values: state("total", "available")},
		{name: "worker_running_jobs", labels: []string{"worker"}},
		{name: "worker_sample_age_seconds", labels: []string{"worker"}},
		{name: "jobs", labels: []string{"status"}, values: map[string][]string{
			"status": {"running", "pending", "finished", "failed", "canceled"},
		}},
		{name: "pending_jobs"},
		{name: "pending_job_oldest_seconds"},
		{name: "pending_slots"},
		{name: "pending_head_lacking_slots"},
		{name: "pending_head_required_slots"},
		{name: "pending_head_info", labels: []string{"job_id", "reason"}},
		{name: "resource_rejections_total", counter: true},
		{name: "scrape_duration_seconds"},
		{name: "scrape_errors_total", counter: true, labels: []string{"endpoint"}},
	}
	for i := range s {
		s[i].name = exporterPrefix + s[i].name
		s[i].labels = append(s[i].labels, "cluster")
	}
	return s
}

func telemetrySeries() []series {
	result := func(values ...string) map[string][]string { return map[string][]string{"result": values} }
	member := []string{"cluster", "address"}
	s := []series{
		{name: "cluster_info", labels: []string{"cluster", "hazelcastVersion", "master"}},
		{name: "cluster_time", labels: []string{"cluster", "hazelcastVersion"}},
		{name: "node_count", labels: []string{"cluster"}},
		{name: "node_state", labels: member},
		{name: "job_count", labels: []string{"cluster", "type"}, values: map[string][]string{
			"type": {"canceled", "cancelling", "created", "failed", "failing", "finished", "pending", "running", "scheduled"},
		}},
		{name: "request_slot_operation_total", counter: true, labels: []string{"cluster", "address", "result"}, values: result("success", "no_slot", "failure")},
		{name: "request_slot_operation_last_invocation_latency_ms", labels: member},
		{name: "request_slot_operation_max_invocation_latency_ms", labels: member},
		{name: "report_metrics_operation_total", counter: true, labels: []string{"address", "result"}, values: result("success", "failure", "interrupted")},
		{name: "report_metrics_operation_last_payload_task_count", labels: []string{"address"}},
		{name: "report_metrics_operation_last_invocation_latency_ms", labels: []string{"address"}},
		{name: "report_metrics_operation_max_invocation_latency_ms", labels: []string{"address"}},
	}
	for _, n := range []string{"activeCount", "corePoolSize", "maximumPoolSize", "poolSize", "queueTaskCount"} {
		s = append(s, series{name: "job_thread_pool_" + n, labels: member})
	}
	for _, n := range []string{"completedTask_total", "task_total", "rejection_total"} {
		s = append(s, series{name: "job_thread_pool_" + n, counter: true, labels: member})
	}
	for _, n := range []string{"executedCount", "isShutdown", "isTerminated", "maxPoolSize", "poolSize", "queueRemainingCapacity", "queueSize"} {
		// executedCount only grows, although it is typed as a gauge.
		s = append(s, series{name: "hazelcast_executor_" + n, counter: n == "executedCount", labels: []string{"cluster", "address", "type"}})
	}
	for _, n := range []string{"partitionCount", "activePartition", "isClusterSafe", "isLocalMemberSafe"} {
		s = append(s, series{name: "hazelcast_partition_" + n, labels: member})
	}
	for _, n := range []string{"used", "committed", "max", "init"} {
		s = append(s, series{name: "jvm_memory_bytes_" + n, labels: []string{"area"}, values: map[string][]string{"area": {"heap", "nonheap"}}})
	}
	s = append(s, series{name: "jvm_memory_pool_collection_used_bytes", labels: []string{"pool"}})
	return append(s, series{name: "process_cpu_seconds_total", counter: true})
}

// zetaPrefixes are the beginnings of names that nobody but Zeta or its
// exporter uses; a name that begins so and is not known is a mistake. What
// grows from release to release (engine_state_store_…, …_lifecycle_…) is not
// among them.
func zetaPrefixes() []string {
	return []string{
		exporterPrefix, "job_count", "job_thread_pool_", "request_slot_operation_", "report_metrics_operation_",
		"hazelcast_executor_", "hazelcast_partition_",
	}
}

// looksLikeZeta reports whether a name claims to come from Zeta.
func looksLikeZeta(name string) bool {
	if strings.HasPrefix(name, "seatunnel_autoscaler_") {
		return false
	}
	for _, p := range append(zetaPrefixes(), "seatunnel_", "zeta_") {
		if strings.HasPrefix(strings.ToLower(name), p) {
			return true
		}
	}
	return false
}

func findSeries(all []series, name string) *series {
	if base, ok := strings.CutSuffix(name, "_created"); ok {
		name = base + "_total" // beside each counter, as Java's client writes it
	}
	for i := range all {
		if all[i].name == name {
			return &all[i]
		}
	}
	return nil
}

// nearestSeries is the known name that a wrong one most likely means: one with
// the same words before one with similar letters.
func nearestSeries(all []series, name string) string {
	want := seriesWords(name)
	best, bestScore := "", 0
	for i := range all {
		score := 0
		have := seriesWords(all[i].name)
		for w := range want {
			if have[w] {
				score += 10
			}
		}
		score -= len(have)
		if d := document.Distance(strings.ToLower(name), strings.ToLower(all[i].name)); d <= 3 {
			score += 100 - d
		}
		if score > bestScore {
			best, bestScore = all[i].name, score
		}
	}
	return best
}

// seriesWords are the words of a metric name that carry meaning, in the
// singular.
func seriesWords(name string) map[string]bool {
	words := map[string]bool{}
	for w := range strings.SplitSeq(strings.ToLower(name), "_") {
		switch w = strings.TrimSuffix(w, "s"); w {
		case "", "seatunnel", "zeta", "total":
		default:
			words[w] = true
		}
	}
	return words
}

// selectorName is the metric that a selector asks for, "" if it is not one
// name.
func selectorName(matchers []*labels.Matcher) string {
	for _, m := range matchers {
		if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual {
			return m.Value
		}
	}
	return ""
}
