package simulate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/progress"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/simulate"
	"github.com/zeta-scaler/zeta-scaler/simulate/peers"
	"github.com/zeta-scaler/zeta-scaler/simulate/workload"
)

func pack(t *testing.T, name string) *rules.RuleSet {
	t.Helper()
	rs, _, err := rules.Pack(name)
	require.NoError(t, err)
	return rs
}

// rush is an hour with more work for some minutes than one worker has slots for.
func rush() *workload.Workload {
	w := &workload.Workload{Name: "rush", Length: time.Hour, Conditions: workload.DefaultConditions()}
	for i := range 12 {
		w.Jobs = append(w.Jobs, workload.Job{
			At: 10*time.Minute + time.Duration(i)*20*time.Second, Run: 8 * time.Minute, Slots: 2, Kind: workload.Batch, CPU: 0.1,
		})
	}
	return w
}

func play(t require.TestingT, o simulate.Options) *simulate.Report {
	r, err := simulate.Run(context.Background(), o)
	require.NoError(t, err)
	return r
}

// everything is every kind of controller.
func everything(t *testing.T, w *workload.Workload) simulate.Options {
	return simulate.Options{
		Workloads: []*workload.Workload{w}, Peers: peers.All(), Static: []int{1, 6}, Bound: true,
		RuleSets: []*rules.RuleSet{pack(t, "zeta-auto"), pack(t, "zeta-responsive")},
	}
}

func TestTheSameSeedIsTheSameReport(t *testing.T) {
	written := func(parallel int) string {
		o := everything(t, rush())
		o.Parallel = parallel
		var b bytes.Buffer
		require.NoError(t, json.NewEncoder(&b).Encode(play(t, o)))
		return b.String()
	}
	first := written(1)
	require.Equal(t, first, written(4))
	require.Contains(t, first, `"controller":"zeta-responsive"`)
}

func TestARushIsWaitedForByNobodyWithEnoughWorkers(t *testing.T) {
	r := play(t, everything(t, rush()))
	got := map[string]*simulate.Outcome{}
	for _, out := range r.Workloads[0].Outcomes {
		got[out.Controller] = out
	}
	require.InDelta(t, 0, got["static-6"].WaitMean, 1)
	require.Zero(t, got["static-6"].Actions)
	require.Greater(t, got["static-1"].WaitMean, 600.0)
	require.Greater(t, got["zeta-responsive"].Actions, 1, "it was scaled by the executor")
	require.Less(t, got["zeta-responsive"].WaitMean, got["static-1"].WaitMean)
	require.Zero(t, got["bound"].WaitMean)
	var text bytes.Buffer
	require.NoError(t, r.WriteText(&text))
	require.Contains(t, text.String(), "rush (fixed slots, WAIT)")
}

// anyWorkload draws a small workload under any conditions.
func anyWorkload(t *rapid.T) *workload.Workload {
	w := &workload.Workload{Name: "drawn", Length: time.Duration(rapid.IntRange(10, 60).Draw(t, "minutes")) * time.Minute}
	c := &w.Conditions
	c.SlotsPerWorker = rapid.IntRange(1, 4).Draw(t, "slots")
	c.DynamicSlots = rapid.Bool().Draw(t, "dynamic")
	c.Strategy = rapid.SampledFrom([]workload.Strategy{workload.Wait, workload.Reject}).Draw(t, "strategy")
	c.BootMin = time.Duration(rapid.IntRange(1, 60).Draw(t, "boot")) * time.Second
	c.BootMax = c.BootMin + time.Duration(rapid.IntRange(0, 60).Draw(t, "more"))*time.Second
	c.ScrapeLoss = rapid.SampledFrom([]float64{0, 0.2}).Draw(t, "loss")
	c.HeapGarbage = rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "garbage")
	c.MinWorkers = rapid.IntRange(1, 2).Draw(t, "min")
	c.MaxWorkers = c.MinWorkers + rapid.IntRange(0, 6).Draw(t, "more workers")
	at := time.Duration(0)
	for i := range rapid.IntRange(0, 25).Draw(t, "jobs") {
		at += time.Duration(rapid.IntRange(0, 200).Draw(t, fmt.Sprint("pause", i))) * time.Second
		if at >= w.Length {
			break
		}
		w.Jobs = append(w.Jobs, workload.Job{
			At: at, Run: time.Duration(rapid.IntRange(1, 1200).Draw(t, fmt.Sprint("run", i))) * time.Second,
			Slots: rapid.IntRange(1, 5).Draw(t, fmt.Sprint("needs", i)), CPU: rapid.SampledFrom([]float64{0, 0.1, 0.6}).Draw(t, fmt.Sprint("cpu", i)),
			Kind: rapid.SampledFrom([]workload.Kind{workload.Batch, workload.Batch, workload.Stream}).Draw(t, fmt.Sprint("kind", i)),
		})
	}
	return w
}

// Whoever decides about the number of workers, no job is lost from the books, only
// a killed worker ends one, and nobody beats the bound at its own waiting.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyWorkload(t)
		kill := rapid.Bool().Draw(t, "kill")
		o := simulate.Options{
			Workloads: []*workload.Workload{w}, Peers: peers.All(), Static: []int{w.Conditions.MinWorkers, w.Conditions.MaxWorkers, 9}, Bound: true, KillBusy: kill, Details: true,
			Seed: rapid.Uint64Range(1, 9).Draw(t, "seed"),
		}
		outcomes := play(t, o).Workloads[0].Outcomes
		bound := outcomes[0]
		require.Equal(t, simulate.BoundName, bound.Controller)
		for _, out := range outcomes {
			j := out.Jobs
			require.Equal(t, len(w.Jobs), j.Total, out.Controller)
			require.Equal(t, j.Total, j.Done+j.Running+j.Waiting+j.Rejected+j.Lost+j.Failed, out.Controller)
			require.Len(t, out.Waits, j.Total)
			require.Zero(t, j.Failed)
			if !kill {
				require.Zero(t, j.Lost, out.Controller)
			}
			if w.Conditions.Strategy == workload.Wait && !w.Conditions.DynamicSlots {
				require.Zero(t, j.Rejected, out.Controller)
			}
			require.LessOrEqual(t, out.Use, 1.0)
			require.LessOrEqual(t, out.IdleHours, out.WorkerHours+1e-9)
			require.LessOrEqual(t, out.WaitMean, out.WaitMax+1e-9)
			require.LessOrEqual(t, out.Flaps, out.Actions)
			if w.Conditions.Strategy == workload.Wait && !w.Conditions.DynamicSlots && !kill && out.Controller != "static-9" && enoughCPU(w) {
				require.LessOrEqual(t, bound.WaitMean, out.WaitMean+1e-9, out.Controller)
			}
			// Streams beside batch jobs get their CPU in the bound, though slow ones make nobody wait.
			exact := !slices.ContainsFunc(w.Jobs, func(j workload.Job) bool { return j.Kind == workload.Stream })
			if exact && slices.Equal(out.Waits, bound.Waits) {
				require.GreaterOrEqual(t, out.WorkerHours, bound.WorkerHours-1e-9, out.Controller)
			}
		}
	})
}

// enoughCPU reports whether the most workers have the CPU of all jobs at once. Where
// they have not, the bound slows all jobs alike, and a worker only its own.
func enoughCPU(w *workload.Workload) bool {
	cpu := 0.0
	for i := range w.Jobs {
		cpu += float64(w.Jobs[i].Slots) * w.Jobs[i].CPU
	}
	return cpu <= float64(w.Conditions.MaxWorkers)
}

// Ctrl-C leaves a report of what was played, which says so.
func TestAnInterruptedRunSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := everything(t, rush())
	o.Parallel = 1
	o.Progress = func(p progress.Progress) {
		require.LessOrEqual(t, p.Done, p.Total)
		if p.Where == "rush under flink" {
			cancel()
		}
	}
	r, err := simulate.Run(ctx, o)
	require.ErrorIs(t, err, simulate.ErrStopped)
	require.True(t, r.Partial)
	require.NotNil(t, r.Workloads[0].Outcomes[0])
	require.Nil(t, r.Workloads[0].Outcomes[len(r.Controllers)-1])
	var text bytes.Buffer
	require.NoError(t, r.WriteText(&text))
	require.Contains(t, text.String(), "note: Not everything was played: it was interrupted.")
	require.Regexp(t, `(?m)^rush +0/\d`, text.String(), "one workload, too, leaves its figures")
}

// A job that fits into no number of workers is not waited for for ever.
func TestWhatWouldNotEndIsBounded(t *testing.T) {
	w := rush()
	w.Jobs = append(w.Jobs, workload.Job{At: 50 * time.Minute, Run: time.Minute, Slots: 100, Kind: workload.Batch})
	r := play(t, everything(t, w))
	for _, out := range r.Workloads[0].Outcomes {
		require.True(t, out.Bounded, out.Controller)
		require.LessOrEqual(t, out.Ended, (2 * time.Hour).Seconds())
		require.Equal(t, 1, out.Jobs.Waiting)
	}
	require.Contains(t, r.Notes[0], "job 13 needs 100 slots, and 16 workers have 64")
	require.InDelta(t, got(r, "static-6").WaitMax, got(r, "bound").WaitMax, 1e-9, "it is given up at the same time by everybody")

	w = rush()
	w.Jobs[11].Run = 24 * time.Hour
	r = play(t, everything(t, w))
	require.Contains(t, r.Notes[0], "rush was stopped after 2h under bound, static-1")
}

func got(r *simulate.Report, controller string) *simulate.Outcome {
	for _, out := range r.Workloads[0].Outcomes {
		if out.Controller == controller {
			return out
		}
	}
	return nil
}

// Zeta tries a job that it would reject for half a minute, and so does the bound.
func TestTheBoundRejectsNoSoonerThanZeta(t *testing.T) {
	w := &workload.Workload{Name: "tight", Length: 10 * time.Minute, Conditions: workload.DefaultConditions()}
	w.Conditions.Strategy, w.Conditions.MaxWorkers = workload.Reject, 1
	for _, at := range []time.Duration{0, 40 * time.Second, 70 * time.Second} {
		w.Jobs = append(w.Jobs, workload.Job{At: at, Run: time.Minute, Slots: 4, Kind: workload.Batch})
	}
	r := play(t, simulate.Options{Workloads: []*workload.Workload{w}, Bound: true, Static: []int{1}})
	require.Equal(t, 1, got(r, "static-1").Jobs.Rejected, "the second has slots after 20 s, the third would have after 50")
	require.Equal(t, 1, got(r, "bound").Jobs.Rejected)
	require.InDelta(t, 10, got(r, "bound").WaitMean, 1e-9)
}

// Seed 0 is a seed as any other.
func TestSeedNothingIsASeed(t *testing.T) {
	o := simulate.Options{Workloads: []*workload.Workload{rush()}, Peers: peers.All()[:1]}
	nothing := play(t, o)
	o.Seed = simulate.DefaultSeed
	require.Zero(t, nothing.Seed)
	require.NotEqual(t, nothing.Workloads[0].Outcomes, play(t, o).Workloads[0].Outcomes)
}

// At an interval that no hour is a multiple of it is still said how far it is, and a
// run still stops when it is told to.
func TestOddScrapeIntervalsAreInterrupted(t *testing.T) {
	for _, o := range []simulate.Options{
		{Static: []int{1}}, {Peers: peers.All()[:1]}, {RuleSets: []*rules.RuleSet{pack(t, "zeta-auto")}},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		w := rush()
		w.Length = 30 * time.Hour
		o.Workloads, o.ScrapeInterval = []*workload.Workload{w}, 17*time.Second
		said := 0
		o.Progress = func(progress.Progress) {
			if said++; said == 2 {
				cancel()
			}
		}
		r, err := simulate.Run(ctx, o)
		cancel()
		require.ErrorIs(t, err, simulate.ErrStopped)
		require.True(t, r.Workloads[0].Outcomes[0].Partial)
		require.Less(t, r.Workloads[0].Outcomes[0].Ended, (2 * time.Hour).Seconds())
	}
}

func TestOptionsAreChecked(t *testing.T) {
	other := *pack(t, "zeta-auto")
	other.ScopeBy = []string{"cluster", "pool"}
	long := rush()
	long.Length = simulate.MaxLength + time.Second
	for want, o := range map[string]simulate.Options{
		"no workload is given":              {Bound: true},
		"nothing to compare with":           {Workloads: []*workload.Workload{rush()}},
		"the scrape interval is 1.5s":       {ScrapeInterval: 1500 * time.Millisecond},
		"the scrape interval is 1h0m1s":     {ScrapeInterval: time.Hour + time.Second},
		"a cluster of 0 workers":            {Static: []int{0}},
		"a cluster of 10001 workers":        {Static: []int{10_001}},
		"rule set zeta-auto has scope_by":   {RuleSets: []*rules.RuleSet{&other}},
		"its length is 31d1s, expected at":  {Workloads: []*workload.Workload{long}},
		"workload x: slots per worker is 0": {Workloads: []*workload.Workload{{Name: "x"}}},
		"-1 simulations at once":            {Parallel: -1},
	} {
		_, err := simulate.Run(t.Context(), o)
		require.ErrorContains(t, err, want)
	}
}

// pacer asks for a worker more at its third look, and notes what it was shown.
type pacer struct{ views []simulate.View }

func (p *pacer) Name() string         { return "pacer" }
func (p *pacer) Every() time.Duration { return time.Second }

func (p *pacer) Want(v simulate.View) int {
	p.views = append(p.views, v)
	if len(p.views) == 3 {
		return v.Workers + 1
	}
	return v.Workers + v.Booting
}

// A model is asked at its own pace. It knows its own workers at any time, as their
// platform does, and the jobs from the last scrape that got an answer.
func TestAModelKnowsItsWorkersAndIsAskedAtItsOwnPace(t *testing.T) {
	p := &pacer{}
	w := rush()
	w.Conditions.BootMin, w.Conditions.BootMax = 20*time.Second, 20*time.Second
	w.Conditions.ScrapeLoss = 0.9
	o := simulate.Options{Workloads: []*workload.Workload{w}, Peers: []simulate.Peer{{Name: "pacer", New: func() simulate.Model { return p }}}}
	r := play(t, o)
	require.Equal(t, 1, got(r, "pacer").Actions, "no scrape that is lost gives a worker back")
	first := p.views[0].Now
	require.Equal(t, first+2*time.Second, p.views[2].Now)
	require.Equal(t, simulate.View{Now: p.views[3].Now, Workers: 1, Booting: 1}, seenWorkers(p.views[3]))
	require.Equal(t, simulate.View{Now: first + 22*time.Second, Workers: 2}, seenWorkers(p.views[22]), "it has registered, whatever was scraped")
	require.Len(t, p.views[22].Idle, 2)
}

func seenWorkers(v simulate.View) simulate.View {
	return simulate.View{Now: v.Now, Workers: v.Workers, Booting: v.Booting}
}
