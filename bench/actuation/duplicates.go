package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"

	promconfig "github.com/prometheus/common/config"

	"github.com/zeta-scaler/zeta-scaler/alerts"
	"github.com/zeta-scaler/zeta-scaler/bench/fleet"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// interval is the time between two ticks.
const interval = time.Second

// course is what the scopes' mode makes of a notification that comes again and
// again.
type course struct {
	name         string
	mode         scaling.Mode
	first, later scaling.VerdictResult
}

// measureDuplicates runs the evaluation over many scopes and, every other
// slice, delivers notifications that were delivered before.
func measureDuplicates(ctx context.Context, o options, dir string) error {
	rs, _, err := fleet.Quick(dir, interval)
	if err != nil {
		return err
	}
	s, err := open(ctx, dir)
	if err != nil {
		return err
	}
	c := course{"Duplicates", scaling.Webhook, scaling.VerdictAccepted, scaling.VerdictDuplicate}
	if o.refused {
		c = course{"Refusals", scaling.Advisory, scaling.VerdictAdvisory, scaling.VerdictAdvisory}
	}
	// An Alertmanager that takes alerts and does nothing with them: what it would
	// deliver is delivered by us.
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer sink.Close()
	w := &watch{Samples: fleet.New(rs, o.scopes), course: c, began: make(chan struct{})}
	p := s.parts(o.scopes, c.mode)
	p.Alerting = alerts.Settings{Alertmanagers: []alerts.Endpoint{{URL: sink.URL, HTTPClientConfig: promconfig.DefaultHTTPClientConfig}}}
	p.Evaluation, p.Source, p.Publishers = evaluation(rs, o.scopes, c.mode), w, []evaluator.Publisher{w}
	return s.run(ctx, p, func(ctx context.Context) error { return w.measure(ctx, s, o) })
}

// evaluation lists every cluster.
func evaluation(rs *rules.RuleSet, clusters int, mode scaling.Mode) evaluator.Config {
	c := evaluator.Config{RuleSets: []*rules.RuleSet{rs}, DefaultRuleSet: rs.Name}
	for i := range clusters {
		c.Scopes = append(c.Scopes, evaluator.ScopeConfig{Match: map[string]string{"cluster": fleet.ClusterName(i)}, Mode: mode})
	}
	return c
}

// watch is the loop's source and its last publisher: it sees when a tick begins
// and when it is over.
type watch struct {
	*fleet.Samples
	course
	began chan struct{}

	mu sync.Mutex
	// loaded says which side the next tick belongs to, quiet or with load.
	loaded bool
	// started is false until a tick is over, so that the start, which is late by
	// its nature, counts for nobody.
	started     bool
	last        time.Time
	seen        int
	begun, done [2]latencies
}

// Instant implements evaluator.Source.
func (w *watch) Instant(ctx context.Context, expr string, at time.Time) (source.Vector, error) {
	w.mu.Lock()
	if w.started && at.After(w.last) {
		w.begun[w.side()] = append(w.begun[w.side()], time.Since(at))
	}
	w.last = at
	w.mu.Unlock()
	return w.Samples.Instant(ctx, expr, at)
}

// Publish implements evaluator.Publisher.
func (w *watch) Publish(_ context.Context, evaluations []scaling.Evaluation, _ []scaling.Scope) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen += len(evaluations); w.seen < w.N {
		return
	}
	w.seen = 0
	if !w.started {
		close(w.began)
		w.started = true
		return
	}
	w.done[w.side()] = append(w.done[w.side()], time.Since(evaluations[0].Tick))
}

func (w *watch) side() int {
	if w.loaded {
		return 1
	}
	return 0
}

func (w *watch) measure(ctx context.Context, s *service, o options) error {
	select {
	case <-w.began:
	case <-ctx.Done():
		return ctx.Err()
	}
	to := s.sender(o.connections)
	bodies, err := notifications(s.board.Evaluations(), o.alerts)
	if err != nil {
		return err
	}
	for _, body := range bodies {
		if err := to.post(ctx, body, w.first); err != nil {
			return err
		}
	}
	var sent int
	var replies latencies
	var busy time.Duration
	slices := int(o.time / o.slice)
	for range slices {
		for _, loaded := range []bool{false, true} {
			w.mu.Lock()
			w.loaded = loaded
			w.mu.Unlock()
			began := time.Now()
			if !loaded {
				if err := (evaluator.WallClock{}).WaitUntil(ctx, began.Add(o.slice)); err != nil {
					return err
				}
				continue
			}
			got, err := flood(ctx, to, bodies, o, w.later)
			if err != nil {
				return err
			}
			replies, busy = append(replies, got...), busy+time.Since(began)
			sent += len(got) * o.alerts
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	report(fmt.Sprintf("%s/alerts=%d", w.name, o.alerts), len(w.done[1]),
		figure{w.begun[0].at(1), "ms-late-quiet"}, figure{w.begun[1].at(1), "ms-late-loaded"},
		figure{w.done[0].at(1), "ms-published-quiet"}, figure{w.done[1].at(1), "ms-published-loaded"},
		figure{float64(sent) / busy.Seconds(), "duplicates/s"}, figure{replies.at(0.5), "ms-reply-median"}, figure{replies.at(0.99), "ms-reply-p99"})
	return nil
}

// notifications are of n alerts each, one for every recommendation of more
// workers.
func notifications(evaluations []scaling.Evaluation, n int) ([][]byte, error) {
	var all []*scaling.Recommendation
	for i := range evaluations {
		if r := &evaluations[i].Recommendation; r.Action == scaling.ScaleOut {
			all = append(all, r)
		}
	}
	if len(all) == 0 || len(all)%n != 0 {
		return nil, fmt.Errorf("%d scopes ask for workers, which does not go into notifications of %d alerts", len(all), n)
	}
	var bodies [][]byte
	for ; len(all) > 0; all = all[n:] {
		body, err := notification(all[:n])
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	return bodies, nil
}

// flood delivers duplicates for one slice, over as many connections as there
// may be. It falls behind if they do not suffice, and the figures say so.
func flood(ctx context.Context, to *sender, bodies [][]byte, o options, want scaling.VerdictResult) (latencies, error) {
	perSecond := o.rate / o.alerts
	n := int(float64(perSecond) * o.slice.Seconds())
	out := make(latencies, n)
	var next atomic.Int64
	errs := make([]error, o.connections)
	var wg sync.WaitGroup
	start := time.Now()
	for c := range o.connections {
		wg.Go(func() {
			for errs[c] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				due := start.Add(time.Duration(i) * time.Second / time.Duration(perSecond))
				time.Sleep(time.Until(due))
				errs[c] = to.post(ctx, bodies[i%len(bodies)], want)
				out[i] = time.Since(due)
			}
		})
	}
	wg.Wait()
	return out, errors.Join(errs...)
}
