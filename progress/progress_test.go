package progress

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLeft(t *testing.T) {
	require.Equal(t, 30*time.Second, Progress{Done: 50, Total: 100, Elapsed: 30 * time.Second}.Left())
	require.Equal(t, 50*time.Second, Progress{Done: 50, Before: 40, Total: 100, Elapsed: 10 * time.Second}.Left())
	require.Zero(t, Progress{}.Left())
}
