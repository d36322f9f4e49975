package actuators_test

import (
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// seedVariable replays one run: ZETA_SCALER_FAULT_SEED=123 go test -run TestFaults.
const seedVariable = "ZETA_SCALER_FAULT_SEED"

// TestFaults kills leaders at every durable step and every call, loses and
// delays replies, freezes leaders and lets them wake up, and looks for an action
// that was done twice, lost, left open, or done by the wrong leader.
func TestFaults(t *testing.T) {
	runs := uint64(10500)
	if testing.Short() || underRace {
		runs = 1500
	}
	if v := os.Getenv(seedVariable); v != "" {
		seed, err := strconv.ParseUint(v, 10, 64)
		require.NoError(t, err)
		w := newWorld(seed, false)
		problems := w.run()
		t.Logf("faults: %q\nwrites to the platform: %+v", w.f.log, w.p.done)
		require.Empty(t, problems)
		return
	}
	var faulted, acted, promised atomic.Int64
	t.Run("runs", func(t *testing.T) {
		const shards = 4
		for shard := range uint64(shards) {
			t.Run(strconv.FormatUint(shard, 10), func(t *testing.T) {
				t.Parallel()
				for seed := shard; seed < runs; seed += shards {
					w := newWorld(seed, false)
					problems := w.run()
					require.Empty(t, problems, "%s=%d replays it; faults: %q", seedVariable, seed, w.f.log)
					if len(w.f.log) > 0 {
						faulted.Add(1)
					}
					acted.Add(int64(len(w.p.done)))
					promised.Add(int64(len(w.promises)))
				}
			})
		}
	})
	t.Logf("%d runs, %d with faults, %d acknowledged requests, %d calls carried out", runs, faulted.Load(), promised.Load(), acted.Load())
	require.Greater(t, faulted.Load(), int64(runs/2))
	require.Greater(t, acted.Load(), int64(runs))
	require.Positive(t, promised.Load())
}

// TestFaultsAreFound breaks the executor on purpose: if the write that announces
// a call is not made, the harness must say so.
func TestFaultsAreFound(t *testing.T) {
	for name, sabotage := range map[string]func(*world){
		"the announcing write is not made": func(w *world) { w.store.dropExecuting = true },
		"an older leader is not shut out": func(w *world) {
			// The platform records fences, but nobody claims it.
			if w.p.observes {
				w.act = w.p
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(3000) {
				w := newWorld(seed, false)
				sabotage(w)
				if problems := w.run(); len(problems) > 0 {
					t.Logf("found by seed %d: %s", seed, problems[0])
					return
				}
			}
			require.Fail(t, "the harness found nothing")
		})
	}
}
