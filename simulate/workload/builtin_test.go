package workload

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestBuiltins(t *testing.T) {
	all := Builtins()
	require.Len(t, all, 25)
	seen := map[string]bool{}
	for _, b := range all {
		t.Run(b.Name, func(t *testing.T) {
			require.False(t, seen[b.Name])
			seen[b.Name] = true
			require.NotEmpty(t, b.Summary)
			w := b.New(1)
			require.NoError(t, w.Check())
			require.Equal(t, b.Name, w.Name)
			require.Equal(t, b.Summary, w.Summary)
			require.GreaterOrEqual(t, w.Length, 8*time.Hour)
			require.LessOrEqual(t, w.Length, 24*time.Hour)
			require.Greater(t, len(w.Jobs), 50)
			require.Equal(t, w, b.New(1), "the same seed makes the same")
			require.NotEqual(t, w.Jobs, b.New(2).Jobs)

			work, most := 0.0, w.Length.Seconds()*float64(w.Conditions.MaxWorkers*w.Conditions.SlotsPerWorker)
			largest := 0
			for _, j := range w.Jobs {
				work += j.Run.Seconds() * float64(j.Slots)
				largest = max(largest, j.Slots)
			}
			require.LessOrEqual(t, largest, w.Conditions.MaxWorkers*w.Conditions.SlotsPerWorker, "a job that can never run")
			require.Less(t, work, 0.6*most, "more than the cluster can do")

			found, ok := Find(b.Name)
			require.True(t, ok)
			require.Equal(t, b.Summary, found.Summary)
		})
	}
	_, ok := Find("unknown")
	require.False(t, ok)
}

// Whatever the seed, a built-in workload can be played.
func TestBuiltinsOfAnySeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SampledFrom(Builtins()).Draw(t, "workload")
		require.NoError(t, b.New(rapid.Uint64().Draw(t, "seed")).Check())
	})
}

// The bounded Pareto distribution has the mean that the comments say, and the share
// that the largest hundredth has of all work.
func TestPareto(t *testing.T) {
	d := newDraw("pareto", 1, 0)
	for _, c := range []struct {
		least, most time.Duration
		alpha       float64
		mean        float64
	}{
		{2 * time.Minute, 6 * time.Hour, 1.5, 334},
		{20 * time.Second, 8 * time.Hour, 0.69, 376},
	} {
		sum, least, most := 0.0, c.most, c.least
		for range 200_000 {
			v := d.pareto(c.least, c.alpha, c.most)
			least, most = min(least, v), max(most, v)
			sum += v.Seconds()
		}
		require.InEpsilon(t, c.mean, sum/200_000, 0.05)
		require.GreaterOrEqual(t, least, c.least-time.Millisecond)
		require.LessOrEqual(t, most, c.most+time.Millisecond)
	}
}
