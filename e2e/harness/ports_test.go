//go:build unix

package harness_test

import (
	"strconv"
	"strings"
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

// Test binaries run at the same time. What one was given is not given to another
// one, which cannot know that.
func TestNoPortIsHandedOutToTwoTestBinaries(t *testing.T) {
	mine := map[string]bool{}
	for range 300 {
		mine[strconv.Itoa(harness.FreePorts(t, 1))] = true
	}
	out, err := childOf(t, "takes ports")
	require.NoError(t, err)
	theirs := strings.Fields(out)
	require.Greater(t, len(theirs), 300)
	for _, p := range theirs {
		require.False(t, mine[p], "port %s", p)
	}
}
