package peers

import (
	"time"

	"github.com/zeta-scaler/zeta-scaler/simulate"
)

// Defaults of the HorizontalPodAutoscaler:
// https://kubernetes.io/docs/concepts/workloads/autoscaling/horizontal-pod-autoscale/
// ("Horizontal Pod Autoscaling": "Algorithm details", "Default behavior").
const (
	hpaSync      = 15 * time.Second  // --horizontal-pod-autoscaler-sync-period
	hpaTolerance = 0.1               // --horizontal-pod-autoscaler-tolerance
	hpaDownFor   = 300 * time.Second // behavior.scaleDown.stabilizationWindowSeconds
	hpaUpFor     = 0 * time.Second   // behavior.scaleUp.stabilizationWindowSeconds
	cpuTarget    = 0.8               // targetCPUUtilizationPercentage
)

// policy bounds how much is changed within a period: by a number of replicas, or
// by a part of those at its beginning.
type policy struct {
	pods    int
	percent float64
	period  time.Duration
}

// direction is behavior.scaleUp or behavior.scaleDown; of several policies the
// one that allows most counts (selectPolicy Max).
type direction struct {
	window   time.Duration
	policies []policy
}

// event is a change that was made.
type event struct {
	at    time.Duration
	delta int
}

// wish is what a formula said at some time.
type wish struct {
	at time.Duration
	n  int
}

// hpa is the HorizontalPodAutoscaler (autoscaling/v2) with one external metric of
// target type AverageValue; with dynamic slots, where there is no number of slots
// to divide by, with the CPU's average utilization.
type hpa struct {
	name string
	// metric is the external metric in slots; its target is as many as a worker has.
	metric   func(simulate.View) float64
	up, down direction

	events []event
	wishes []wish
}

func newHPA(name string, metric func(simulate.View) float64) *hpa {
	return &hpa{
		name: name, metric: metric,
		up:   direction{hpaUpFor, []policy{{pods: 4, period: 15 * time.Second}, {percent: 100, period: 15 * time.Second}}},
		down: direction{hpaDownFor, []policy{{percent: 100, period: 15 * time.Second}}},
	}
}

func (h *hpa) Name() string         { return h.name }
func (h *hpa) Every() time.Duration { return hpaSync }

func (h *hpa) Want(v simulate.View) int {
	current := asked(v)
	if current == 0 {
		return max(1, v.Min) // without the gate HPAScaleToZero there is always one
	}
	want := h.limit(v.Now, current, h.stabilize(v.Now, current, within(v, h.desired(v))))
	if want = max(1, within(v, want)); want != current {
		h.events = append(h.events, event{v.Now, want - current})
	}
	return want
}

// desired is the formula. For a target AverageValue the ratio is that of the whole
// metric to what the replicas that there are should have.
func (h *hpa) desired(v simulate.View) int {
	if v.SlotsPerWorker == 0 {
		return average(v.Workers, v.Booting, v.CPU, cpuTarget)
	}
	return external(asked(v), h.metric(v), float64(v.SlotsPerWorker))
}

// external is the rule for an external metric with a target for the average: none
// while it is within the tolerance.
func external(current int, metric, target float64) int {
	if near(metric / (target * float64(current))) {
		return current
	}
	return ceil(metric / target)
}

// average is ceil(replicas × value ÷ target) over those that are ready. Where that
// would be more than there are, those that start count, too, as if they used nothing.
func average(ready, starting int, value, target float64) int {
	current := ready + starting
	ratio := value / target
	switch {
	case ready == 0:
		return current
	case ratio > 1 && starting > 0:
		all := ratio * float64(ready) / float64(current)
		if all < 1 || near(all) {
			return current
		}
	case near(ratio):
		return current
	}
	return ceil(float64(ready) * ratio)
}

// near includes both edges, as Kubernetes does since tolerances can be set for each
// direction (1.33).
func near(ratio float64) bool { return 1-hpaTolerance <= ratio && ratio <= 1+hpaTolerance }

// stabilize takes the most careful of what was wished within the windows: going
// down the greatest, going up the least.
func (h *hpa) stabilize(now time.Duration, current, desired int) int {
	h.wishes = append(since(h.wishes, now-max(h.up.window, h.down.window)), wish{now, desired})
	low, high := desired, desired
	for _, w := range h.wishes {
		if now-w.at < h.up.window {
			low = min(low, w.n)
		}
		if now-w.at < h.down.window {
			high = max(high, w.n)
		}
	}
	return max(min(current, high), low)
}

// since drops the wishes before an instant.
func since(ws []wish, at time.Duration) []wish {
	for len(ws) > 0 && ws[0].at < at {
		ws = ws[1:]
	}
	return ws
}

// limit lets the policies bound the change.
func (h *hpa) limit(now time.Duration, current, desired int) int {
	switch {
	case desired > current:
		most := current
		for _, p := range h.up.policies {
			start := float64(current - h.changed(now, p.period, 1))
			if p.pods > 0 {
				most = max(most, int(start)+p.pods)
			} else {
				most = max(most, ceil(start*(1+p.percent/100)))
			}
		}
		return min(desired, most)
	case desired < current:
		least := current
		for _, p := range h.down.policies {
			start := float64(current + h.changed(now, p.period, -1))
			if p.pods > 0 {
				least = min(least, int(start)-p.pods)
			} else {
				least = min(least, int(start*(1-p.percent/100)))
			}
		}
		return max(desired, least)
	}
	return current
}

// changed is how many replicas were added, or with sign -1 removed, within a
// period.
func (h *hpa) changed(now, period time.Duration, sign int) int {
	n := 0
	for _, e := range h.events {
		if now-e.at < period {
			n += max(0, sign*e.delta)
		}
	}
	return n
}
