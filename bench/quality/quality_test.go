package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/simulate"
)

// report has workloads w1, w2 … and, for each controller, mean wait and worker-hours
// of each.
func report(kinds map[string]simulate.Kind, names []string, figures map[string][][2]float64) *simulate.Report {
	r := &simulate.Report{Seed: 1, ScrapeIntervalSeconds: 15}
	for _, name := range names {
		r.Controllers = append(r.Controllers, simulate.Controller{Name: name, Kind: kinds[name]})
	}
	for i := range figures[names[0]] {
		w := simulate.WorkloadReport{Name: string(rune('a' + i)), Jobs: 10}
		for _, name := range names {
			f := figures[name][i]
			w.Outcomes = append(w.Outcomes, &simulate.Outcome{WaitMean: f[0], WorkerHours: f[1]})
		}
		r.Workloads = append(r.Workloads, w)
	}
	return r
}

func TestDuels(t *testing.T) {
	kinds := map[string]simulate.Kind{"bound": simulate.KindBound, "them": simulate.KindPeer, "one": simulate.KindRuleSet, "two": simulate.KindRuleSet}
	r := report(kinds, []string{"bound", "them", "one"}, map[string][][2]float64{
		"bound": {{0, 1}, {0, 1}, {0, 1}, {0, 1}},
		"them":  {{50, 10}, {50, 10}, {50, 10}, {50, 10}},
		"one":   {{20, 8}, {20, 12}, {70, 12}, {49.5, 9}},
	})
	require.Equal(t, duel{better: 2, clearly: 1, worse: 1, of: 4}, fight(r, 2, 1))

	later := report(kinds, []string{"two"}, map[string][][2]float64{"two": {{10, 7}, {10, 7}, {10, 7}, {10, 7}}})
	require.NoError(t, join(r, later))
	var out bytes.Buffer
	write(&out, r)
	require.Equal(t, `
less of both than (clearly) / clearly more of both than, of 4 workloads

| rule set | them | one | two |
|---|--:|--:|--:|
| one | 2 (1) / 1 | | 0 (0) / 4 |
| two | 4 (4) / 0 | 4 (4) / 0 | |
`, out.String())

	again := report(kinds, []string{"two"}, map[string][][2]float64{"two": {{90, 70}, {90, 70}, {90, 70}, {90, 70}}})
	require.NoError(t, join(r, again))
	require.Len(t, r.Controllers, 4, "it takes the other's place")
	require.Equal(t, duel{worse: 4, of: 4}, fight(r, 3, 2))

	other := report(kinds, []string{"two"}, map[string][][2]float64{"two": {{90, 70}}})
	require.ErrorContains(t, join(r, other), "4 workloads, this one 1, 15s and 1")
	again.Workloads[1].Jobs = 11
	require.ErrorContains(t, join(r, again), "workload 2 of the earlier report is b with 10 jobs, this one's is b with 11")
}

func TestWorkloadsByName(t *testing.T) {
	some, err := built("burst,cron", 1)
	require.NoError(t, err)
	require.Len(t, some, 2)
	_, err = built("bur", 1)
	require.ErrorContains(t, err, `no workload of "bur" is built in`)
}
