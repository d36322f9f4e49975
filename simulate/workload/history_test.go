package workload

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/zeta"
)

// told is a history of jobs by how they ended.
type told map[zeta.EndedStatus]zeta.EndedJobs

func (h told) Overview(context.Context) (zeta.Overview, error) {
	return zeta.Overview{RunningJobs: zeta.Count{Value: 2, Known: true}}, nil
}

func (h told) EndedJobs(_ context.Context, status zeta.EndedStatus) (zeta.EndedJobs, error) {
	ended, ok := h[status]
	if !ok {
		return ended, errors.New("asking for the " + string(status) + " jobs: status 500")
	}
	return ended, nil
}

func TestFromZeta(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 3, 1, 10, minute, 0, 0, time.UTC) }
	w, notes, err := FromZeta(t.Context(), told{
		zeta.Finished: {Jobs: []zeta.EndedJob{
			{Status: zeta.Finished, Created: at(5), Finished: at(7), Pipelines: 1},
			{Status: zeta.Finished, Created: at(1), Finished: at(1), Pipelines: 2},
		}, Odd: 3, Cut: errors.New("too long")},
		zeta.Canceled: {Jobs: []zeta.EndedJob{{Status: zeta.Canceled, Created: at(3), Finished: at(9), Pipelines: 1}}},
	}, "prod", 3)
	require.NoError(t, err)
	require.NoError(t, w.Check())
	require.Equal(t, []Job{
		{At: 0, Run: time.Second, Slots: 6, Kind: Batch, CPU: 0.1},
		{At: 2 * time.Minute, Run: 6 * time.Minute, Slots: 3, Kind: Stream, CPU: 0.1},
		{At: 4 * time.Minute, Run: 2 * time.Minute, Slots: 3, Kind: Batch, CPU: 0.1},
	}, w.Jobs)
	said := strings.Join(notes, "\n")
	for _, want := range []string{
		"asking for the FAILED jobs: status 500: they are missing", "cut off after 2 jobs: too long", "3 jobs have no time",
		"2 jobs that run or wait now", "from 2026-03-01 10:01:00 to 2026-03-01 10:05:00", "waiting included", "3 for each pipeline", "is guessed",
	} {
		require.Contains(t, said, want)
	}

	_, notes, err = FromZeta(t.Context(), told{
		zeta.Finished: {}, zeta.Canceled: {}, zeta.Failed: {Jobs: []zeta.EndedJob{{Rejected: true}}},
	}, "prod", 2)
	require.ErrorContains(t, err, "reading the history of prod: it has no job that ended")
	require.Contains(t, strings.Join(notes, "\n"), "1 job found no slots: how long it would have run is not known, and it is missing")
	_, _, err = FromZeta(t.Context(), told{}, "prod", 2)
	require.ErrorContains(t, err, "FINISHED jobs: status 500")
	_, _, err = FromZeta(t.Context(), told{}, "prod", 0)
	require.ErrorContains(t, err, "a pipeline needs 0 slots")
}

// answers are series by a word of the expression.
type answers map[string][]float64

func (a answers) Range(_ context.Context, expr string, w source.Window) (source.Matrix, error) {
	for word, values := range a {
		if !strings.Contains(expr, word) {
			continue
		}
		var s source.Series
		for i, v := range values {
			if !math.IsNaN(v) {
				s.Points = append(s.Points, source.Point{T: w.Start.Add(time.Duration(i) * w.Step).UnixMilli(), V: v})
			}
		}
		return source.Matrix{Series: []source.Series{s}}, nil
	}
	return source.Matrix{}, nil
}

func minutes(n int) source.Window {
	start := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	return source.Window{Start: start, End: start.Add(time.Duration(n-1) * time.Minute), Step: time.Minute}
}

func TestFromPrometheus(t *testing.T) {
	none := math.NaN()
	w, notes, err := FromPrometheus(t.Context(), answers{
		`status="running"`:        {1, 3, 3, none, 2, 2, 0},
		`pending_jobs`:            {0, 1, 0, none, 0, 0, 0},
		`status=~`:                {7, 7, 8, none, 9, 5, 7}, // Zeta forgets four
		`slots{cluster="a\"b",st`: {2, 4, 6, none, 4, 4, 0},
	}, `a"b`, minutes(7))
	require.NoError(t, err)
	require.NoError(t, w.Check())
	require.Equal(t, []Job{
		{At: 0, Run: 2 * time.Minute, Slots: 2, Kind: Batch, CPU: 0.1},
		{At: time.Minute, Run: 3 * time.Minute, Slots: 2, Kind: Batch, CPU: 0.1},
		{At: time.Minute, Run: 4 * time.Minute, Slots: 2, Kind: Batch, CPU: 0.1}, // waited for a minute
		{At: 2 * time.Minute, Run: 4 * time.Minute, Slots: 2, Kind: Batch, CPU: 0.1},
	}, w.Jobs)
	said := strings.Join(notes, "\n")
	for _, want := range []string{"4 jobs by the exporter's counts, every 1m0s", "in the order in which they began", "the 2 slots", "1 of 7 steps has no value"} {
		require.Contains(t, said, want)
	}

	_, _, err = FromPrometheus(t.Context(), answers{}, "none", minutes(3))
	require.ErrorContains(t, err, "cluster none: no jobs, or no seatunnel_zeta_jobs of it")
	_, _, err = FromPrometheus(t.Context(), answers{}, "none", minutes(1))
	require.ErrorContains(t, err, "expected 2 to 1000000 steps")
}

// Of a cluster whose jobs all begin at once and that forgets nothing, as many jobs
// are estimated as there were, with the same hours together.
func TestEstimatedJobsTakeAsLongTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const steps = 60
		running, ended := make([]float64, steps), make([]float64, steps)
		n := rapid.IntRange(1, 30).Draw(t, "jobs")
		hours := time.Duration(0)
		for range n {
			from := rapid.IntRange(0, 40).Draw(t, "from")
			to := from + rapid.IntRange(1, 18).Draw(t, "length")
			hours += time.Duration(to-from) * time.Minute
			for i := from; i < steps; i++ {
				if i < to {
					running[i]++
				} else {
					ended[i]++
				}
			}
		}
		w, _, err := FromPrometheus(context.Background(), answers{`status="running"`: running, `status=~`: ended}, "c", minutes(steps))
		require.NoError(t, err)
		require.NoError(t, w.Check())
		require.Len(t, w.Jobs, n)
		got := time.Duration(0)
		for _, j := range w.Jobs {
			got += j.Run
		}
		require.Equal(t, hours, got)
	})
}

// Whatever is in the series, what comes out can be played.
func TestAnySeriesAreSurvived(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]float64{math.NaN(), -1, 0, 1, 2.5, 7, 300, math.Inf(1)})
		draw := func(name string) []float64 { return rapid.SliceOfN(value, 5, 5).Draw(t, name) }
		w, _, err := FromPrometheus(context.Background(), answers{
			`status="running"`: draw("running"), `pending_jobs`: draw("pending"), `status=~`: draw("ended"), `state=`: draw("slots"),
		}, "c", minutes(5))
		if err == nil {
			require.NoError(t, w.Check())
		}
	})
}
