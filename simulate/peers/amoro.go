package peers

import (
	"time"

	"github.com/zeta-scaler/zeta-scaler/simulate"
)

// Defaults of Amoro's dynamic allocation: AIP-5, "Dynamic Resource Allocation for
// Optimizer" (https://cwiki.apache.org/confluence/display/AMORO/AIP-5%3A+Dynamic+Resource+Allocation+for+Optimizer),
// with pull requests https://github.com/apache/amoro/pull/4272 and /4296.
const (
	amoroBacklog   = time.Minute      // scheduler-backlog-timeout
	amoroSustained = 30 * time.Second // sustained-backlog-timeout, and how often it looks
	amoroIdle      = 5 * time.Minute  // executor-idle-timeout
	amoroCooldown  = time.Minute      // scale-down-cooldown
)

// amoro is Amoro's scale keeper: an optimizer instance is a worker, its threads
// (executor-parallelism) are the worker's slots. A backlog of a minute begins a
// ramp 1, 2, 4 …; without demand the optimizer that has been idle longest goes,
// one a round, a minute apart.
type amoro struct {
	backlogSince time.Duration // -1: none
	nextAllowed  time.Duration // -1: not yet in the ramp
	ramp         int
	lastRemoval  time.Duration
}

func newAmoro() *amoro {
	return &amoro{backlogSince: -1, nextAllowed: -1, ramp: 1, lastRemoval: -amoroCooldown}
}

func (a *amoro) Name() string         { return "amoro" }
func (a *amoro) Every() time.Duration { return amoroSustained }

func (a *amoro) Want(v simulate.View) int {
	current := asked(v)
	if v.SlotsPerWorker == 0 {
		return current // no task ever waits for a thread
	}
	add, demand := a.scaleUp(v, current)
	if add > 0 || demand {
		return current + add
	}
	if current > v.Min && v.Now-a.lastRemoval >= amoroCooldown && idleFor(v, amoroIdle.Seconds()) > 0 {
		a.lastRemoval = v.Now
		return current - 1
	}
	return current
}

// scaleUp is computeScaleUp: how many instances to add, and whether there is
// demand at all.
func (a *amoro) scaleUp(v simulate.View, current int) (add int, demand bool) {
	threads := v.SlotsPerWorker
	allowed := max(0, v.Max-current)
	if current < v.Min {
		a.reset()
		return min(v.Min-current, allowed), true
	}
	need := max(v.SlotsUsed+v.SlotsWaiting-current*threads, 0)
	if need == 0 && v.SlotsWaiting == 0 {
		a.reset()
		return 0, false
	}
	if a.backlogSince < 0 {
		a.backlogSince, a.nextAllowed = v.Now, -1
	}
	gate := a.backlogSince + amoroBacklog
	if a.nextAllowed >= 0 {
		gate = a.nextAllowed
	}
	if v.Now < gate {
		return 0, true
	}
	want := ceil(float64(need) / float64(threads))
	if add = min(want, a.ramp, allowed); add <= 0 {
		return 0, true
	}
	if want > a.ramp {
		a.ramp *= 2
	} else {
		a.ramp = 1
	}
	a.nextAllowed = v.Now + amoroSustained
	return add, true
}

func (a *amoro) reset() { a.backlogSince, a.nextAllowed, a.ramp = -1, -1, 1 }
