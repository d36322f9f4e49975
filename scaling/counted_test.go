package scaling_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func TestCounted(t *testing.T) {
	for n, want := range map[int]string{0: "0 workers", 1: "1 worker", 2: "2 workers", -1: "-1 workers"} {
		require.Equal(t, want, scaling.Counted(n, "worker"))
	}
	require.Equal(t, "is", scaling.Plural(1, "is", "are"))
	require.Equal(t, "are", scaling.Plural(uint64(0), "is", "are"))
}
