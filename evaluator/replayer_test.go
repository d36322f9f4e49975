package evaluator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// TestReplayInPieces: however many ticks are read at once, and wherever a
// replay is saved and goes on in another process, it decides the same.
func TestReplayInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 60
		rs, bounds := drawRules(t), drawBounds(t)
		src := drawStory(t, n).source(rs)
		o := ReplayOptions{
			RuleSet: rs, Start: at(rs, 20), End: at(rs, n-1), WarmUp: 20 * rs.Interval, Align: rapid.IntRange(0, 9).Draw(t, "align"),
			ForgetAfter: time.Duration(rapid.IntRange(0, 10).Draw(t, "forget after")) * rs.Interval,
			Limits:      func(scaling.Scope, time.Time) scaling.Limits { return scaling.Limits{Bounds: bounds} },
		}
		want := inPieces(t, o, src, n, 0)
		size, saved := rapid.IntRange(1, n).Draw(t, "piece"), rapid.IntRange(1, n).Draw(t, "saved after")
		require.Equal(t, want, inPieces(t, o, src, size, saved))
	})
}

// inPieces lists all evaluations of a replay that is saved and resumed after
// some ticks.
func inPieces(t *rapid.T, o ReplayOptions, src Source, size, savedAfter int) []scaling.Evaluation {
	r, err := NewReplayer(o)
	require.NoError(t, err)
	out := []scaling.Evaluation{}
	for !r.Done() {
		require.NoError(t, r.Read(ctxOf(t), ranges{src}, size))
		for r.Next() {
			for _, o := range r.Outcomes() {
				out = append(out, o.Evaluation())
			}
			if savedAfter--; savedAfter != 0 {
				continue
			}
			saved, err := r.Save()
			require.NoError(t, err)
			r, err = NewReplayer(o)
			require.NoError(t, err)
			require.NoError(t, r.Resume(saved))
		}
	}
	folded, all := r.Ticks()
	require.Equal(t, all, folded)
	return out
}
