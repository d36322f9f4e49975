package peers

import (
	"time"

	"github.com/zeta-scaler/zeta-scaler/simulate"
)

// Defaults of Spark's dynamic allocation:
// https://spark.apache.org/docs/latest/configuration.html#dynamic-allocation and
// https://spark.apache.org/docs/latest/job-scheduling.html#resource-allocation-policy
// ("Job Scheduling": "Request Policy", "Remove Policy").
const (
	sparkEvery     = time.Second // it looks ten times a second
	sparkBacklog   = time.Second // schedulerBacklogTimeout
	sparkSustained = time.Second // sustainedSchedulerBacklogTimeout
	sparkIdle      = time.Minute // executorIdleTimeout
)

// spark is Spark's ExecutorAllocationManager: an executor is a worker, a task is a
// slot. While tasks wait, it asks for 1, 2, 4 … more, never for more than all
// tasks need; an executor that has been idle for a minute goes.
type spark struct {
	target  int
	add     int
	addAt   time.Duration
	waiting bool
	begun   bool
}

func newSpark() *spark { return &spark{add: 1} }

func (s *spark) Name() string         { return "spark" }
func (s *spark) Every() time.Duration { return sparkEvery }

func (s *spark) Want(v simulate.View) int {
	live := asked(v)
	if !s.begun {
		s.begun, s.target = true, live
	}
	if v.SlotsPerWorker == 0 {
		return live // no task ever waits for a slot
	}
	s.backlog(v)
	needed := ceil(demanded(v) / float64(v.SlotsPerWorker))
	switch {
	case needed < s.target:
		s.target, s.add = within(v, needed), 1
	case s.waiting && v.Now >= s.addAt:
		s.request(v, live, needed)
	}
	if s.target > live {
		return s.target
	}
	// Who has been idle goes, as long as the target and the minimum stay.
	return max(live-idleFor(v, sparkIdle.Seconds()), min(live, max(s.target, v.Min)))
}

// backlog starts the clock when tasks begin to wait, and stops it when none does.
func (s *spark) backlog(v simulate.View) {
	switch {
	case v.SlotsWaiting == 0:
		s.waiting, s.add = false, 1
	case !s.waiting:
		s.waiting, s.addAt = true, v.Now+sparkBacklog
	}
}

// request asks for more, and for twice as many the next time if all were needed.
func (s *spark) request(v simulate.View, live, needed int) {
	s.addAt = v.Now + sparkSustained
	if s.target >= v.Max {
		s.add = 1
		return
	}
	to := within(v, min(max(s.target, live)+s.add, needed))
	switch delta := to - s.target; delta {
	case s.add:
		s.add *= 2
	default:
		s.add = 1
	}
	s.target = max(s.target, to)
}
