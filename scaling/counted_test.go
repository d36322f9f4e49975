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

func TestQuantity(t *testing.T) {
	for _, c := range []struct{ number, unit, want string }{
		{"1", "workers", "1 worker"},
		{"2", "workers", "2 workers"},
		{"0", "slots", "0 slots"},
		{"1.5", "seconds", "1.5 seconds"},
		{"1", "rejections", "1 rejection"},
		{"0.8", "ratio", "0.8"},
		{"1", "", "1"},
		{"1", "ms", "1 ms"},
		{"1", "celsius", "1 celsius"},
	} {
		require.Equal(t, c.want, scaling.Quantity(c.number, c.unit))
	}
}
