package harness_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

// A port whose owner does not listen yet looks free, and is not.
func TestNoPortIsHandedOutTwice(t *testing.T) {
	seen := map[int]bool{}
	for range 300 {
		base := harness.FreePorts(t, 3)
		for p := base; p < base+3; p++ {
			require.False(t, seen[p], "port %d", p)
			seen[p] = true
		}
	}
}
