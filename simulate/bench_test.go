package simulate_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/simulate"
	"github.com/zeta-scaler/zeta-scaler/simulate/peers"
	"github.com/zeta-scaler/zeta-scaler/simulate/workload"
)

// A day of one cluster, scraped every 15 s: under a rule set it has to take less
// than 10 s of one core.
func BenchmarkDay(b *testing.B) {
	day, found := workload.Find("diurnal")
	require.True(b, found)
	auto, _, err := rules.Pack("zeta-auto")
	require.NoError(b, err)
	responsive, _, err := rules.Pack("zeta-responsive")
	require.NoError(b, err)
	for _, c := range []struct {
		name string
		o    simulate.Options
	}{
		{"zeta-auto", simulate.Options{RuleSets: []*rules.RuleSet{auto}}},
		{"zeta-responsive", simulate.Options{RuleSets: []*rules.RuleSet{responsive}}},
		{"model", simulate.Options{Peers: peers.All()[:1]}},
		{"static", simulate.Options{Static: []int{8}}},
		{"bound", simulate.Options{Bound: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				o := c.o
				o.Parallel = 1
				o.Workloads = []*workload.Workload{day.New(1)}
				_, err := simulate.Run(context.Background(), o)
				require.NoError(b, err)
			}
		})
	}
}
