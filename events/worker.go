package events

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zeta-scaler/zeta-scaler/queue"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/trouble"
)

// worker serves one handler.
type worker struct {
	handler Handler
	queue   *queue.Queue[scaling.Event]
	timeout time.Duration
	counts  counts
	// failing is of the handler, dropping of its queue.
	failing, dropping *trouble.State
}

func newWorker(h Handler, o Options, logger *slog.Logger, c counts) *worker {
	return &worker{
		handler: h, queue: queue.New[scaling.Event](o.Capacity, nil), timeout: o.Timeout, counts: c,
		failing:  trouble.New(logger, slog.LevelError, "event handler failed", "event handler works again"),
		dropping: trouble.New(logger, slog.LevelWarn, "event handler is too slow, its oldest events are dropped", "event handler has caught up"),
	}
}

func (w *worker) accept(e scaling.Event) {
	if n := w.queue.Put(e); n > 0 {
		w.counts.dropped.Add(float64(n))
		w.dropping.NoteIf(true, "capacity", w.queue.Limit())
	}
}

// run handles events one by one. drainCtx outlives ctx by the drain time-out.
func (w *worker) run(ctx, drainCtx context.Context) {
	for drainCtx.Err() == nil {
		if next := w.queue.Take(1); len(next) > 0 {
			w.handle(drainCtx, next[0])
			continue
		}
		w.dropping.NoteIf(false)
		select {
		case <-w.queue.Filled():
		case <-ctx.Done():
			if w.queue.Len() == 0 {
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
	w.failing.Note(err, "kind", string(e.Kind), "scope", e.Scope.Key)
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
