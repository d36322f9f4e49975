package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/ruletest"
)

// TestPacks runs the tests beside the packs with the real engine.
func TestPacks(t *testing.T) {
	for _, name := range rules.Packs() {
		t.Run(name, func(t *testing.T) {
			content, err := rules.PackTest(name)
			require.NoError(t, err)
			result, err := ruletest.RunContent(t.Context(), "packs/"+name+"_test.yaml", content, ruletest.Options{})
			require.NoError(t, err)
			require.Empty(t, result.Problems)
			require.NotEmpty(t, result.Tests)
			for _, test := range result.Tests {
				require.Empty(t, test.Failures, test.Name)
			}
		})
	}
}
