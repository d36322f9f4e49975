package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// operatorPause is how long the operator watches after workers have gone.
const operatorPause = 5 * time.Minute

// operator is somebody who stops workers that hold no job when there are too
// many: nothing else may, because removing a worker kills its jobs. It is a
// Publisher and acts in the loop's goroutine.
type operator struct {
	world *world
	note  func(at time.Time, text string)
	// quiet is until when it watches.
	quiet time.Time
}

// Publish implements evaluator.Publisher.
func (o *operator) Publish(_ context.Context, evaluations []scaling.Evaluation, _ []scaling.Scope) {
	for i := range evaluations {
		o.follow(&evaluations[i].Recommendation)
	}
}

func (o *operator) follow(r *scaling.Recommendation) {
	if r.Action != scaling.ScaleInCandidate || r.RecommendedWorkers == nil || r.ObservedAt.Before(o.quiet) {
		return
	}
	cluster := o.world.current()
	registered, booting := cluster.Workers()
	if target := *r.RecommendedWorkers; booting == 0 && target < registered {
		if n := cluster.RemoveIdleWorkers(registered - target); n > 0 {
			o.quiet = r.ObservedAt.Add(operatorPause)
			o.note(r.ObservedAt, fmt.Sprintf("the operator stops %s without jobs", workers(n)))
		}
	}
}

func workers(n int) string { return scaling.Counted(n, "worker") }
