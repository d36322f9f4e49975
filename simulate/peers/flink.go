package peers

import (
	"math"
	"time"

	"github.com/zeta-scaler/zeta-scaler/simulate"
)

// Defaults of Flink's autoscaler:
// https://nightlies.apache.org/flink/flink-kubernetes-operator-docs-main/docs/operations/configuration/
// (job.autoscaler.*) and .../docs/custom-resource/autoscaler/ ("Autoscaler").
const (
	flinkEvery      = time.Minute      // the operator's reconciliation
	flinkWindow     = 15 * time.Minute // metrics.window
	flinkSettling   = 5 * time.Minute  // stabilization.interval
	flinkTarget     = 0.7              // utilization.target
	flinkBoundary   = 0.3              // between target - 0.3 and target + 0.3 nothing is done
	flinkDownAfter  = time.Hour        // scale-down.interval
	flinkDownFactor = 0.6              // scale-down.max-factor
	flinkUpFactor   = 100_000          // scale-up.max-factor
	flinkCatchUp    = 30 * time.Minute // catch-up.duration
	flinkRestart    = 5 * time.Minute  // restart.time
)

// flink is Flink's autoscaler for one vertex, whose parallelism is the number of
// workers. What a vertex processes are slots: its true processing rate is all of
// its slots (those that it would hold if it was always busy), what comes in are
// the slots that jobs hold, and its backlog are those that they wait for, to be
// caught up with like any demand. With dynamic slots the rates are the CPU's.
type flink struct {
	seen []rates
	// changedAt is when the parallelism last changed; before it has settled nothing
	// is measured.
	changedAt time.Duration
	last      int
	// smaller is what was recommended since scaling down was first wished.
	smaller []wish
}

// rates are one measurement.
type rates struct {
	at       time.Duration
	in, lag  float64
	trueRate float64
}

func newFlink() *flink { return &flink{changedAt: -flinkSettling} }

func (f *flink) Name() string         { return "flink" }
func (f *flink) Every() time.Duration { return flinkEvery }

func (f *flink) Want(v simulate.View) int {
	current := asked(v)
	if current != f.last {
		f.changedAt, f.last, f.seen = v.Now, current, nil
	}
	if current == 0 || v.Workers == 0 {
		return max(1, v.Min)
	}
	if v.Booting > 0 || v.Now-f.changedAt < flinkSettling {
		return current
	}
	f.measure(v)
	mean := f.mean()
	if f.enough(mean) {
		f.smaller = nil
		return current
	}
	want := target(current, capacity(mean.in, mean.lag), mean.trueRate, flinkDownFactor, flinkUpFactor)
	want = within(v, max(1, want))
	if want >= current {
		f.smaller = nil
		return want
	}
	return f.delay(v.Now, current, want)
}

func (f *flink) measure(v simulate.View) {
	r := rates{at: v.Now, in: float64(v.SlotsUsed), lag: float64(v.SlotsWaiting), trueRate: float64(v.Workers * v.SlotsPerWorker)}
	if v.SlotsPerWorker == 0 {
		r = rates{at: v.Now, in: v.CPU * float64(v.Workers), trueRate: float64(v.Workers)}
	}
	for len(f.seen) > 0 && f.seen[0].at <= v.Now-flinkWindow {
		f.seen = f.seen[1:]
	}
	f.seen = append(f.seen, r)
}

// mean is what was measured in the window, on average; the backlog is the last.
func (f *flink) mean() rates {
	var m rates
	for _, r := range f.seen {
		m.in += r.in / float64(len(f.seen))
		m.trueRate += r.trueRate / float64(len(f.seen))
	}
	m.lag = f.seen[len(f.seen)-1].lag
	return m
}

// enough reports whether the utilization is one that nothing is done about.
func (f *flink) enough(m rates) bool {
	utilization := m.in / m.trueRate
	return m.lag == 0 && utilization <= flinkTarget+flinkBoundary-1e-9 && utilization >= flinkTarget-flinkBoundary
}

// capacity is the rate that there shall be: what comes in at the target
// utilization, what piles up while it restarts, and the backlog.
func capacity(in, lag float64) float64 {
	return (in+lag)/flinkTarget + in*flinkRestart.Seconds()/flinkCatchUp.Seconds()
}

// target scales a parallelism by what there shall be over what it can, bounded by
// the factors.
func target(parallelism int, capacity, trueRate, downFactor, upFactor float64) int {
	factor := math.Max(1-downFactor, math.Min(1+upFactor, capacity/trueRate))
	return ceil(factor * float64(parallelism))
}

// delay scales down only when it was wished for the whole interval, to the
// greatest that was recommended in it.
func (f *flink) delay(now time.Duration, current, want int) int {
	f.smaller = append(f.smaller, wish{now, want})
	if now-f.smaller[0].at < flinkDownAfter {
		return current
	}
	for _, w := range f.smaller {
		want = max(want, w.n)
	}
	f.smaller = nil
	return want
}
