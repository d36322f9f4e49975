package peers

import (
	"time"

	"github.com/zeta-scaler/zeta-scaler/simulate"
)

// Defaults of SeaTunnel's own proposal: https://github.com/apache/seatunnel/pull/12169
// ("Add advisory autoscaling for Zeta engine Slice1") and STIP-37,
// https://github.com/apache/seatunnel/issues/12087.
const (
	upstreamEvery    = 30 * time.Second  // evaluationInterval
	upstreamOutAfter = 300 * time.Second // scaleOutStabilization
	upstreamInAfter  = 600 * time.Second // scaleInStabilization
	upstreamFresh    = 120 * time.Second // maxMetricStaleness, here of a rejection
	upstreamHigh     = 0.8               // CPU, and slots beside a queue: ≥
	upstreamLow      = 0.3               // CPU and slots: <
	upstreamStep     = 1                 // scaleStep
)

// upstream is SeaTunnel's advisory autoscaler. It only recommends, once for each
// time that it begins to fire; here whoever reads it acts upon the state, that is
// at every evaluation while it fires. Heap is left out: what a simulated job
// takes of it says nothing.
type upstream struct {
	// direction is what is pending or fires: 1 out, -1 in, 0 nothing.
	direction int
	since     time.Duration
	firing    bool

	rejected   int
	rejectedAt time.Duration
}

func newUpstream() *upstream { return &upstream{rejectedAt: -upstreamFresh} }

func (u *upstream) Name() string         { return "upstream-level" }
func (u *upstream) Every() time.Duration { return upstreamEvery }

func (u *upstream) Want(v simulate.View) int {
	current := asked(v)
	u.step(v.Now, u.evaluate(v))
	if !u.firing {
		return current
	}
	// recommendedWorkers counts from the workers that have registered; those that
	// boot for the same recommendation are not asked for again.
	if u.direction > 0 {
		return max(current, min(v.Workers+upstreamStep, v.Max))
	}
	return max(current-upstreamStep, v.Min)
}

// evaluate is the order of the rules: shortage, CPU, slots beside a queue, then
// scaling in, which a queue blocks.
func (u *upstream) evaluate(v simulate.View) int {
	if v.RejectedTotal > u.rejected {
		u.rejectedAt = v.Now
	}
	u.rejected = v.RejectedTotal
	shortage := v.JobsWaiting > 0 || v.Now-u.rejectedAt < upstreamFresh && u.rejected > 0
	slots, fixed := 0.0, v.SlotsPerWorker > 0 && v.Workers > 0
	if fixed {
		slots = float64(v.SlotsUsed) / float64(v.Workers*v.SlotsPerWorker)
	}
	switch {
	case shortage, v.CPU >= upstreamHigh, fixed && slots >= upstreamHigh && v.JobsWaiting > 0:
		if v.Workers >= v.Max {
			return 0 // scale_out_blocked_by_max_workers
		}
		return 1
	case v.CPU < upstreamLow && (!fixed || slots < upstreamLow) && v.JobsWaiting == 0 && v.Workers > v.Min:
		return -1
	}
	return 0
}

// step is the state machine: normal, pending for the window, firing while the
// evaluation says the same. The other direction becomes pending only one
// evaluation later.
func (u *upstream) step(now time.Duration, direction int) {
	switch {
	case direction == 0, u.firing && direction != u.direction:
		u.direction, u.firing = 0, false
	case direction != u.direction:
		u.direction, u.since = direction, now
	default:
		window := upstreamOutAfter
		if direction < 0 {
			window = upstreamInAfter
		}
		u.firing = u.firing || now-u.since >= window
	}
}
