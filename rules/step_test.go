package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLaterRounds: a pressure that goes on is asked for in rounds by the policies
// that grow in rounds anyway, and by fixed where the rule set says so. The packs
// with the STIP's numbers do not, so that their cooldown stands as it is written.
func TestLaterRounds(t *testing.T) {
	data := page(t, "rule-sets.md")
	text := data[strings.Index(data, "```yaml\nformat:")+len("```yaml\n"):]
	text = text[:strings.Index(text, "```")]
	const step = "step: {policy: fixed, workers: 1}"
	require.Contains(t, text, step)
	for policy, later := range map[string]bool{
		"policy: fixed": false, "policy: fixed, rounds: false": false, "policy: fixed, rounds: true": true,
		"policy: exponential": true, "policy: demand": true, "policy: demand, rounds: false": true,
	} {
		rs, err := Parse("x.yaml", []byte(strings.Replace(text, step, fmt.Sprintf("step: {%s}", policy), 1)))
		require.NoError(t, err)
		require.Equal(t, later, rs.Step.LaterRounds(), policy)
	}
	for name, later := range map[string]bool{"zeta-auto": false, "zeta-fixed-slot": false, "zeta-dynamic-slot": false, "zeta-ample": true, "zeta-responsive": true, "zeta-thrifty": true} {
		rs, _, err := Pack(name)
		require.NoError(t, err)
		require.Equal(t, later, rs.Step.LaterRounds(), name)
	}
}
