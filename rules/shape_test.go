package rules

import (
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

// TestOneSamplePerScope judges expressions for a set with scope_by [cluster].
func TestOneSamplePerScope(t *testing.T) {
	tests := []struct {
		expr string
		want string // "", "drops", or what leaks
	}{
		// As people write them.
		{`max by (cluster) (seatunnel_zeta_workers)`, ""},
		{`count by (cluster) (seatunnel_zeta_worker_sample_age_seconds < 120) or 0 * max by (cluster) (seatunnel_zeta_workers)`, ""},
		{`avg by (cluster) (seatunnel_zeta_worker_cpu_ratio and on (cluster, worker) seatunnel_zeta_worker_sample_age_seconds < 120)`, ""},
		{`sum by (cluster) (seatunnel_zeta_slots{state="assigned"}) / sum by (cluster) (seatunnel_zeta_slots)`, ""},
		{`sum by (cluster, state) (seatunnel_zeta_slots{state="assigned"})`, ""},
		{`sum by (cluster, state) (seatunnel_zeta_slots)`, "state"},
		{`sum by (cluster, state) (seatunnel_zeta_slots{state="a"}) / ignoring (state) sum by (cluster, state) (seatunnel_zeta_slots{state="b"})`, ""},
		{`sum by (cluster) (seatunnel_zeta_worker_cpu_ratio) / on (cluster) group_left () max by (cluster) (seatunnel_zeta_workers)`, ""},
		{`max by (cluster) (seatunnel_zeta_workers) * on (cluster) group_left (version) seatunnel_zeta_info`, ""},
		{`max by (cluster) (a) / on (cluster) sum without (cluster) (b)`, "drops"},
		{`seatunnel_zeta_workers{cluster="prod"}`, ""},
		{`seatunnel_zeta_workers`, ""},
		{`seatunnel_zeta_worker_cpu_ratio`, "worker"},
		{`rate(process_cpu_seconds_total{job="zeta"}[5m])`, ""},
		{`max without (worker, instance) (seatunnel_zeta_worker_cpu_ratio)`, ""},
		{`sum without (cluster) (seatunnel_zeta_workers)`, "drops"},
		{`kube_statefulset_replicas{statefulset="seatunnel-worker"}`, ""},
		{`some_metric`, "bare"},
		{`sum(some_metric)`, "drops"},
		{`sum by (worker) (some_metric)`, "drops"},
		{`sum by (cluster, worker) (some_metric)`, "worker"},
		{`sum by (cluster) (sum by (worker) (some_metric))`, "drops"},
		{`sum by (cluster, worker) (sum by (cluster) (some_metric))`, ""},
		// Functions keep labels.
		{`ceil(max by (cluster) (a) / 2)`, ""},
		{`max_over_time(sum by (cluster) (a)[10m:])`, ""},
		{`clamp_min(-(sum by (cluster) (a)), 0)`, ""},
		{`histogram_quantile(0.9, sum by (cluster, le) (rate(a_bucket[5m])))`, ""},
		{`timestamp(max by (cluster) (a))`, ""},
		{`absent(seatunnel_zeta_workers{cluster="prod"})`, ""},
		{`absent(seatunnel_zeta_workers)`, "drops"},
		{`vector(1)`, "drops"},
		{`vector(scalar(max(a)))`, "drops"},
		{`label_replace(max by (pool) (a), "cluster", "$1", "pool", "(.*)")`, ""},
		{`label_replace(max by (pool) (a), "cluster", "$1", "pool", "(.*)-.*")`, "pool"},
		{`label_replace(max by (pool) (a), "cluster", "c-$1", "pool", "zeta-(.+)")`, ""},
		{`label_replace(max by (pool, x) (a), "cluster", "$1", "pool", "zeta-(.+)")`, "x"},
		{`label_join(sum by (region, name) (a), "cluster", "-", "region", "name")`, ""},
		{`label_join(sum by (region, name) (a), "cluster", "", "region", "name")`, "several"},
		{`label_join(sum by (region, name, x) (a), "cluster", "-", "region", "name")`, "x"},
		{`label_replace(max by (pool) (a), "cluster", "x", "pool", "(.*)")`, "pool"},
		{`cluster:cpu:avg5m`, ""},
		{`1 - avg_over_time(cluster:idle:avg[5m])`, ""},
		{`max by (cluster) (label_replace(a, "cluster", "$1", "pool", "(.*)"))`, ""},
		{`label_join(max(a), "cluster", "-", "x")`, ""},
		{`min by (cluster) (label_replace(sum by (cluster) (a), "r", "1", "", "") or label_replace(sum by (cluster) (b), "r", "2", "", ""))`, ""},
		{`label_replace(sum by (cluster) (a), "r", "1", "", "") or label_replace(sum by (cluster) (b), "r", "2", "", "")`, "r"},
		{`count_values by (cluster) ("v", a)`, "v"},
		// Operators.
		{`sum by (cluster) (a) or vector(0)`, "drops"},
		{`sum by (cluster) (a) or on (cluster) sum by (cluster, pool) (b)`, "pool"},
		{`sum by (cluster) (a) or on () sum by (cluster) (b)`, ""},
		{`sum by (cluster) (a) unless on (cluster) b`, ""},
		{`sum by (cluster) (a) and sum by (cluster) (b)`, ""},
		{`a and sum by (cluster) (b)`, ""},
		{`a and on (cluster) sum by (cluster) (b)`, "bare"},
		{`sum by (cluster) (a) > bool 3`, ""},
		{`3 - sum by (cluster) (a)`, ""},
		{`a / on (cluster) b`, ""},
		{`a / on (cluster, worker) b`, "worker"},
		{`a / on (worker) b`, "drops"},
		{`a * on (worker) group_left (cluster) b`, "bare"},
		{`sum by (worker) (a) * on (worker) group_left (cluster) b`, "worker"},
		{`max by (cluster) (sum by (worker) (a) * on (worker) group_left (cluster) b)`, ""},
		{`b * on (worker) group_right (cluster) sum by (worker) (a)`, "worker"},
		{`sum by (cluster) (a) * ignoring (cluster) sum by (cluster) (b)`, "drops"},
		// topk keeps labels, but as many samples as it is told.
		{`topk by (cluster) (1, a)`, ""},
		{`topk by (cluster) (2, seatunnel_zeta_worker_cpu_ratio)`, "worker"},
		{`bottomk(1, sum by (cluster) (a))`, ""},
		{`max by (cluster) (topk(3, seatunnel_zeta_worker_cpu_ratio))`, ""},
		{`quantile by (cluster) (0.9, a)`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.expr, func(t *testing.T) {
			e, err := parser.NewParser(parser.Options{}).ParseExpr(tt.expr)
			require.NoError(t, err)
			require.Equal(t, tt.want, verdict(e, "cluster"))
		})
	}
}

// TestOneSampleInAll judges expressions for a set with scope_by [].
func TestOneSampleInAll(t *testing.T) {
	for expr, want := range map[string]string{
		`sum(a)`:                              "",
		`sum(a) or vector(0)`:                 "",
		`vector(1)`:                           "",
		`max(node_count) - 1`:                 "",
		`sum by (cluster) (a)`:                "cluster",
		`node_count`:                          "cluster",
		`a`:                                   "bare",
		`absent(a{x="y"})`:                    "",
		`topk(1, a)`:                          "",
		`sum(a) or sum by (b) (c)`:            "b",
		`sum(a) / on () group_left () sum(b)`: "",
	} {
		t.Run(expr, func(t *testing.T) {
			e, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
			require.NoError(t, err)
			require.Equal(t, want, verdict(e))
		})
	}
}

// verdict is what lintSamples makes of an expression.
func verdict(e parser.Expr, scopeBy ...string) string {
	s, scope := shapeOf(e, scopeBy), setOf(scopeBy...)
	extra := s.varying
	if s.keyed {
		extra = s.key
	}
	switch extra = extra.minus(scope); {
	case len(scope.only(s.dropped)) > 0:
		return "drops"
	case len(extra) == 1:
		return extra.names()[0]
	case len(extra) > 1:
		return "several"
	case leak(&s, scope) != "":
		return "bare"
	}
	return ""
}

func TestOneGroup(t *testing.T) {
	for pattern, want := range map[string]bool{
		"(.*)": true, "(.+)": true, "zeta-(.+)": true, "(.+)-prod": true, "a-([^-]+)-b": true,
		".*-(.+)": false, "(.+)-(.+)": false, "(?i)zeta-(.+)": false, "a|(.+)": false, "(": false, "zeta": false,
	} {
		require.Equal(t, want, oneGroup(pattern), pattern)
	}
	for replacement, want := range map[string]bool{
		"$1": true, "${1}": true, "x-$1": true, "$1-x": true, "${1}x": true,
		"$1x": false, "$2": false, "$1$1": false, "x": false, "": false,
	} {
		require.Equal(t, want, keepsGroup(replacement), replacement)
	}
}
