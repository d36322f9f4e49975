package rules_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/rules"
)

func TestComparisonsThatLeaveNoSample(t *testing.T) {
	const jobs = "max by (cluster) (seatunnel_zeta_pending_jobs)"
	for expr, found := range map[string]bool{
		jobs + " > 0":         true,
		"(" + jobs + " == 1)": true,
		"ceil(" + jobs + ") + (" + jobs + " > 2)":  true,
		"-(" + jobs + " > 0)":                      true,
		"sum by (cluster) (up > 0)":                true,
		"count by (cluster) (up > 0)":              true,
		"(" + jobs + " > 5) or (" + jobs + " < 2)": true,

		jobs + " > bool 0":                                     false,
		"count by (cluster) (up > 0) or 0 * " + jobs:           false,
		"(" + jobs + " > 5) or " + jobs:                        false,
		"avg by (cluster) (seatunnel_zeta_worker_cpu_ratio>0)": false,
		jobs + " and on (cluster) (" + jobs + " > 0)":          false,
		jobs + " unless on (cluster) (" + jobs + " > 0)":       false,
		jobs + " * 2": false,
	} {
		text := strings.Join([]string{
			"format: zeta-scaler/v1", "ruleset: example", "version: 1.0.0", "scope_by: [cluster]", "slot_mode: fixed",
			"workers:",
			"  current: {expr: max by (cluster) (seatunnel_zeta_workers)}",
			"  reporting: {expr: count by (cluster) (seatunnel_zeta_worker_sample_age_seconds < 120)}",
			"signals:",
			"  - {signal: a, class: blocking, expr: '" + expr + "', scale_out: {above: 60, for: 5m}, scale_in: {at_most: 0, for: 10m}}",
			"  - {signal: b, class: saturation, expr: avg by (cluster) (seatunnel_zeta_worker_cpu_ratio), scale_out: {above: 0.8, for: 5m}, scale_in: {below: 0.3, for: 10m}}",
		}, "\n")
		rs, err := rules.Parse("rules.yaml", []byte(text))
		require.NoError(t, err, expr)
		got := slices.ContainsFunc(rules.Lint(rs), func(d document.Diagnostic) bool { return d.Check == rules.CheckFilter })
		require.Equal(t, found, got, expr)
	}
}
