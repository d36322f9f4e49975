package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/api"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/trouble"
)

// replicas are the addresses of one logical source. All queries go to the
// pinned one until it gives no answer; then one query looks for another that
// does, and all move there. Values of two replicas, which scrape at different
// instants, so never take turns.
type replicas struct {
	all     []*replica
	logger  *slog.Logger
	metrics *replicaMetrics

	pin atomic.Int64 // index into all
	// turn is held by the one call that looks for another replica.
	turn chan struct{}
	// searches counts those that have ended, so that a call that waited for its
	// turn knows that the question was just settled.
	searches atomic.Uint64
}

// replica is one address.
type replica struct {
	// client knows the addresses of the API; Remote reads the replies by itself.
	client api.Client
	// name is the address as it may be shown.
	name string
	// encoding is the Accept-Encoding that it is asked with.
	encoding string
	// getOnly is set once the address refused POST but took GET.
	getOnly atomic.Bool
	health  *health
	contact *contact.Log
}

func newReplicas(all []*replica, logger *slog.Logger, m *replicaMetrics) *replicas {
	for _, r := range all {
		r.health = newHealth(logger.With("url", r.name))
		r.contact = contact.New("prometheus", r.name, nil)
	}
	return &replicas{all: all, logger: logger, metrics: m, turn: make(chan struct{}, 1)}
}

// ask makes a request for what until a replica answers, within the time of ctx.
// An answer may be an error, only one with ErrNoAnswer makes another replica be
// asked.
func (rs *replicas) ask(ctx context.Context, what string, request func(context.Context, *replica) error) error {
	rs.metrics.show(rs)
	pinned := rs.pin.Load()
	err := rs.attempt(ctx, what, rs.all[pinned], len(rs.all) > 1, request)
	if answered(err) || len(rs.all) == 1 || ctx.Err() != nil {
		return err
	}
	return rs.search(ctx, what, pinned, err, request)
}

// search asks the replicas after the failed one in their order and pins the
// first that answers.
func (rs *replicas) search(ctx context.Context, what string, failed int64, cause error, request func(context.Context, *replica) error) error {
	before := rs.searches.Load()
	select {
	case rs.turn <- struct{}{}:
	case <-ctx.Done():
		return cause
	}
	if pinned := rs.pin.Load(); pinned != failed || rs.searches.Load() != before {
		<-rs.turn
		if pinned == failed {
			return cause // the search that just ended found nobody
		}
		return rs.attempt(ctx, what, rs.all[pinned], false, request)
	}
	defer func() {
		rs.searches.Add(1)
		<-rs.turn
	}()
	errs := []error{cause}
	for i := 1; i < len(rs.all) && ctx.Err() == nil; i++ {
		next := (int(failed) + i) % len(rs.all)
		err := rs.attempt(ctx, what, rs.all[next], i < len(rs.all)-1, request)
		if answered(err) {
			rs.move(failed, int64(next))
			return err
		}
		errs = append(errs, err)
	}
	return joined(errs)
}

// move pins another replica.
func (rs *replicas) move(from, to int64) {
	rs.pin.Store(to)
	rs.metrics.moved(rs)
	rs.logger.Warn("switched to another prometheus replica", "url", rs.all[to].name, "previous", rs.all[from].name)
}

// attempt makes one request to one replica. If others could be asked
// afterwards, half of the time that is left is kept for them.
func (rs *replicas) attempt(ctx context.Context, what string, r *replica, keepHalf bool, request func(context.Context, *replica) error) error {
	if deadline, ok := ctx.Deadline(); ok && keepHalf {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	note := r.contact.Begin()
	err := request(ctx, r)
	switch {
	case answered(err):
		r.health.good(what)
		note(nil)
	case reasonOf(err) == reasonCanceled: // says nothing about the replica
	default:
		r.health.bad(what, err)
		note(err)
	}
	return err
}

// answered tells whether the source has spoken, be it with an error.
func answered(err error) bool { return !errors.Is(err, ErrNoAnswer) }

// joined is several failures in one line.
func joined(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return fmt.Errorf("none of %d replicas answers: "+strings.TrimSuffix(strings.Repeat("%w; ", len(errs)), "; "),
		append([]any{len(errs)}, anys(errs)...)...)
}

func anys(errs []error) []any {
	all := make([]any, len(errs))
	for i, err := range errs {
		all[i] = err
	}
	return all
}

// health remembers which queries a replica gives no answer to: one query that
// always times out beside others that do not is one state, not an alternation.
type health struct {
	silent *trouble.State

	mu      sync.Mutex
	failing map[string]time.Time
}

// Limits of health: what is no longer asked is forgotten.
const (
	maxFailing    = 1000
	forgetFailing = 15 * time.Minute
)

func newHealth(logger *slog.Logger) *health {
	return &health{
		silent:  trouble.New(logger, slog.LevelWarn, "prometheus gives no answer", "prometheus answers again"),
		failing: map[string]time.Time{},
	}
}

// bad notes a missing answer.
func (h *health) bad(what string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.failing) < maxFailing {
		h.failing[what] = time.Now()
	}
	h.silent.NoteIf(true, "reason", string(reasonOf(err)), "err", err)
}

// good notes an answer.
func (h *health) good(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.failing) == 0 {
		return
	}
	delete(h.failing, what)
	maps.DeleteFunc(h.failing, func(_ string, since time.Time) bool { return time.Since(since) > forgetFailing })
	h.silent.NoteIf(len(h.failing) > 0)
}

// replicaMetrics show which replica is pinned.
type replicaMetrics struct {
	pinned    *prometheus.GaugeVec
	failovers prometheus.Counter
	once      sync.Once
	mu        sync.Mutex
}

func newReplicaMetrics(reg prometheus.Registerer) (*replicaMetrics, error) {
	m := &replicaMetrics{
		pinned: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "zeta_scaler_prometheus_replica",
			Help: "1 for the Prometheus address that all queries go to, 0 for the others.",
		}, []string{"url"}),
		failovers: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "zeta_scaler_prometheus_failovers_total",
			Help: "How often queries moved to another Prometheus address.",
		}),
	}
	var err error
	if m.pinned, err = register(reg, m.pinned); err != nil {
		return nil, err
	}
	m.failovers, err = register(reg, m.failovers)
	return m, err
}

// show exports the replicas at the first query: after a reload the source that
// took over owns the metric, and one that was only built to be checked does not.
func (m *replicaMetrics) show(rs *replicas) {
	m.once.Do(func() {
		m.pinned.Reset()
		m.export(rs)
	})
}

func (m *replicaMetrics) moved(rs *replicas) {
	m.failovers.Inc()
	m.export(rs)
}

func (m *replicaMetrics) export(rs *replicas) {
	m.mu.Lock()
	defer m.mu.Unlock()
	pinned := int(rs.pin.Load())
	for i, r := range rs.all {
		v := 0.0
		if i == pinned {
			v = 1
		}
		m.pinned.WithLabelValues(r.name).Set(v)
	}
}
