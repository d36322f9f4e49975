package main

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

// overview says for all scopes what is recommended, and whether that can be trusted.
func overview() *dashboard.DashboardBuilder {
	return withScopes(board("overview", "Overview", "What zeta-scaler recommends, against what runs, and whether its inputs can be trusted. The row of the decision table and the reason are words, which metrics do not carry: follow the link to the page.")).
		WithPanel(number("Scopes that want to grow", "Scopes whose recommendation is above the present number of workers.", count, quarter,
			target(`count(seatunnel_autoscaler_recommended_delta{`+scopes+`} > 0) or vector(0)`, "grow"), from(1, "orange"))).
		WithPanel(number("Scopes that could shrink", "Scopes whose recommendation is below the present number of workers: candidates, nothing is stopped for them by itself.", count, quarter,
			target(`count(seatunnel_autoscaler_recommended_delta{`+scopes+`} < 0) or vector(0)`, "shrink"), from(1, "blue"))).
		WithPanel(number("Scopes without valid metrics", "Scopes for which an input of a safe decision is unknown or stale. They are never scale-in candidates.", count, quarter,
			target(`count(seatunnel_autoscaler_metrics_valid{`+scopes+`} == 0) or vector(0)`, "invalid"), from(1, "red"))).
		WithPanel(number("Scopes at a bound", "Scopes whose recommendation is held back by min_workers or max_workers.", count, quarter,
			target(`count(max without (bound) (seatunnel_autoscaler_limited{`+scopes+`}) == 1) or vector(0)`, "limited"), from(1, "orange"))).
		WithPanel(grid("Scopes now", "One line per scope. Delta is recommended minus current. The link of a line leads to the sentence that says why.",
			nil, map[string]string{
				"Value #A": "Current", "Value #B": "Recommended", "Value #C": "Delta", "Value #D": "Valid", "Value #E": "Paused",
				"Value #F": "Generation",
			},
			now(`seatunnel_autoscaler_current_workers{`+scopes+`}`),
			now(`seatunnel_autoscaler_recommended_workers{`+scopes+`}`),
			now(`seatunnel_autoscaler_recommended_delta{`+scopes+`}`),
			now(`seatunnel_autoscaler_metrics_valid{`+scopes+`}`),
			now(`seatunnel_autoscaler_paused{`+scopes+`}`),
			now(`seatunnel_autoscaler_recommendation_generation{`+scopes+`}`)).
			DataLinks(tableLink())).
		WithPanel(dashed(steps("Target against current", "The recommended number of workers, an absolute target, and the number that is registered at the Zeta master; dashed, the bounds (also those that hold until a time).", half,
			target(`seatunnel_autoscaler_recommended_workers{`+scopes+`}`, "{{scope}} recommended"),
			target(`seatunnel_autoscaler_current_workers{`+scopes+`}`, "{{scope}} current"),
			target(`seatunnel_autoscaler_worker_bound{`+scopes+`}`, "{{scope}} {{bound}} bound")), "bound").DataLinks(scopeLink())).
		WithPanel(states("Validity", "Whether every input that a safe decision needs is known and fresh.", half,
			yesNo("valid", "green", "not valid", "red"),
			target(`seatunnel_autoscaler_metrics_valid{`+scopes+`}`, "{{scope}}")).DataLinks(scopeLink())).
		WithPanel(states("Mode", "What becomes of a recommendation: advisory tells people, webhook and direct act.", half,
			[]word{{"0", "advisory", "blue"}, {"1", "webhook", "purple"}, {"2", "direct", "purple"}},
			target(`seatunnel_autoscaler_mode{`+scopes+`}`, "{{scope}}")).DataLinks(scopeLink())).
		WithPanel(states("Paused", "While a scope is paused it is evaluated, and nothing acts.", half,
			yesNo("paused", "orange", "not paused", "green"),
			target(`seatunnel_autoscaler_paused{`+scopes+`}`, "{{scope}}")).DataLinks(scopeLink())).
		WithPanel(steps("Stale workers", "Registered workers without a fresh sample. A scope with any never shrinks.", half,
			target(`seatunnel_autoscaler_stale_workers{`+scopes+`}`, "{{scope}}")).DataLinks(scopeLink())).
		WithPanel(lines("Age of the decision", "How long ago the newest tick was. It rises from 0 to the interval of the rule set; beyond three intervals the decision must not be acted on.", seconds, half,
			target(`time() - seatunnel_autoscaler_observed_timestamp_seconds{`+scopes+`}`, "{{scope}}")).Min(0).Thresholds(from(90, "red")).DataLinks(scopeLink())).
		WithPanel(lines("Changes of mind per hour", "New recommendations by action. More than four an hour is flapping: look at the Signals dashboard.", count, half,
			target(`sum by (scope, action) (round(increase(seatunnel_autoscaler_recommendations_total{`+scopes+`}[1h])))`, "{{scope}} {{action}}")).
			Min(0).DataLinks(scopeLink())).
		WithPanel(steps("Shadow rule sets", "What rule sets that are only compared would recommend. Empty unless a scope has shadows.", half,
			target(`seatunnel_autoscaler_shadow_recommended_workers{`+scopes+`}`, "{{scope}} {{ruleset}} {{version}}")).DataLinks(scopeLink())).
		WithPanel(grid("Rule sets", "Which rule set decides for which scope. The digest names exactly what ran.", []string{"Value"}, nil,
			now(`seatunnel_autoscaler_ruleset_info{ruleset=~"$ruleset", `+scopes+`}`)))
}
