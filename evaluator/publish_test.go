package evaluator

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// keeper keeps the evaluations of one tick, as publishers may.
type keeper struct {
	calls [][]scaling.Evaluation
}

func (k *keeper) Publish(_ context.Context, evaluations []scaling.Evaluation, _ []scaling.Scope) {
	k.calls = append(k.calls, evaluations)
}

// TestPublishedStaysAsItWas: what was published is read by API and metrics
// while the next ticks are decided.
func TestPublishedStaysAsItWas(t *testing.T) {
	rs := fixture()
	src := quietCluster(rs)
	src.values["reporting"] = func(_ string, n int64) (float64, bool) { return float64(4 - n%2), true }
	l := newLive(t, src, memory.New(), fixtureConfig(rs, scaling.DefaultBounds()), 1)
	kept := &keeper{}
	l.r.Publishers = append(l.r.Publishers, kept)
	l.tick(t, at(rs, 100))
	require.Equal(t, 4, *kept.calls[0][0].ReportingWorkers)
	before, err := json.Marshal(kept.calls[0])
	require.NoError(t, err)
	l.tick(t, at(rs, 101))
	require.Equal(t, 3, *kept.calls[1][0].ReportingWorkers)
	after, err := json.Marshal(kept.calls[0])
	require.NoError(t, err)
	require.JSONEq(t, string(before), string(after))
}

func TestManyScopesComeInSeveralCalls(t *testing.T) {
	rs := fixture()
	src := quietCluster(rs)
	src.clusters = nil
	for i := range 2*announceAtOnce + 1 {
		src.clusters = append(src.clusters, fmt.Sprintf("c%04d", i))
	}
	l := newLive(t, src, memory.New(), fixtureConfig(rs, scaling.DefaultBounds()), 1)
	kept, board := &keeper{}, NewBoard(1)
	l.r.Publishers = []Publisher{kept, board}
	l.tick(t, at(rs, 100))
	require.Len(t, kept.calls, 3)
	var keys []string
	for _, call := range kept.calls {
		for i := range call {
			require.True(t, call[i].Changed && call[i].NewGeneration, "rendered as it was stored")
			keys = append(keys, call[i].Scope.Key)
		}
	}
	require.Equal(t, src.clusters, keys)
	require.Len(t, board.Evaluations(), len(keys))
	ev, ok := board.Evaluation("c1024")
	require.True(t, ok)
	require.Equal(t, "1-1-c1024", ev.Recommendation.RecommendationID)
	_, ok = board.Evaluation("nobody")
	require.False(t, ok)
}
