package simulate

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/simulate/workload"
)

// Of many jobs the bound takes long, too, and has to stop when it is told to.
func TestTheBoundIsInterrupted(t *testing.T) {
	w := &workload.Workload{Name: "long", Length: time.Hour, Conditions: workload.DefaultConditions()}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out, err := computeBound(ctx, &Options{}, w)
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, out.Partial)
	require.Zero(t, out.Ended)
}
