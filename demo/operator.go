package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// operatorPause is how long the operator watches after workers have come or
// gone: the default cooldown of an active scope.
const operatorPause = 5 * time.Minute

// operator is somebody who does what the recommendations say: starts workers,
// and stops those that hold no job. It is a Publisher and acts in the loop's
// goroutine.
type operator struct {
	world *world
	note  func(at time.Time, text string)
	// waiting is true while workers that it started have not all registered;
	// quiet is until when it watches.
	waiting bool
	quiet   time.Time
}

// Publish implements evaluator.Publisher.
func (o *operator) Publish(_ context.Context, evaluations []scaling.Evaluation, _ []scaling.Scope) {
	for i := range evaluations {
		o.follow(&evaluations[i].Recommendation)
	}
}

func (o *operator) follow(r *scaling.Recommendation) {
	cluster := o.world.current()
	registered, booting := cluster.Workers()
	at := r.ObservedAt
	if o.waiting && booting == 0 {
		o.waiting, o.quiet = false, at.Add(operatorPause)
	}
	if booting > 0 || at.Before(o.quiet) || r.RecommendedWorkers == nil {
		return
	}
	target := *r.RecommendedWorkers
	switch {
	case r.Action == scaling.ScaleOut && target > registered:
		cluster.AddWorkers(target - registered)
		o.waiting = true
		o.note(at, fmt.Sprintf("the operator starts %s", workers(target-registered)))
	case r.Action == scaling.ScaleInCandidate && target < registered:
		if n := cluster.RemoveIdleWorkers(registered - target); n > 0 {
			o.quiet = at.Add(operatorPause)
			o.note(at, fmt.Sprintf("the operator stops %s without jobs", workers(n)))
		}
	}
}

func workers(n int) string {
	if n == 1 {
		return "1 worker"
	}
	return fmt.Sprintf("%d workers", n)
}
