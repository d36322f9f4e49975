package kube

import (
	"context"

	"k8s.io/client-go/util/flowcontrol"
)

const (
	// atOnce is how many requests of one budget are under way together.
	atOnce = 8
	// perSecond and burst bound them over time. They are far above what a service
	// with hundreds of scopes needs, and stop a loop that has gone wrong.
	perSecond = 100
	burst     = 1000
)

// Budget bounds the requests of all clients that share it: how many are under
// way at once, and how many are sent over time. Beyond that requests wait.
type Budget struct {
	places chan struct{}
	rate   flowcontrol.RateLimiter
}

// NewBudget makes a budget.
func NewBudget() *Budget {
	return &Budget{places: make(chan struct{}, atOnce), rate: flowcontrol.NewTokenBucketRateLimiter(perSecond, burst)}
}

// take waits for a place; done gives it back.
func (b *Budget) take(ctx context.Context) (done func(), err error) {
	if b == nil {
		return func() {}, ctx.Err()
	}
	if err := b.rate.Wait(ctx); err != nil {
		return nil, err //nolint:wrapcheck // the caller says what was waited for
	}
	select {
	case b.places <- struct{}{}:
		return func() { <-b.places }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
