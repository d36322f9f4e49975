package demo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zeta-scaler/zeta-scaler/demo/sim"
	"github.com/zeta-scaler/zeta-scaler/demo/site"
)

const (
	// scrapeInterval is half of the packs' evaluation interval.
	scrapeInterval = 15 * time.Second
	// realTimeout bounds what is asked of this process; it only matters on a
	// machine that is overloaded beyond use.
	realTimeout = time.Minute
)

// world is everything that zeta-scaler looks at: the cluster with its story,
// the exporter that asks it and the TSDB that is filled from both.
type world struct {
	o    *Options
	note func(at time.Time, text string)

	mu       sync.Mutex // guards cluster for readers of the handler
	cluster  *sim.Cluster
	story    Scenario
	began    time.Time // when the current round of the story began
	round    uint64
	upcoming []Event

	monitoring *site.Monitoring
	now        time.Time
}

// newWorld begins the first round at o.Start.
func newWorld(o *Options, note func(time.Time, string)) (*world, error) {
	w := &world{o: o, note: note, now: start()}
	if err := w.begin(start()); err != nil {
		return nil, err
	}
	var err error
	w.monitoring, err = site.NewMonitoring(site.MonitoringOptions{
		Name: clusterName, Version: w.story.Cluster.Version, Current: w.current, Now: w.time, Logger: o.Logger,
	})
	return w, err
}

// begin starts a round: the story's cluster as it is at the start.
func (w *world) begin(at time.Time) error {
	story, err := FindScenario(w.o.Scenario)
	if err != nil {
		return err
	}
	o := story.Cluster
	o.Name, o.Start, o.Seed = clusterName, at, w.o.Seed+w.round
	cluster, err := sim.New(o)
	if err != nil {
		return fmt.Errorf("starting the cluster of scenario %s: %w", story.Name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cluster, w.story, w.began, w.upcoming = cluster, story, at, story.Events
	w.round++
	return nil
}

// current is the cluster of this round.
func (w *world) current() *sim.Cluster {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cluster
}

// Advance lets the cluster live until t, with all that happens to it. Beyond
// the end of the story a new round begins.
func (w *world) Advance(t time.Time) error {
	for {
		end := w.began.Add(w.story.Length)
		until := t
		if end.Before(t) {
			until = end
		}
		if err := w.play(until); err != nil {
			return err
		}
		if until.Equal(t) {
			return nil
		}
		if err := w.begin(end); err != nil {
			return err
		}
		w.note(end, "the story begins again")
	}
}

// play makes the events up to t happen, each at its time.
func (w *world) play(t time.Time) error {
	for len(w.upcoming) > 0 && !w.began.Add(w.upcoming[0].At).After(t) {
		e := w.upcoming[0]
		w.upcoming = w.upcoming[1:]
		at := w.began.Add(e.At)
		w.cluster.Advance(at)
		if e.Note != "" {
			w.note(at, e.Note)
		}
		if e.Do != nil {
			if err := e.Do(w.cluster); err != nil {
				return fmt.Errorf("scenario %s at %s: %w", w.story.Name, e.At, err)
			}
		}
		if e.At == 0 {
			w.cluster.Settle() // what a story begins with has been so for long
		}
	}
	w.cluster.Advance(t)
	w.setTime(t)
	return nil
}

// Scrape fills the TSDB from both targets at t.
func (w *world) Scrape(ctx context.Context, t time.Time) error {
	if err := w.Advance(t); err != nil {
		return err
	}
	return w.monitoring.Scrape(ctx, t)
}

// time is virtual time as the exporter sees it.
func (w *world) time() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) setTime(t time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = t
}

func (w *world) close() error { return w.monitoring.Close() }
