package file_test

import (
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// BenchmarkApply writes decisions of the usual size, durably: one scope, and
// one tick of a thousand.
func BenchmarkApply(b *testing.B) {
	workers := 4
	value := state.DecisionRecord{
		Epoch: 3, Generation: 12, Row: scaling.RowSteady, LastTick: time.Unix(1700000000, 0).UTC(),
		Recommendation: scaling.Recommendation{
			Action: scaling.NoAction, CurrentWorkers: &workers, RecommendedWorkers: &workers,
			Reason: "nothing asks for a change",
			MetricsSnapshot: map[string]scaling.Measurement{
				"avg_cpu": {Value: scaling.Known(0.5), Unit: "ratio"}, "blocked_jobs": {Value: scaling.Known(0)},
			},
		},
	}
	for _, puts := range []int{1, 1000} {
		b.Run(strconv.Itoa(puts), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "state.db"))
			batch := state.Batch{}
			for i := range puts {
				p, err := state.NewPut(state.Decision, "scope-"+strconv.Itoa(i), 0, value)
				require.NoError(b, err)
				batch.Puts = append(batch.Puts, p)
			}
			b.ReportAllocs()
			for b.Loop() {
				versions, err := s.Apply(b.Context(), state.NoFence, batch)
				if err != nil {
					b.Fatal(err)
				}
				for i, v := range versions {
					batch.Puts[i].Version = v
				}
			}
		})
	}
}
