// Package events tells event handlers about decisions and actions. Several
// handlers can listen at once; each has its own bounded queue, so that one that
// is slow, fails or hangs never holds up another, nor the tick that the event
// comes from (spec 4.5).
package events

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Defaults of Options.
const (
	DefaultCapacity     = 10_000
	DefaultTimeout      = 10 * time.Second
	DefaultDrainTimeout = 5 * time.Second
)

// Handler is told one event at a time. An error is logged and counted, and the
// event is not sent again: a handler that has to be sure retries by itself,
// within ctx.
type Handler interface {
	Handle(ctx context.Context, e scaling.Event) error
}

// Options are what a dispatcher is made of; Handlers and Logger are required.
type Options struct {
	// Handlers by the name that they are configured by.
	Handlers map[string]Handler
	// Capacity is how many events wait for each handler, ≥ 1; beyond it the
	// oldest are dropped, because the newest say how things are. It should hold
	// one event of every scope: that is what a start emits.
	Capacity int
	// Timeout bounds one call of a handler.
	Timeout time.Duration
	// DrainTimeout bounds how long Run goes on with what is queued once its
	// context has ended.
	DrainTimeout time.Duration
	Logger       *slog.Logger
	// Registerer gets the counters; nil leaves them out of every page.
	Registerer prometheus.Registerer
}

// Dispatcher passes events on to every handler. It is a publisher of the
// evaluator.
type Dispatcher struct {
	workers []*worker
	drain   time.Duration
}

// New makes a dispatcher. Events are queued from now on and handled while Run
// runs.
func New(o Options) *Dispatcher {
	if o.Capacity <= 0 {
		o.Capacity = DefaultCapacity
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.DrainTimeout <= 0 {
		o.DrainTimeout = DefaultDrainTimeout
	}
	counts := newCounter(o.Registerer)
	d := &Dispatcher{drain: o.DrainTimeout}
	for _, name := range slices.Sorted(maps.Keys(o.Handlers)) {
		d.workers = append(d.workers, newWorker(o.Handlers[name], o, o.Logger.With("handler", name), countsOf(counts, name)))
	}
	return d
}

// Emit queues an event for every handler. It never waits.
func (d *Dispatcher) Emit(e scaling.Event) {
	for _, w := range d.workers {
		w.accept(e)
	}
}

// Publish emits one RecommendedWorkers event for every decision that changed, one
// LimitsChanged event for every scope whose limits did, and one ScopeForgotten
// event for every scope that is gone.
func (d *Dispatcher) Publish(_ context.Context, evaluations []scaling.Evaluation, gone []scaling.Scope) {
	at := time.Now().UTC()
	if len(evaluations) > 0 {
		at = evaluations[0].Tick
	}
	for _, s := range gone {
		d.Emit(forgotten(s, at))
	}
	for i := range evaluations {
		if c := evaluations[i].LimitsChange; c != nil {
			severity := scaling.SeverityOf(scaling.EventLimitsChanged)
			if len(c.Conflicts) > 0 {
				severity = scaling.Warning
			}
			d.Emit(scaling.Event{
				Kind: scaling.EventLimitsChanged, Severity: severity,
				Scope: evaluations[i].Scope, Message: c.String(), At: evaluations[i].Tick,
			})
		}
		if evaluations[i].Changed {
			d.Emit(recommended(evaluations[i]))
		}
	}
}

// recommended takes a copy: the caller's slice is not kept.
func recommended(ev scaling.Evaluation) scaling.Event {
	r := ev.Recommendation
	return scaling.Event{
		Kind: scaling.EventRecommendedWorkers, Severity: scaling.SeverityOf(scaling.EventRecommendedWorkers),
		Scope: ev.Scope, Message: fmt.Sprintf("%s: %s", r.Action, r.Reason), Recommendation: &r, At: ev.Tick,
	}
}

func forgotten(s scaling.Scope, at time.Time) scaling.Event {
	return scaling.Event{
		Kind: scaling.EventScopeForgotten, Severity: scaling.SeverityOf(scaling.EventScopeForgotten), Scope: s, At: at,
		Message: "the scope is forgotten: nothing is decided about it until there is a sample of it, or the configuration lists it",
	}
}

// Run handles events until ctx ends and then what is still queued, for at most
// the drain time-out. A handler that does not return by then is left behind.
func (d *Dispatcher) Run(ctx context.Context) error {
	drainCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var g errgroup.Group
	for _, w := range d.workers {
		g.Go(func() error {
			w.run(ctx, drainCtx)
			return nil
		})
	}
	done := make(chan error, 1)
	go func() { done <- g.Wait() }()
	<-ctx.Done()
	timer := time.NewTimer(d.drain)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		n := 0
		for _, w := range d.workers {
			n += w.queue.Len()
		}
		return fmt.Errorf("event handlers were not done after %s, %s %s lost", d.drain, scaling.Counted(n, "event"), scaling.Plural(n, "is", "are"))
	}
}
