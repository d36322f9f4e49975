package events

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// queue is bounded and gives up the oldest event for a new one.
type queue struct {
	mu     sync.Mutex
	events []scaling.Event
	limit  int
	// filled has a token while there may be something to take.
	filled chan struct{}
}

func newQueue(limit int) *queue { return &queue{limit: limit, filled: make(chan struct{}, 1)} }

// put reports whether an older event had to go.
func (q *queue) put(e scaling.Event) (dropped bool) {
	q.mu.Lock()
	if dropped = len(q.events) == q.limit; dropped {
		q.shift()
	}
	q.events = append(q.events, e)
	q.mu.Unlock()
	select {
	case q.filled <- struct{}{}:
	default:
	}
	return dropped
}

func (q *queue) take() (e scaling.Event, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.events) == 0 {
		return e, false
	}
	return q.shift(), true
}

// shift takes the oldest event and lets go of what it points to.
func (q *queue) shift() scaling.Event {
	e := q.events[0]
	q.events[0] = scaling.Event{}
	q.events = q.events[1:]
	return e
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.events)
}

// worker serves one handler.
type worker struct {
	handler Handler
	queue   *queue
	timeout time.Duration
	logger  *slog.Logger
	counts  counts

	// failing and dropping remember what was logged, so that a log line comes
	// with a change of state and not with every event.
	failing  bool
	dropping atomic.Bool
}

func (w *worker) accept(e scaling.Event) {
	if !w.queue.put(e) {
		return
	}
	w.counts.dropped.Inc()
	if !w.dropping.Swap(true) {
		w.logger.Warn("event handler is too slow, its oldest events are dropped", "capacity", w.queue.limit)
	}
}

// run handles events one by one. drainCtx outlives ctx by the drain time-out.
func (w *worker) run(ctx, drainCtx context.Context) {
	for drainCtx.Err() == nil {
		if e, ok := w.queue.take(); ok {
			w.handle(drainCtx, e)
			continue
		}
		if w.dropping.Swap(false) {
			w.logger.Info("event handler has caught up")
		}
		select {
		case <-w.queue.filled:
		case <-ctx.Done():
			if w.queue.len() == 0 {
				return
			}
		}
	}
}

func (w *worker) handle(ctx context.Context, e scaling.Event) {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	err := call(ctx, w.handler, e)
	if err != nil {
		w.counts.failed.Inc()
	} else {
		w.counts.handled.Inc()
	}
	switch {
	case err != nil && !w.failing:
		w.logger.Error("event handler failed", "kind", string(e.Kind), "scope", e.Scope.Key, "err", err)
	case err == nil && w.failing:
		w.logger.Info("event handler works again")
	}
	w.failing = err != nil
}

// call turns a handler's panic into its error: it must not end the service.
func call(ctx context.Context, h Handler, e scaling.Event) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("handler panicked: %v", p)
		}
	}()
	return h.Handle(ctx, e)
}

// counts are one handler's outcomes.
type counts struct{ handled, failed, dropped prometheus.Counter }

func newCounter(reg prometheus.Registerer) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "zeta_scaler_events_total",
		Help: "Events by handler and by what became of them: handled, failed or dropped.",
	}, []string{"handler", "result"})
	if reg != nil {
		reg.MustRegister(c)
	}
	return c
}

func countsOf(c *prometheus.CounterVec, name string) counts {
	return counts{
		handled: c.WithLabelValues(name, "handled"),
		failed:  c.WithLabelValues(name, "failed"),
		dropped: c.WithLabelValues(name, "dropped"),
	}
}
