package rules

import (
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

func TestRemembers(t *testing.T) {
	for expr, want := range map[string][2]string{ // high, low
		"x":                                   {"0s", "0s"},
		"last_over_time(x[46s])":              {"0s", "0s"},
		"avg_over_time(x[5m])":                {"5m", "5m"},
		"increase(x[5m])":                     {"5m", "5m"},
		"min_over_time(x[5m])":                {"0s", "5m"},
		"max_over_time(x[5m])":                {"5m", "0s"},
		"w - max_over_time(x[5m])":            {"0s", "5m"},
		"w - ceil(max_over_time(x[5m]) / 2)":  {"0s", "5m"},
		"-max_over_time(x[5m])":               {"0s", "5m"},
		"1 / max_over_time(x[5m])":            {"0s", "5m"},
		"max_over_time(x[5m]) / 2":            {"5m", "0s"},
		"count(max_over_time(x[5m]))":         {"5m", "5m"},
		"sum(min_over_time(x[5m]))":           {"0s", "5m"},
		"y and min_over_time(x[5m])":          {"5m", "5m"},
		"min_over_time(x[5m]) and y":          {"0s", "5m"},
		"y or min_over_time(x[5m])":           {"0s", "5m"},
		"max_over_time((sum(x))[5m:15s])":     {"5m", "0s"},
		"max_over_time(rate(x[2m])[5m:15s])":  {"7m", "2m"},
		"last_over_time(rate(x[2m])[5m:15s])": {"2m", "2m"},
		"quantile_over_time(0.9, x[5m])":      {"5m", "5m"},
		"clamp_max(min_over_time(x[5m]), 1)":  {"0s", "5m"},
		"abs(min_over_time(x[5m]))":           {"5m", "5m"},
		"min_over_time(x[5m]) > 1":            {"5m", "5m"},
	} {
		e, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
		require.NoError(t, err, expr)
		for i, of := range []side{high, low} {
			d, err := model.ParseDuration(want[i])
			require.NoError(t, err)
			require.Equal(t, time.Duration(d), remembers(e, of), "%s, side %d", expr, of)
		}
	}
}
