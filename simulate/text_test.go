package simulate_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/simulate"
)

// A name from a file or a cluster neither moves the cursor of a terminal nor makes up
// a line or a column.
func TestTextHasNoControlCharacters(t *testing.T) {
	out := &simulate.Outcome{}
	r := &simulate.Report{
		Controllers: []simulate.Controller{{Name: "mine\x1b[2J", Kind: simulate.KindRuleSet}},
		Workloads: []simulate.WorkloadReport{
			{Name: "jobs\r\n.csv", Class: "fixed slots, WAIT", Outcomes: []*simulate.Outcome{out}},
			{Name: "more\t.csv", Class: "fixed slots, WAIT", Outcomes: []*simulate.Outcome{out}},
		},
		Notes: []string{"jobs\r\n.csv: \u202eodd"},
	}
	var text strings.Builder
	require.NoError(t, r.WriteText(&text))
	for _, name := range []string{"mine?[2J", "\njobs??.csv ", "\nmore?.csv ", "\nnote: jobs??.csv: ?odd\n"} {
		require.Contains(t, text.String(), name)
	}
	require.NotContains(t, strings.ReplaceAll(text.String(), "\n", ""), "\r")
	require.NotContains(t, text.String(), "\x1b")
	require.Equal(t, "jobs\r\n.csv", r.Workloads[0].Name, "the report itself is as it was")
}
