package leadership

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// A process that was frozen asks before any of its goroutines could renew the
// lease or end a context.
func TestFrozenProcessKnowsAtOnce(t *testing.T) {
	start := time.Now()
	for name, tc := range map[string]struct {
		now  time.Time
		lost bool
	}{
		"just before the deadline":     {start.Add(10*time.Second - 1), false},
		"at the deadline":              {start.Add(10 * time.Second), true},
		"the monotonic clock went on":  {start.Add(time.Hour), true},
		"only the wall clock went on":  {start.Round(0).Add(time.Hour), true},
		"the wall clock was set back":  {start.Add(time.Second), false},
		"a renewal that took no time":  {start, false},
		"only the wall clock, shortly": {start.Round(0).Add(9 * time.Second), false},
	} {
		t.Run(name, func(t *testing.T) {
			l := &leading{clock: func() time.Time { return tc.now }, deadline: 10 * time.Second, renewed: start}
			if !tc.lost {
				require.NoError(t, l.leads())
				return
			}
			require.ErrorIs(t, l.leads(), state.ErrFenced)
			l.clock = func() time.Time { return start }
			require.ErrorIs(t, l.leads(), state.ErrFenced, "it does not come back")
		})
	}
}
