package main

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

// signals shows what the decisions are made of.
func signals() *dashboard.DashboardBuilder {
	return withScopes(board("signals", "Signals", "The inputs of the decisions: their values, and how long their conditions have held against the windows that make them count. Dashed lines are the thresholds that they are compared with (metrics.per_signal).")).
		WithPanel(lines("Progress of scale-out conditions", "For how long a condition has been true without a break, of its window. From 100 % on it counts.", ratio, half,
			target(`seatunnel_autoscaler_signal_held_seconds{direction="scale_out", `+scopes+`}
				/ seatunnel_autoscaler_signal_window_seconds{direction="scale_out", `+scopes+`}`, "{{scope}} {{signal}}")).
			Min(0).Max(2).Thresholds(from(1, "orange")).DataLinks(scopeLink())).
		WithPanel(lines("Progress of scale-in conditions", "The same for scale-in. All of them have to be at 100 % before a scope is a candidate.", ratio, half,
			target(`seatunnel_autoscaler_signal_held_seconds{direction="scale_in", `+scopes+`}
				/ seatunnel_autoscaler_signal_window_seconds{direction="scale_in", `+scopes+`}`, "{{scope}} {{signal}}")).
			Min(0).Max(2).Thresholds(from(1, "blue")).DataLinks(scopeLink())).
		WithPanel(grid("Held against window", "Seconds for which each condition has held, and for how long it has to.", nil,
			map[string]string{"Value #A": "Held (s)", "Value #B": "Window (s)"},
			now(`seatunnel_autoscaler_signal_held_seconds{`+scopes+`}`),
			now(`seatunnel_autoscaler_signal_window_seconds{`+scopes+`}`)).DataLinks(tableLink())).
		WithRow(dashboard.NewRowBuilder("Inputs")).
		WithPanel(dashed(lines("CPU and memory", "Means over the workers with a fresh sample. A gap is a time at which nothing was known.", ratio, half,
			target(`seatunnel_autoscaler_input_avg_cpu{`+scopes+`}`, "{{scope}} CPU"),
			target(`seatunnel_autoscaler_input_avg_memory{`+scopes+`}`, "{{scope}} memory"),
			target(`seatunnel_autoscaler_signal_threshold{signal=~"avg_cpu|avg_memory", `+scopes+`}`, "{{scope}} {{signal}} {{direction}} threshold")), "threshold").Min(0).Max(1).DataLinks(scopeLink())).
		WithPanel(dashed(lines("Slot utilization", "Assigned ÷ configured slots. Absent with dynamic slots, where it would mean nothing. Slots alone never scale.", ratio, half,
			target(`seatunnel_autoscaler_input_slot_utilization{`+scopes+`}`, "{{scope}} ({{slot_mode}})"),
			target(`seatunnel_autoscaler_signal_threshold{signal="slot_utilization", `+scopes+`}`, "{{scope}} {{direction}} threshold")), "threshold").Min(0).Max(1).DataLinks(scopeLink())).
		WithPanel(steps("Jobs that wait, slots that they lack", "Jobs that wait for resources, and the task slots that the first of them lacks.", half,
			target(`seatunnel_autoscaler_input_blocked_jobs{`+scopes+`}`, "{{scope}} waiting jobs"),
			target(`seatunnel_autoscaler_input_unsatisfied_slots{`+scopes+`}`, "{{scope}} unsatisfied slots")).DataLinks(scopeLink())).
		WithPanel(dashed(lines("How long the oldest has waited", "The age of the job that has waited longest; 0 while none waits.", seconds, half,
			target(`seatunnel_autoscaler_input_oldest_blocked_seconds{`+scopes+`}`, "{{scope}}"),
			target(`seatunnel_autoscaler_signal_threshold{signal="oldest_blocked_age", `+scopes+`}`, "{{scope}} {{direction}} threshold")), "threshold").Min(0).DataLinks(scopeLink())).
		WithPanel(lines("Resource rejections", "Jobs that failed for want of resources, in the range that the rule set looks at.", count, half,
			target(`seatunnel_autoscaler_input_resource_rejections{`+scopes+`}`, "{{scope}}")).Min(0).DataLinks(scopeLink())).
		WithPanel(dashed(lines("Every signal", "Every signal of the rule set in its own unit, with its thresholds: choose one scope, and click on a name to see it alone.", count, half,
			target(`seatunnel_autoscaler_signal_value{`+scopes+`}`, "{{scope}} {{signal}} ({{class}})"),
			target(`seatunnel_autoscaler_signal_threshold{`+scopes+`}`, "{{scope}} {{signal}} {{direction}} threshold")), "threshold").DataLinks(scopeLink())).
		WithRow(dashboard.NewRowBuilder("What the exporter sees")).
		WithPanel(states("Zeta answers", "Whether a node of the cluster answered the exporter's last question.", third,
			yesNo("answers", "green", "no answer", "red"), target(`seatunnel_zeta_up`, "{{cluster}}"))).
		WithPanel(steps("Workers and reporting workers", "Registered workers, and those whose load is known.", third,
			target(`max by (cluster) (seatunnel_zeta_workers)`, "{{cluster}} registered"),
			target(`count by (cluster) (min by (cluster, worker) (seatunnel_zeta_worker_sample_age_seconds + (time() - timestamp(seatunnel_zeta_worker_sample_age_seconds))) < 120)`, "{{cluster}} reporting"))).
		WithPanel(lines("Requests to Zeta that failed", "Per endpoint. A failing endpoint costs only its own metrics, and blocks scale-in.", requests, third,
			target(`sum by (cluster, endpoint) (rate(seatunnel_zeta_scrape_errors_total[$__rate_interval]))`, "{{cluster}} {{endpoint}}")).Min(0))
}
