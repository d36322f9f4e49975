package evaluator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// truths reads a series of conditions: t, f and u.
func truths(s string) []scaling.Truth {
	out := make([]scaling.Truth, len(s))
	for i, c := range s {
		switch c {
		case 't':
			out[i] = scaling.True
		case 'f':
			out[i] = scaling.False
		}
	}
	return out
}

func TestScaleOutWindows(t *testing.T) {
	type point struct {
		held int64
		full bool
	}
	for _, tc := range []struct {
		name, series string
		w            window
		want         []point
	}{
		{"a bridged tick does not fill a run", "tttut", window{need: 3, gap: 1}, []point{{0, false}, {1, false}, {2, false}, {3, false}, {4, true}}},
		{"each gap is bridged by itself", "tutut", window{need: 3, gap: 1}, []point{{0, false}, {1, false}, {2, false}, {3, false}, {4, true}}},
		{"a longer gap ends the run", "ttuut", window{need: 3, gap: 1}, []point{{0, false}, {1, false}, {2, false}, {0, false}, {0, false}}},
		{"a bridged tick keeps a full run", "ttttuf", window{need: 3, gap: 1}, []point{{0, false}, {1, false}, {2, false}, {3, true}, {4, true}, {0, false}}},
		{"without tolerance any unknown ends the run", "tttut", window{need: 3}, []point{{0, false}, {1, false}, {2, false}, {0, false}, {0, false}}},
		{"no run starts on an unknown tick", "uut", window{need: 0, gap: 1}, []point{{0, false}, {0, false}, {0, true}}},
		{"kept from the false tick on", "ttttfff", window{need: 3, keep: 2}, []point{{0, false}, {1, false}, {2, false}, {3, true}, {0, true}, {0, true}, {0, false}}},
		{"a run that was not full is not kept", "tttff", window{need: 3, keep: 2}, []point{{0, false}, {1, false}, {2, false}, {0, false}, {0, false}}},
		{"an unknown tick starts no keeping", "ttttuf", window{need: 3, keep: 5}, []point{{0, false}, {1, false}, {2, false}, {3, true}, {0, false}, {0, false}}},
		{"a true tick in between starts a new run", "ttttftff", window{need: 3, keep: 3}, []point{{0, false}, {1, false}, {2, false}, {3, true}, {0, true}, {0, true}, {0, true}, {0, false}}},
		{"kept ticks never extend the keeping", "tttt" + "fffff", window{need: 3, keep: 3}, []point{{0, false}, {1, false}, {2, false}, {3, true}, {0, true}, {0, true}, {0, true}, {0, false}, {0, false}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var r run
			for i, truth := range truths(tc.series) {
				r = r.next(truth, int64(i), tc.w)
				require.Equal(t, point{r.heldFor(int64(i)), r.sustained()}, tc.want[i], "tick %d", i)
			}
		})
	}
}

func TestScaleInWindows(t *testing.T) {
	var q quiet
	for i, step := range []struct {
		isTrue, restart bool
		held            int64
		lasted          bool
	}{
		{true, false, 0, false},
		{true, false, 1, false},
		{true, false, 2, true},
		{true, true, 0, false},
		{true, false, 1, false},
		{false, false, 0, false},
		{true, false, 0, false},
	} {
		q = q.next(step.isTrue, step.restart, int64(i))
		require.Equal(t, step.held, q.heldFor(int64(i)), "tick %d", i)
		require.Equal(t, step.lasted, q.lasted(int64(i), 2), "tick %d", i)
	}
}
