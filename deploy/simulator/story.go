package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/zeta-scaler/zeta-scaler/demo"
	"github.com/zeta-scaler/zeta-scaler/demo/sim"
)

// story is a demo scenario that happens in real time. Its events begin anew when it is over; the cluster, with the
// workers that somebody started, goes on.
type story struct {
	logger *slog.Logger

	mu       sync.Mutex
	cluster  *sim.Cluster
	scenario demo.Scenario
	began    time.Time
	next     int // index of the event that comes next
}

func newStory(name string, now time.Time, logger *slog.Logger) (*story, error) {
	scenario, err := demo.FindScenario(name)
	if err != nil {
		return nil, err
	}
	o := scenario.Cluster
	o.Name, o.Start, o.Seed = "simulated", now.UTC().Truncate(time.Second), demo.DefaultSeed
	cluster, err := sim.New(o)
	if err != nil {
		return nil, fmt.Errorf("starting the simulated cluster: %w", err)
	}
	return &story{logger: logger, cluster: cluster, scenario: scenario, began: o.Start}, nil
}

// advance lets everything happen that has to by now.
func (s *story) advance(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.next == len(s.scenario.Events) {
			end := s.began.Add(s.scenario.Length)
			if end.After(now) {
				break
			}
			s.cluster.Advance(end)
			s.began, s.next = end, 0
		}
		e := s.scenario.Events[s.next]
		at := s.began.Add(e.At)
		if at.After(now) {
			break
		}
		s.next++
		s.cluster.Advance(at)
		if e.Note != "" {
			s.logger.Info(e.Note)
		}
		if e.Do == nil {
			continue
		}
		// An event about a worker that was stopped since has nothing to happen to.
		if err := e.Do(s.cluster); err != nil {
			s.logger.Warn("An event did not happen", "err", err)
		}
	}
	s.cluster.Advance(now)
}

// handler answers as the cluster's master would at that time, and takes POST /simulator/workers?target=N, which a real
// Zeta does not have: it starts workers, or stops those without jobs, which at_least=true forbids.
func (s *story) handler(now func() time.Time) http.Handler {
	zeta := s.cluster.Handler()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /simulator/workers", func(w http.ResponseWriter, r *http.Request) {
		target, err := strconv.Atoi(r.URL.Query().Get("target"))
		if err != nil || target < 0 || target > maxWorkers {
			http.Error(w, fmt.Sprintf("target is no number from 0 to %d", maxWorkers), http.StatusBadRequest)
			return
		}
		s.advance(now())
		if r.URL.Query().Get("at_least") == "true" {
			registered, booting := s.cluster.Workers()
			target = max(target, registered+booting)
		}
		fmt.Fprintln(w, s.scale(target))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.advance(now())
		zeta.ServeHTTP(w, r)
	})
	return mux
}

// maxWorkers bounds what the simulation is asked for.
const maxWorkers = 50

// scale brings the cluster towards a number of workers and returns by how many.
func (s *story) scale(target int) int {
	registered, booting := s.cluster.Workers()
	switch have := registered + booting; {
	case target > have:
		s.cluster.AddWorkers(target - have)
		s.logger.Info("Workers start", "count", target-have, "target", target)
		return target - have
	case target < have:
		n := s.cluster.RemoveIdleWorkers(have - target)
		s.logger.Info("Workers without jobs stop", "count", n, "target", target)
		return -n
	}
	return 0
}
