package main

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

// service shows whether zeta-scaler itself is well.
func service() *dashboard.DashboardBuilder {
	return withProcesses(board("service", "Service", "Whether zeta-scaler itself is well: evaluation, queries, alerts that it sends, configuration and the process.")).
		WithPanel(number("Leaders", "Processes that decide: one per installation. None is a standstill.", count, quarter,
			target(`sum(zeta_scaler_leader{`+processes+`})`, "leaders"), below(1, "red"))).
		WithPanel(number("Ticks missed, last hour", "Ticks that were not evaluated in time; they are folded in from a range query.", count, quarter,
			target(`round(sum(increase(seatunnel_autoscaler_ticks_missed_total{`+processes+`}[1h])))`, "missed"), from(1, "orange")).Decimals(0)).
		WithPanel(number("Failed ticks, last hour", "Ticks with a failure of any kind. What failed was unknown at that tick.", count, quarter,
			target(`round(sum(increase(seatunnel_autoscaler_evaluation_failures_total{`+processes+`}[1h])))`, "failed"), from(1, "red")).Decimals(0)).
		WithPanel(number("Configuration loaded", "Processes whose last attempt to load the configuration failed keep the one before.", count, quarter,
			target(`min(zeta_scaler_config_last_reload_successful{`+processes+`})`, "loaded"), below(1, "red"))).
		WithPanel(grid("Processes", "Every process with the version that it runs.", []string{"Value", "branch", "tags"}, nil, now(`zeta_scaler_build_info{`+processes+`}`))).
		WithPanel(states("Who leads", "The process that decides. A gap is a time at which nobody scraped it.", half,
			yesNo("leads", "green", "follows", "blue"), target(`zeta_scaler_leader{`+processes+`}`, "{{instance}}"))).
		WithPanel(states("Depends on", "Whether those that the service depends on gave a good answer when they were asked last.", half,
			yesNo("answers", "green", "no answer", "red"), target(`zeta_scaler_contact_up{`+processes+`}`, "{{instance}} {{kind}} {{name}}"))).
		WithPanel(lines("Ticks", "Ticks evaluated per second, over all rule sets.", rate, half,
			target(`rate(seatunnel_autoscaler_evaluations_total{`+processes+`}[$__rate_interval])`, "{{instance}}")).Min(0)).
		WithPanel(lines("Failures of ticks", "By reason; docs/metrics.md explains each.", rate, half,
			target(`sum by (instance, reason) (rate(seatunnel_autoscaler_evaluation_failures_total{`+processes+`}[$__rate_interval]))`, "{{instance}} {{reason}}")).Min(0)).
		WithPanel(lines("Duration of a tick", "From the queries of one rule set to the publication of its decisions.", seconds, half,
			target(`histogram_quantile(0.5, sum by (instance, le) (rate(seatunnel_autoscaler_evaluation_duration_seconds_bucket{`+processes+`}[$__rate_interval])))`, "{{instance}} p50"),
			target(`histogram_quantile(0.99, sum by (instance, le) (rate(seatunnel_autoscaler_evaluation_duration_seconds_bucket{`+processes+`}[$__rate_interval])))`, "{{instance}} p99")).Min(0)).
		WithPanel(lines("Duration of queries", "PromQL queries, failed ones included.", seconds, half,
			target(`histogram_quantile(0.95, sum by (instance, kind, le) (rate(zeta_scaler_query_duration_seconds_bucket{`+processes+`}[$__rate_interval])))`, "{{instance}} {{kind}} p95")).Min(0)).
		WithPanel(lines("Failed queries", "Queries without an answer, by the reason.", requests, half,
			target(`sum by (instance, kind, reason) (rate(zeta_scaler_query_failures_total{`+processes+`}[$__rate_interval]))`, "{{instance}} {{kind}} {{reason}}")).Min(0)).
		WithPanel(steps("Which Prometheus is asked", "1 for the address that is pinned. It moves when that one fails.", half,
			target(`zeta_scaler_prometheus_replica{`+processes+`}`, "{{instance}} {{url}}")).Max(1)).
		WithRow(dashboard.NewRowBuilder("Alerts and events")).
		WithPanel(lines("Alerts sent", "Alerts that an Alertmanager has taken, and those in requests that failed.", rate, third,
			target(`rate(zeta_scaler_notifications_sent_total{`+processes+`}[$__rate_interval])`, "{{alertmanager}} sent"),
			target(`rate(zeta_scaler_notifications_errors_total{`+processes+`}[$__rate_interval])`, "{{alertmanager}} failed"),
			target(`rate(zeta_scaler_notifications_dropped_total{`+processes+`}[$__rate_interval])`, "{{alertmanager}} dropped")).Min(0)).
		WithPanel(steps("Alerts that wait", "The queue of each Alertmanager.", third,
			target(`zeta_scaler_notifications_queue_length{`+processes+`}`, "{{alertmanager}}"))).
		WithPanel(lines("Events", "By handler and by what became of them.", rate, third,
			target(`sum by (handler, result) (rate(zeta_scaler_events_total{`+processes+`}[$__rate_interval]))`, "{{handler}} {{result}}")).Min(0)).
		WithRow(dashboard.NewRowBuilder("Process")).
		WithPanel(lines("CPU", "Cores that the process keeps busy.", count, third,
			target(`rate(process_cpu_seconds_total{`+processes+`}[$__rate_interval]) * on (instance, job) group_left () zeta_scaler_build_info`, "{{instance}}")).Min(0)).
		WithPanel(lines("Memory", "Memory that the process holds (RSS).", bytes, third,
			target(`process_resident_memory_bytes{`+processes+`} * on (instance, job) group_left () zeta_scaler_build_info`, "{{instance}}")).Min(0)).
		WithPanel(lines("Goroutines", "A number that only grows is a leak.", count, third,
			target(`go_goroutines{`+processes+`} * on (instance, job) group_left () zeta_scaler_build_info`, "{{instance}}")).Min(0))
}
