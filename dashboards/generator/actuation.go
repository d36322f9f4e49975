package main

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

// actuation shows what was done about recommendations. Most of it is empty while every scope is advisory.
func actuation() *dashboard.DashboardBuilder {
	return withScopes(board("actuation", "Actuation", "Actions, the rest after them, Alertmanager's webhook and the calls to platforms. While every scope is advisory there are no actions, and these panels are empty or 0.")).
		WithPanel(number("Actions in flight", "Actions that were begun and have not ended.", count, quarter,
			target(`sum(zeta_scaler_actions_in_flight)`, "in flight"), from(1, "blue"))).
		WithPanel(number("Failed, last hour", "Actions that ended as FAILED or UNKNOWN in the last hour.", count, quarter,
			target(`round(sum(increase(zeta_scaler_actions_total{state=~"FAILED|UNKNOWN"}[1h])))`, "failed"), from(1, "red")).Decimals(0)).
		WithPanel(number("Scopes that rest", "Scopes in the cooldown after an action.", count, quarter,
			target(`count(seatunnel_autoscaler_cooldown_remaining_seconds{`+scopes+`} > 0) or vector(0)`, "rest"), plain())).
		WithPanel(number("Paused scopes", "Scopes for which somebody has stopped actions.", count, quarter,
			target(`count(seatunnel_autoscaler_paused{`+scopes+`} == 1) or vector(0)`, "paused"), from(1, "orange"))).
		WithPanel(states("State of the latest action", "The status of each scope's latest action; all are empty without one.", half,
			[]word{{"1", "now", "blue"}, {"0", " ", "transparent"}},
			target(`seatunnel_autoscaler_action_status{`+scopes+`}`, "{{scope}} {{status}}")).DataLinks(scopeLink())).
		WithPanel(lines("Actions that ended, per hour", "How many actions ended, by their last state.", count, half,
			target(`round(sum by (state) (increase(zeta_scaler_actions_total[1h])))`, "{{state}}")).Min(0)).
		WithPanel(lines("Cooldown", "What is left of the rest after an action that converged. A back-off after a failure does not show here.", seconds, half,
			target(`seatunnel_autoscaler_cooldown_remaining_seconds{`+scopes+`}`, "{{scope}}")).Min(0).DataLinks(scopeLink())).
		WithPanel(states("Held back by a bound", "While min_workers or max_workers keeps a recommendation from going further.", half,
			yesNo("held back", "orange", "free", "green"),
			target(`seatunnel_autoscaler_limited{`+scopes+`}`, "{{scope}} {{bound}}")).DataLinks(scopeLink())).
		WithRow(dashboard.NewRowBuilder("Alertmanager's webhook")).
		WithPanel(lines("Requests", "Webhook requests by HTTP status. Alertmanager tries again after 5xx only.", requests, third,
			target(`sum by (code) (rate(zeta_scaler_webhook_requests_total[$__rate_interval]))`, "{{code}}")).Min(0)).
		WithPanel(lines("Alerts", "What became of the alerts in them.", rate, third,
			target(`sum by (result) (rate(zeta_scaler_webhook_alerts_total[$__rate_interval]))`, "{{result}}")).Min(0)).
		WithPanel(lines("Time to answer", "95 of 100 requests were answered faster.", seconds, third,
			target(`histogram_quantile(0.95, sum by (le) (rate(zeta_scaler_webhook_request_duration_seconds_bucket[$__rate_interval])))`, "p95")).Min(0)).
		WithRow(dashboard.NewRowBuilder("Drains")).
		WithPanel(states("State of the drain", "Where a scope's drain stands; nothing where none is under way.", half,
			[]word{{"1", "now", "blue"}},
			target(`seatunnel_autoscaler_drain_state{`+scopes+`}`, "{{scope}} {{state}}")).DataLinks(scopeLink())).
		WithPanel(lines("Drains that ended, per hour", "removed: the worker is gone. called_off: it was no longer asked for. failed: it went back for a failure.", count, half,
			target(`round(sum by (result) (increase(seatunnel_autoscaler_drain_ended_total[1h])))`, "{{result}}")).Min(0)).
		WithPanel(lines("Time that moved jobs did not run", "Half of the jobs, and 95 of 100, were back faster.", seconds, half,
			target(`histogram_quantile(0.5, sum by (le) (increase(seatunnel_autoscaler_drain_job_downtime_seconds_bucket[1h])))`, "p50"),
			target(`histogram_quantile(0.95, sum by (le) (increase(seatunnel_autoscaler_drain_job_downtime_seconds_bucket[1h])))`, "p95")).Min(0)).
		WithPanel(lines("Requests of drains", "Requests to Zeta and to platforms by what was asked and what came of it.", requests, half,
			target(`sum by (verb, result) (rate(seatunnel_autoscaler_drain_requests_total[$__rate_interval]))`, "{{verb}} {{result}}")).Min(0)).
		WithRow(dashboard.NewRowBuilder("Calls to platforms")).
		WithPanel(lines("Calls", "Calls to actuators by what was asked and what came of it.", requests, half,
			target(`sum by (actuator, verb, result) (rate(zeta_scaler_actuator_calls_total[$__rate_interval]))`, "{{actuator}} {{verb}} {{result}}")).Min(0)).
		WithPanel(lines("Duration of calls", "95 of 100 calls took less.", seconds, half,
			target(`histogram_quantile(0.95, sum by (actuator, verb, le) (rate(zeta_scaler_actuator_call_duration_seconds_bucket[$__rate_interval])))`, "{{actuator}} {{verb}} p95")).Min(0))
}
