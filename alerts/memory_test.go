package alerts_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/alerts"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// forgetful is a store that takes everything and keeps nothing, so that only
// the notifier's own memory is measured.
type forgetful struct{ state.Store }

func (forgetful) Apply(_ context.Context, _ state.Fence, b state.Batch) ([]uint64, error) {
	return make([]uint64, len(b.Puts)), nil
}

// 10,000 active alerts, of which the newest state of each waits for an
// Alertmanager that hangs, take at most 50 MB beside the evaluations, which
// others hold too.
func TestTenThousandAlertsFitInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a", "hangs"}, func(o *alerts.Options) {
			o.Store, o.DrainTimeout = forgetful{o.Store}, time.Millisecond
		})
		w.ams["hangs"].answer(0, true)
		const n = 10_000
		evaluations := make([]scaling.Evaluation, n)
		for i := range evaluations {
			evaluations[i] = scaleOut(2, scaling.Label{Name: "cluster", Value: fmt.Sprintf("cluster-%05d", i)}, scaling.Label{Name: "env", Value: "production"})
		}
		before := heap()
		for range 5 {
			w.tick(evaluations...)
			w.ams["a"].mu.Lock()
			w.ams["a"].batches, w.ams["a"].raw, w.ams["a"].headers = nil, nil, nil
			w.ams["a"].mu.Unlock()
			time.Sleep(interval)
		}
		after := heap()
		require.GreaterOrEqual(t, w.value("queue_length"), float64(n-256))
		require.Positive(t, int64(after)-int64(before))
		require.LessOrEqual(t, after-before, uint64(50<<20))
		t.Logf("%d active alerts take %.1f MB", n, float64(after-before)/(1<<20))
		runtime.KeepAlive(evaluations)
		w.end()
	})
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
