// Package acting holds what those have in common who act for the leader, the
// executor and the drainer: what they are made of, the scopes that they look after,
// and how long they wait after a failure.
package acting

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zeta-scaler/zeta-scaler/backoff"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// Clock is the only notion of time, so that tests and the demo can drive it.
type Clock interface {
	Now() time.Time
	// WaitUntil returns nil once Now is not before t, or ctx's error.
	WaitUntil(ctx context.Context, t time.Time) error
}

// Options are what an executor or a drainer needs. Store, Clock and Epoch have no
// default.
type Options struct {
	Store state.Store
	Clock Clock
	// Epoch is that of this leader, ≥ 1.
	Epoch uint64
	// Leads is asked before every step; an error says that this process leads no
	// longer, and nothing is done. It must be quick. Nil: always.
	Leads func() error
	// Emit is told every step after it was stored; it must not block.
	Emit func(scaling.Event)
	// Logger is silent if nil.
	Logger *slog.Logger
	// Registerer may be nil.
	Registerer prometheus.Registerer
	// Rand draws from [0, 1) for jitter; nil: the runtime's.
	Rand func() float64
}

// WithDefaults fills in what is not set. It fails if something is missing that has
// no default; who names whose options they are, such as "an executor".
func (o Options) WithDefaults(who string) (Options, error) {
	if o.Store == nil || o.Clock == nil || o.Epoch == 0 {
		return o, fmt.Errorf("%s needs a store, a clock and an epoch of at least 1", who)
	}
	if o.Leads == nil {
		o.Leads = func() error { return nil }
	}
	if o.Emit == nil {
		o.Emit = func(scaling.Event) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	return o, nil
}

// Now is the clock's time in UTC.
func (o *Options) Now() time.Time { return o.Clock.Now().UTC() }

const (
	// AnswerTimeout bounds the write of an answer, which is made even when the
	// process is told to stop: what is known is not to be found out again.
	AnswerTimeout = 10 * time.Second
	// CallTimeout bounds one request to somebody who has no time-out of his own.
	CallTimeout = 30 * time.Second

	firstRetry = time.Second
	// LastRetry is the longest wait before a request that failed is made again.
	LastRetry = 30 * time.Second
	// maxHold is where the doubling of Hold ends.
	maxHold = 30 * time.Minute
)

// Retry is the wait after a request has failed n times in a row, n ≥ 1: 1 s, and
// twice as long with each further one up to LastRetry, less a half of it at most by
// what was drawn from [0, 1).
func Retry(n int, drawn float64) time.Duration {
	return backoff.Shortened(backoff.Doubled(firstRetry, n, LastRetry), drawn)
}

// Hold is how long the nth failure of a scope in a row holds what is done there
// next: base, and twice as long with each further one up to 30 min, unless base is
// more than that.
func Hold(base time.Duration, n int) time.Duration {
	return backoff.Doubled(base, n, max(maxHold, base))
}
