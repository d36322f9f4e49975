package evaluator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/evaluator/handclock"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// series is a source whose expressions are names of functions of tick number
// and cluster; NaN-free, absent where ok is false.
type series struct {
	mu       sync.Mutex
	clusters []string
	values   map[string]func(cluster string, n int64) (float64, bool)
	// down is asked before every query.
	down func(at time.Time, isRange bool) error
	// phase is where ticks lie.
	phase time.Duration
	// warn adds a warning to range or instant answers.
	warn   func(expr string, isRange bool) bool
	ranges []source.Window
}

func (s *series) n(t time.Time) int64 {
	return (t.UnixMilli() - s.phase.Milliseconds()) / tickMs
}

func (s *series) at(expr, cluster string, t time.Time) (float64, bool) {
	f := s.values[expr]
	if f == nil {
		return 0, false
	}
	return f(cluster, s.n(t))
}

func (s *series) Instant(_ context.Context, expr string, at time.Time) (source.Vector, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		if err := s.down(at, false); err != nil {
			return source.Vector{}, err
		}
	}
	var v source.Vector
	for _, c := range s.clusters {
		if x, ok := s.at(expr, c, at); ok {
			v.Samples = append(v.Samples, source.Sample{Labels: labels.FromStrings("cluster", c), Value: x})
		}
	}
	if s.warn != nil && s.warn(expr, false) {
		v.Warnings = []string{"partial response"}
	}
	return v, nil
}

func (s *series) Range(_ context.Context, expr string, w source.Window) (source.Matrix, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ranges = append(s.ranges, w)
	if s.down != nil {
		if err := s.down(w.End, true); err != nil {
			return source.Matrix{}, err
		}
	}
	var m source.Matrix
	for _, c := range s.clusters {
		line := source.Series{Labels: labels.FromStrings("cluster", c)}
		for t := w.Start; !t.After(w.End); t = t.Add(w.Step) {
			if x, ok := s.at(expr, c, t); ok {
				line.Points = append(line.Points, source.Point{T: t.UnixMilli(), V: x})
			}
		}
		if len(line.Points) > 0 {
			m.Series = append(m.Series, line)
		}
	}
	if s.warn != nil && s.warn(expr, true) {
		m.Warnings = []string{"partial response"}
	}
	return m, nil
}

// constant is a value that every cluster has at every tick.
func constant(v float64) func(string, int64) (float64, bool) {
	return func(string, int64) (float64, bool) { return v, true }
}

// outcome is what equivalence is about: row, action and target.
type outcome struct {
	row         scaling.RowID
	action      scaling.Action
	target      string
	provisional bool
	generation  uint64
	tick        time.Time
}

func (o outcome) same(p outcome) bool {
	return o.row == p.row && o.action == p.action && o.target == p.target && o.tick.Equal(p.tick)
}

func (o outcome) String() string {
	return fmt.Sprintf("%s %s %s %s", o.tick.Format("15:04:05"), o.row, o.action, o.target)
}

// recorder keeps every published outcome by scope.
type recorder struct {
	ticks chan time.Time
	mu    sync.Mutex
	seen  map[string][]outcome
	last  map[string]scaling.Evaluation
	gone  []string
}

func newRecorder() *recorder {
	return &recorder{ticks: make(chan time.Time, 10000), seen: map[string][]outcome{}, last: map[string]scaling.Evaluation{}}
}

func (r *recorder) Publish(_ context.Context, evaluations []scaling.Evaluation, gone []scaling.Scope) {
	r.mu.Lock()
	for i := range evaluations {
		ev := &evaluations[i]
		rec := &ev.Recommendation
		target := "unknown"
		if rec.RecommendedWorkers != nil {
			target = fmt.Sprint(*rec.RecommendedWorkers)
		}
		r.seen[ev.Scope.Key] = append(r.seen[ev.Scope.Key], outcome{rec.Row, rec.Action, target, ev.Provisional, rec.Generation, ev.Tick})
		r.last[ev.Scope.Key] = *ev
	}
	for _, s := range gone {
		r.gone = append(r.gone, s.Key)
	}
	r.mu.Unlock()
	if len(evaluations) > 0 {
		r.ticks <- evaluations[0].Tick
	}
}

func (r *recorder) newest(key string) outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.seen[key]
	if len(o) == 0 {
		return outcome{}
	}
	return o[len(o)-1]
}

// service is a running loop with a clock in the test's hand.
type service struct {
	t     *testing.T
	clock *handclock.Clock
	rec   *recorder
	loop  *Loop
	store state.Store
	stop  func()
	cfg   Config
}

func startService(t *testing.T, src Source, store state.Store, cfg Config, now time.Time, epoch uint64) *service {
	t.Helper()
	s := &service{t: t, clock: handclock.New(now), rec: newRecorder(), store: store, cfg: cfg}
	s.loop = NewLoop(Options{
		Source: src, Clock: s.clock, Store: store, Publishers: []Publisher{s.rec},
		Logger: slog.New(slog.DiscardHandler), Epoch: epoch,
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.loop.Run(ctx, cfg) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-done)
	})
	t.Cleanup(s.stop)
	return s
}

// advance moves the clock to a tick and waits until it was published.
func (s *service) advance(to time.Time) {
	s.t.Helper()
	s.clock.Set(to)
	s.await(to)
}

func (s *service) await(to time.Time) {
	s.t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		select {
		case tick := <-s.rec.ticks:
			if !tick.Before(to) {
				return
			}
		case <-deadline:
			s.t.Fatalf("tick %s was not published", to)
		}
	}
}

var errDown = source.NoAnswer(errors.New("connection refused"))
