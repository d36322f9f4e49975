package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/zeta-scaler/zeta-scaler/bench/fleet"
)

// part is one that judges, or that asks as one that judges does.
type part struct {
	name    string
	measure func(context.Context, *stage, part) error
	rules   ruleFile
	// cycles is how many are measured.
	cycles int
}

func (s *stage) parts() []part {
	const cycles = 3
	few := cycles
	if s.slowly() == slow {
		few = 1
	}
	return []part{
		{"zeta-scaler", measureZeta, ruleFile{}, cycles},
		{"vmalert-scoped", measureVmalert, s.scoped, few},
		{"vmalert-by", measureVmalert, s.by, cycles},
		{"rules-scoped", measureRules, s.scoped, few},
		{"rules-by", measureRules, s.by, cycles},
		{"keda", measurePolls, ruleFile{}, few},
		{"hpa", measurePolls, ruleFile{}, few},
	}
}

// mark is what was used and done until a moment.
type mark struct {
	client, server time.Duration
	done           float64
	ranged         int64
}

// write reports what the work between two marks took, for one scope and cycle,
// where a cycle is so many units of work.
func (s *stage) write(name string, from, to mark, units, peak float64) error {
	cycles := (to.done - from.done) / units
	if cycles <= 0 {
		return errors.New("nothing was done")
	}
	per := func(d time.Duration) float64 { return float64(d.Microseconds()) / cycles / float64(s.o.scopes) }
	client, server := to.client-from.client, to.server-from.server
	figures := []figure{
		{per(client + server), "µs/scope"},
		{per(client), "µs-own/scope"},
		{per(server), "µs-server/scope"},
		{units / float64(s.o.scopes), "queries/scope"},
		{cycles, "cycles"},
		{float64(to.ranged - from.ranged), "ranges"},
	}
	if peak > 0 {
		figures = append(figures, figure{peak, "MB-peak"})
	}
	report(fmt.Sprintf("Peers/scopes=%d/by=%s", s.o.scopes, name), figures...)
	return nil
}

// mark reads the clocks of a program and of the server.
func (s *stage) mark(p *process) (m mark, err error) {
	m.done, m.ranged = float64(s.counter.asked.Load()), s.counter.ranged.Load()
	if p != nil {
		if m.client, err = p.used(); err != nil {
			return m, err
		}
	}
	m.server, err = s.server.used()
	return m, err
}

// asked waits until so many queries were answered, and then until nobody asks, so
// that a cycle is counted with all of its work.
func (s *stage) asked(ctx context.Context, p *process, n float64) error {
	deadline := time.Now().Add(patience + 2*slow)
	quiet, last := time.Now(), int64(-1)
	for {
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
		done := s.counter.asked.Load()
		if done != last || s.counter.running.Load() > 0 {
			quiet, last = time.Now(), done
		}
		enough := float64(done) >= n
		// Rules of many groups are spread over the interval: nobody ever rests.
		if enough && (time.Since(quiet) > rest || s.spread(done, n)) {
			return nil
		}
		if time.Now().After(deadline) {
			return p.explained(fmt.Errorf("%d queries were asked, expected %g", done, n))
		}
	}
}

// spread reports whether so much more was asked than expected that it never ends.
func (s *stage) spread(done int64, n float64) bool {
	return float64(done) >= n+float64(s.scoped.rules)/20 && s.o.scopes > 1
}

// follow measures a program that asks by itself.
func (s *stage) follow(ctx context.Context, p *process, part part, units float64) error {
	// Two cycles until all is warm and nothing of the start is left, or a few of very
	// many rules.
	if err := s.asked(ctx, p, float64(s.counter.asked.Load())+min(2*units, 200)); err != nil {
		return err
	}
	from, err := s.mark(p)
	if err != nil {
		return err
	}
	if err := s.asked(ctx, p, from.done+units*float64(part.cycles)); err != nil {
		return err
	}
	to, err := s.mark(p)
	if err != nil {
		return err
	}
	peak, err := p.peak()
	if err != nil {
		return err
	}
	return s.write(part.name, from, to, units, peak)
}

// measureZeta runs `zeta-scaler serve` with its default store.
func measureZeta(ctx context.Context, s *stage, part part) (err error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	state := filepath.Join(s.dir, "state")
	if err := os.RemoveAll(state); err != nil {
		return err
	}
	file := filepath.Join(s.dir, "zeta-scaler.yml")
	text := fmt.Sprintf("web: {listen_address: %q}\nprometheus: {urls: [%q]}\nrule_sets: [{file: %q}]\nscope_defaults: {rule_set: %s}\nstate: {type: file, path: %q}\n",
		address, s.counter.url, s.ruleSet, s.rs.Name, filepath.Join(state, "state.db"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return err
	}
	units, err := s.queries()
	if err != nil {
		return err
	}
	p, err := start(s.dir, "zeta-scaler", s.o.zeta, "serve", "--config.file="+file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	if err := s.follow(ctx, p, part, float64(units)); err != nil {
		return err
	}
	// Every scope that lacks slots is to grow, which says that all was judged.
	deltas, err := samples(ctx, "http://"+address, "seatunnel_autoscaler_recommended_delta")
	if err != nil {
		return err
	}
	more, lacking := 0, 0
	for i := range s.o.scopes {
		if fleet.Lacks(i) {
			lacking++
		}
	}
	for _, delta := range deltas {
		if delta > 0 {
			more++
		}
	}
	if more != lacking {
		return fmt.Errorf("more workers are recommended for %d scopes, %d lack slots", more, lacking)
	}
	return nil
}

// measureVmalert runs vmalert, spared of remote write and of sending alerts.
func measureVmalert(ctx context.Context, s *stage, part part) (err error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	p, err := start(s.dir, part.name, s.o.vmalert, "-rule="+part.rules.path, "-datasource.url="+s.counter.url,
		"-notifier.blackhole", "-httpListenAddr="+address, "-loggerLevel=ERROR", "-rule.evalDelay=0s")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	if err := s.follow(ctx, p, part, float64(part.rules.rules)); err != nil {
		return err
	}
	return s.sameAlerts(ctx, "http://"+address)
}

// measureRules has the server itself evaluate the rules, which writes their
// results, too.
func measureRules(ctx context.Context, s *stage, part part) (err error) {
	if err := s.server.rules(ctx, part.rules.path); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.server.rules(context.WithoutCancel(ctx), "")) }()
	if err := pause(ctx, 5*time.Second); err != nil { // the rules are loaded by then
		return err
	}
	from, err := s.mark(nil)
	if err != nil {
		return err
	}
	if from.done, err = s.server.evaluated(ctx); err != nil {
		return err
	}
	interval := every
	if part.rules.path == s.scoped.path {
		interval = s.slowly()
	}
	if err := pause(ctx, time.Duration(part.cycles)*interval); err != nil {
		return err
	}
	to, err := s.mark(nil)
	if err != nil {
		return err
	}
	if to.done, err = s.server.evaluated(ctx); err != nil {
		return err
	}
	if err := s.sameAlerts(ctx, s.server.url); err != nil {
		return err
	}
	return s.write(part.name, from, to, float64(part.rules.rules), 0)
}

// sameAlerts checks that what was measured judged every scope.
func (s *stage) sameAlerts(ctx context.Context, target string) error {
	// An idle cluster fulfils all conditions for fewer workers but those of signals
	// that nobody reports; one that lacks slots those that it shares, and its own.
	got, err := alerts(ctx, target)
	if err != nil {
		return err
	}
	if got < 5*s.o.scopes {
		return fmt.Errorf("%d alerts of %d scopes, expected more than five each", got, s.o.scopes)
	}
	return nil
}
