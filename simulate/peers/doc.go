// Package peers are models of other controllers, each written from its public
// description. None of them is the product: a model has the product's formula and
// its published defaults, is given the numbers that Zeta shows, and drains for
// nothing what it wants to remove. Where a controller knows a unit of its own (a
// pod, an executor, an optimizer), it is a worker here.
package peers

import (
	"math"

	"github.com/zeta-scaler/zeta-scaler/simulate"
)

// All are the models, in the order in which tables show them.
func All() []simulate.Peer {
	return []simulate.Peer{
		{Name: "hpa-queue", Summary: "Kubernetes HPA v2 on the slots that jobs hold and wait for", New: func() simulate.Model { return newHPA("hpa-queue", demanded) }},
		{Name: "hpa-slots", Summary: "Kubernetes HPA v2 on the slots that jobs hold and that the first of the queue lacks", New: func() simulate.Model { return newHPA("hpa-slots", proven) }},
		{Name: "keda-queue", Summary: "KEDA on the slots that jobs hold and wait for, with an HPA beneath", New: func() simulate.Model { return newKEDA() }},
		{Name: "flink", Summary: "Flink's autoscaler: target utilization 0.7 of what it could process", New: func() simulate.Model { return newFlink() }},
		{Name: "spark", Summary: "Spark's dynamic allocation: ramp 1, 2, 4, idle for a minute", New: func() simulate.Model { return newSpark() }},
		{Name: "amoro", Summary: "Amoro's dynamic allocation: ramp after a minute, idle for five", New: func() simulate.Model { return newAmoro() }},
		{Name: "upstream-level", Summary: "SeaTunnel's advisory autoscaler (pull request 12169), acted upon while it fires", New: func() simulate.Model { return newUpstream() }},
	}
}

// demanded are the slots that jobs hold and wait for.
func demanded(v simulate.View) float64 { return float64(v.SlotsUsed + v.SlotsWaiting) }

// proven are the slots that jobs hold or, while a job waits, all that there are and
// those that the first of the queue lacks beside them.
func proven(v simulate.View) float64 {
	if v.HeadLacking > 0 {
		return float64(v.Workers*v.SlotsPerWorker + v.HeadLacking)
	}
	return float64(v.SlotsUsed)
}

// asked are the workers that there are or will be.
func asked(v simulate.View) int { return v.Workers + v.Booting }

// idleFor counts the workers that have had no job for at least so long; the list
// is sorted, the longest first.
func idleFor(v simulate.View, seconds float64) int {
	n := 0
	for _, idle := range v.Idle {
		if idle.Seconds() >= seconds {
			n++
		}
	}
	return n
}

// ceil rounds up, but not for what is only the arithmetic's dust.
func ceil(v float64) int { return int(math.Ceil(v - 1e-9)) }

// within brings a number of workers into the bounds.
func within(v simulate.View, n int) int { return min(max(n, v.Min), v.Max) }
