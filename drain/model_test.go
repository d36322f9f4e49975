package drain_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// killed is what the model panics with to end a drainer on the spot.
type killed struct{ at string }

var errServer = errors.New("500 Internal Server Error")

// virtual is a clock that moves only when told.
type virtual struct{ t time.Time }

func (c *virtual) Now() time.Time { return c.t }

func (c *virtual) WaitUntil(ctx context.Context, t time.Time) error {
	if t.After(c.t) {
		c.t = t
	}
	return ctx.Err()
}

// faults decide what goes wrong; every number drawn comes from the seed.
type faults struct {
	rng *rand.Rand
	// left is how many more faults this run may have, rate how likely one is at
	// one chance.
	left int
	rate float64
	log  []string
}

// draw picks one of the named faults, or "".
func (f *faults) draw(where string, names ...string) string {
	if f == nil || f.left == 0 || f.rng.Float64() >= f.rate {
		return ""
	}
	f.left--
	n := names[f.rng.IntN(len(names))]
	f.log = append(f.log, where+": "+n)
	return n
}

// modelJob is one job of the modelled Zeta.
type modelJob struct {
	control.Job
	slots int
	on    map[string]int
	// doneAt is when its savepoint is done, zero if it is stuck; failAt when it
	// fails for want of slots; endAt when a batch job ends.
	doneAt, failAt, endAt time.Time
	// checkpoint is true while there is something to go on from.
	checkpoint bool
	// readsFrom is since when it reads.
	readsFrom time.Time
	read      int64
	// unknown is true once a restarted master has forgotten it.
	unknown bool
	// stops counts our requests.
	stops int
	hold  bool
}

// model is a Zeta cluster and the platform below it, as both were seen to behave.
type model struct {
	clock   *virtual
	f       *faults
	rng     *rand.Rand
	slots   int
	dynamic bool
	// untold: the workers bear no attribute. threads: they name their jobs.
	untold, threads bool
	// alive are the workers in the platform's order, the first goes first.
	alive   []string
	goneAt  map[string]time.Time
	goDelay time.Duration
	// recorded is the fence of the last write, where the platform keeps one; late
	// are requests that are still on their way to it.
	recorded actuators.Fence
	late     []lateRelease
	// slowToTell: the platform lists a worker as long as it lives.
	slowToTell bool
	jobs       map[string]*modelJob
	order      []string
	pending    int
	chooses    bool
	configs    map[string]bool
	problems   []string
	// removed are the workers that the platform was made to remove.
	removed []string
	// beforeRelease is called with the worker when the platform takes a request.
	beforeRelease func(worker string)
	log           []string
}

func newModel(clock *virtual, f *faults, rng *rand.Rand, workers, slots int) *model {
	m := &model{
		clock: clock, f: f, rng: rng, slots: slots, threads: true, jobs: map[string]*modelJob{}, configs: map[string]bool{}, goneAt: map[string]time.Time{},
		goDelay: 1200 * time.Millisecond,
	}
	for i := workers - 1; i >= 0; i-- {
		m.alive = append(m.alive, fmt.Sprintf("w-%d", i))
	}
	return m
}

func (m *model) problem(format string, args ...any) {
	m.problems = append(m.problems, fmt.Sprintf(format, args...))
}

func (m *model) note(format string, args ...any) {
	m.log = append(m.log, m.clock.t.Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

func (m *model) used(worker string) (n int) {
	for _, j := range m.jobs {
		n += j.on[worker]
	}
	return n
}

func (m *model) free(worker string) int {
	if m.dynamic {
		return 100 - m.used(worker)
	}
	return m.slots - m.used(worker)
}

// place spreads a job over free slots, preferring at random; it reports whether
// they are enough.
func (m *model) place(j *modelJob) bool {
	total := 0
	for _, w := range m.alive {
		total += m.free(w)
	}
	if total < j.slots {
		return false
	}
	j.on = map[string]int{}
	for placed := 0; placed < j.slots; {
		w := m.alive[m.rng.IntN(len(m.alive))]
		if m.free(w) > 0 {
			j.on[w]++
			placed++
		}
	}
	return true
}

// submit starts a new job of somebody's.
func (m *model) submit(id string, mode control.Mode, slots int, ends time.Duration) *modelJob {
	j := &modelJob{
		Job:   control.Job{ID: id, Name: "job-" + id, Status: control.Running, Mode: mode, Created: m.clock.t},
		slots: slots, checkpoint: true, readsFrom: m.clock.t,
	}
	if mode == control.Batch {
		j.endAt = m.clock.t.Add(ends)
	}
	m.jobs[id] = j
	m.order = append(m.order, id)
	m.configs[id] = true
	if !m.place(j) {
		j.Status, j.failAt = control.Failed, time.Time{}
	}
	m.note("job %s starts on %v", id, j.on)
	return j
}

// pass lets the model catch up with the clock.
func (m *model) pass() {
	now := m.clock.t
	for _, id := range m.order {
		j := m.jobs[id]
		switch {
		case j.Status == control.DoingSavepoint && !j.doneAt.IsZero() && !now.Before(j.doneAt):
			j.read += int64(j.doneAt.Sub(j.readsFrom) / (100 * time.Millisecond))
			j.Status, j.on, j.doneAt = control.SavepointDone, nil, time.Time{}
			m.note("job %s has its savepoint", id)
		case j.Status == control.Running && !j.failAt.IsZero() && !now.Before(j.failAt):
			j.Status, j.on, j.failAt = control.Failed, nil, time.Time{}
			m.note("job %s fails for want of slots", id)
		case j.Status == control.Running && !j.endAt.IsZero() && !now.Before(j.endAt):
			j.Status, j.on = control.Finished, nil
			m.note("job %s ends", id)
		}
	}
	for _, l := range m.late {
		if !now.Before(l.at) {
			m.late = slices.DeleteFunc(m.late, func(o lateRelease) bool { return o == l })
			m.note("a request of epoch %d arrives, to remove %s: %v", l.epoch, l.worker, m.take(l.worker, l.epoch, l.id))
		}
	}
	for w, at := range m.goneAt {
		if !now.Before(at) {
			delete(m.goneAt, w)
			m.lose(w)
		}
	}
}

// lose takes a worker away: what ran there is restored elsewhere, if there is room.
func (m *model) lose(worker string) {
	m.note("worker %s is gone", worker)
	m.alive = slices.DeleteFunc(m.alive, func(w string) bool { return w == worker })
	for _, id := range m.order {
		j := m.jobs[id]
		if j.on[worker] == 0 {
			continue
		}
		j.on = nil
		switch {
		case j.hold:
			j.Status = control.Failed
		case j.Status == control.DoingSavepoint:
			j.doneAt = time.Time{} // for ever, while it runs again
			if !m.place(j) {
				j.Status = control.Failed
			}
		case !m.place(j):
			j.Status = control.Failed
		}
	}
}

// restartMaster has the master forget what has ended.
func (m *model) restartMaster() {
	m.note("the master is restarted")
	for _, j := range m.jobs {
		if j.Status.Ended() {
			j.unknown = true
		}
	}
}

// chance is one request: it may fail before or after it was carried out, or end the
// process there.
func (m *model) chance(verb string, changes bool, do func() error) error {
	m.pass()
	names := []string{"500", "empty", "crash_before", "crash_after"}
	if changes {
		names = append(names, "lost_before", "lost_after")
	}
	fault := m.f.draw(verb, names...)
	switch fault {
	case "500", "empty":
		return fmt.Errorf("%s: %w", fault, errServer)
	case "lost_before":
		return control.ErrUnknownOutcome
	case "crash_before":
		panic(killed{verb})
	}
	err := do()
	switch fault {
	case "lost_after":
		return control.ErrUnknownOutcome
	case "crash_after":
		panic(killed{verb})
	}
	return err
}

// ours are the jobs that are not of our own making, by id.
func (m *model) ours() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m.jobs)), func(id string) bool { return m.jobs[id].hold })
}
