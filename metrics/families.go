// Package metrics exports what was decided, and how deciding goes, to
// Prometheus: the family seatunnel_autoscaler_* (spec 3.2) and the process'
// own zeta_scaler_*. docs/metrics.md describes every metric.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Namespaces of everything that is exported.
const (
	namespace        = "seatunnel_autoscaler"
	processNamespace = "zeta_scaler"
)

// family is one metric of a scope. The scope's labels are not part of the
// desc: scopes of different rule sets have different ones.
type family struct {
	desc    *prometheus.Desc
	counter bool
}

func gauge(name, help string) family {
	return family{desc: prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, nil, nil)}
}

func counter(name, help string) family {
	f := gauge(name, help)
	f.counter = true
	return f
}

// input is an input metric: the export name of the signal that feeds it, and
// the name of the STIP's signal that feeds it when no signal says so.
type input struct {
	family
	export, signal string
}

// families are all metrics of a scope.
type families struct {
	recommended, current, delta, recommendations family
	actionStatus, cooldown, valid, stale         family
	ineffective                                  family
	generation, epoch, paused, limited           family
	signalValue, signalHeld, signalWindow        family
	signalSustained, signalThreshold             family
	workerBound, mode, observed                  family
	nextAction                                   family
	ruleSet, shadow, disagreements               family
	inputs                                       []input
}

// slotUtilization is the one input that only fixed slots have.
const slotUtilization = "input_slot_utilization"

func newFamilies() families {
	in := func(export, signal, help string) input {
		return input{gauge(export, help), export, signal}
	}
	return families{
		recommended: gauge("recommended_workers",
			"Recommended number of workers, an absolute target; not an HPA metric. Absent while it is unknown."),
		current: gauge("current_workers",
			"Number of workers registered at the Zeta master. Absent while it is unknown."),
		delta: gauge("recommended_delta",
			"Recommended minus current number of workers. Absent while one of them is unknown."),
		recommendations: counter("recommendations_total",
			"New recommendations (generations) by the action that they ask for."),
		actionStatus: gauge("action_status",
			"1 for the status of the scope's latest action, 0 for every other one; all 0 if there was none."),
		cooldown: gauge("cooldown_remaining_seconds",
			"Time until the cooldown after the last converged action ends, 0 if there is none."),
		ineffective: gauge("ineffective",
			"1 while a scale-out is held because the last actions brought workers and changed nothing of what asks for them, else 0."),
		valid: gauge("metrics_valid",
			"1 if every input that a safe decision needs is known and fresh, else 0."),
		stale: gauge("stale_workers",
			"Number of registered workers without a fresh sample. Absent while it is unknown."),
		generation: gauge("recommendation_generation",
			"Generation of the latest recommendation; grows whenever its intent changes."),
		epoch: gauge("master_epoch",
			"Epoch of the zeta-scaler leader that decided; strictly grows over leaders and restarts."),
		paused: gauge("paused",
			"1 while the scope or the whole service is paused, else 0."),
		limited: gauge("limited",
			"1 while the worker bound of that name holds the recommendation back, else 0."),
		signalValue: gauge("signal_value",
			"Latest value of a signal in its own unit. Absent while it is unknown."),
		signalHeld: gauge("signal_held_seconds",
			"For how long the condition of a signal has been true without a break, in tick time."),
		signalWindow: gauge("signal_window_seconds",
			"For how long the condition of a signal has to be true before it counts."),
		signalSustained: gauge("signal_sustained_timestamp_seconds",
			"When the condition of a signal will have been true for its window if nothing changes, in Unix time. Absent while it is not filling."),
		signalThreshold: gauge("signal_threshold",
			"The value that the condition of a signal compares with, in the signal's own unit."),
		observed: gauge("observed_timestamp_seconds",
			"The tick of the newest decision, in Unix time."),
		mode: gauge("mode",
			"What becomes of recommendations: 0 advisory (nothing acts), 1 webhook, 2 direct."),
		nextAction: gauge("next_action_timestamp_seconds",
			"When something else will be recommended if nothing but the time changes, in Unix time, by what that is. Absent if nothing will, or nobody can tell."),
		workerBound: gauge("worker_bound",
			"The least or the greatest number of workers that there may be. Absent for a scope without an upper bound."),
		ruleSet: gauge("ruleset_info",
			"1, labelled with the rule set that decides."),
		shadow: gauge("shadow_recommended_workers",
			"Number of workers that a shadow rule set would recommend; it never acts. Absent while it is unknown."),
		disagreements: counter("shadow_disagreements_total",
			"Ticks, counted per shadow rule set, at which its action or target was not that of the active one."),
		inputs: []input{
			in("input_avg_cpu", "avg_cpu",
				"Mean CPU load of the workers with a fresh sample, as a ratio. Absent while it is unknown."),
			in("input_avg_memory", "avg_memory",
				"Mean memory use of the workers with a fresh sample, as a ratio. Absent while it is unknown."),
			in(slotUtilization, "slot_utilization",
				"Assigned slots as a ratio of all configured ones; fixed slots only. Absent while it is unknown."),
			in("input_blocked_jobs", "blocked_jobs",
				"Number of jobs that wait for resources. Absent while it is unknown."),
			in("input_oldest_blocked_seconds", "oldest_blocked_age",
				"For how long the oldest waiting job has waited. Absent while it is unknown."),
			in("input_unsatisfied_slots", "unsatisfied_slots",
				"Number of task slots that waiting jobs lack. Absent while it is unknown."),
			in("input_resource_rejections", "resource_rejections",
				"Number of resource rejections in the signal's range. Absent while it is unknown."),
		},
	}
}

// InputExports are the names that a signal's export may have.
func InputExports() []string {
	var out []string
	for _, in := range newFamilies().inputs {
		out = append(out, in.export)
	}
	return out
}

// Statuses are the states of an action (spec 4.2), in the order of its life.
func Statuses() []string { return scaling.Names(scaling.ActionStates()) }

// bounds are the values of label bound with the blocker that each stands for.
var bounds = [...]struct{ label, blocker string }{
	{"min", scaling.BlockerMinWorkers},
	{"max", scaling.BlockerMaxWorkers},
}

// ReservedLabels are the label names of the family itself, which a rule set's
// scope_by cannot use.
func ReservedLabels() []string { return reserved[:] }
