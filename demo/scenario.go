package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/demo/sim"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Scenario is a timed story that happens to a simulated cluster.
type Scenario struct {
	Name string
	// Summary says in one line what it shows.
	Summary string
	// Cluster is what the story begins with; name, start and seed are filled in
	// by the run.
	Cluster sim.Options
	// Bounds are the scope's.
	Bounds scaling.Bounds
	// Drains says that workers are drained when there are too many, which needs
	// Options.Follow and brings it along.
	Drains bool
	// Length is when the story is over.
	Length time.Duration
	// Events are in order of time.
	Events []Event
}

// Event is something that happens to the cluster.
type Event struct {
	At time.Duration
	// Note is what happens, for the reader of the demo.
	Note string
	Do   func(*sim.Cluster) error
}

// Scenarios returns every scenario, the default one first.
func Scenarios() []Scenario {
	return []Scenario{burst(), rejectStorm(), idleNight(), staleWorker(), unsatisfiable(), flap(), drainScenario()}
}

// ScenarioNames lists them for flags and completion.
func ScenarioNames() []string {
	var names []string
	for _, s := range Scenarios() {
		names = append(names, s.Name)
	}
	return names
}

// FindScenario returns the scenario of that name.
func FindScenario(name string) (Scenario, error) {
	for _, s := range Scenarios() {
		if s.Name == name {
			return s, nil
		}
	}
	return Scenario{}, fmt.Errorf("unknown scenario %q, expected one of %s", name, strings.Join(ScenarioNames(), ", "))
}

// burst fills the cluster and lets two more jobs wait: a shortage.
func burst() Scenario {
	batch := func(name string, run time.Duration) sim.JobSpec {
		return sim.JobSpec{Name: name, Parallelism: 3, RunTime: run, CPUPerSlot: 0.1, HeapPerSlot: 0.08}
	}
	return Scenario{
		Name:    "burst",
		Summary: "more jobs than slots: a shortage, and idleness after it",
		Cluster: sim.Options{Version: sim.V2313, Workers: 2, SlotsPerWorker: 4},
		Bounds:  scaling.Bounds{Min: 1, Max: 6},
		Length:  50 * time.Minute,
		Events: []Event{
			{0, "two jobs of 4 slots start and fill the cluster", func(c *sim.Cluster) error {
				c.Submit(batch("orders", 18*time.Minute))
				c.Submit(batch("clicks", 20*time.Minute))
				return nil
			}},
			{2 * time.Minute, "two more jobs of 4 slots are submitted and have to wait", func(c *sim.Cluster) error {
				c.Submit(batch("billing", 8*time.Minute))
				c.Submit(batch("audit", 6*time.Minute))
				return nil
			}},
		},
	}
}

// rejectStorm shows a cluster without a queue: jobs fail for lack of slots.
func rejectStorm() Scenario {
	events := []Event{{0, "two jobs of 2 slots fill the cluster", func(c *sim.Cluster) error {
		for _, name := range []string{"orders", "clicks"} {
			c.Submit(sim.JobSpec{Name: name, Parallelism: 1, RunTime: 20 * time.Minute, CPUPerSlot: 0.2, HeapPerSlot: 0.1})
		}
		return nil
	}}}
	for i := range 12 {
		e := Event{At: 3*time.Minute + time.Duration(i)*time.Minute, Do: func(c *sim.Cluster) error {
			c.Submit(sim.JobSpec{Name: fmt.Sprintf("report-%d", i+1), Parallelism: 1, RunTime: 45 * time.Second, CPUPerSlot: 0.1, HeapPerSlot: 0.05})
			return nil
		}}
		if i == 0 {
			e.Note = "a job of 2 slots is submitted every minute until 14m; Zeta rejects what finds no slot"
		}
		events = append(events, e)
	}
	return Scenario{
		Name:    "reject-storm",
		Summary: "a Zeta that rejects instead of queueing: rejections are the evidence",
		Cluster: sim.Options{Version: sim.V238, Workers: 2, SlotsPerWorker: 2},
		Bounds:  scaling.Bounds{Min: 1, Max: 4},
		Length:  45 * time.Minute,
		Events:  events,
	}
}

// idleNight lets the day's jobs end, so that the cluster is too big.
func idleNight() Scenario {
	return Scenario{
		Name:    "idle-night",
		Summary: "the day's jobs end and the cluster is too big",
		Cluster: sim.Options{Version: sim.V2313, Workers: 4, SlotsPerWorker: 4},
		Bounds:  scaling.Bounds{Min: 2, Max: 6},
		Length:  45 * time.Minute,
		Events: []Event{
			{0, "the day's jobs hold 12 of 16 slots", func(c *sim.Cluster) error {
				for i, name := range []string{"orders", "clicks", "billing"} {
					c.Submit(sim.JobSpec{
						Name: name, Parallelism: 3, RunTime: time.Duration(3+i) * time.Minute, CPUPerSlot: 0.15, HeapPerSlot: 0.1,
					})
				}
				return nil
			}},
			{5*time.Minute + 30*time.Second, "the last of them has ended", nil},
			{25 * time.Minute, "a nightly batch job of 8 slots runs for 4 minutes", func(c *sim.Cluster) error {
				c.Submit(sim.JobSpec{Name: "nightly", Parallelism: 7, RunTime: 4 * time.Minute, CPUPerSlot: 0.2, HeapPerSlot: 0.1})
				return nil
			}},
		},
	}
}

// staleWorker stops the processes of an idle cluster's workers: what is silent
// is not idle.
func staleWorker() Scenario {
	// By age, as an operator that follows may have stopped some by then.
	youngest := func(c *sim.Cluster) error {
		n, _ := c.Workers()
		return c.Freeze(n - 1)
	}
	allButOldest := func(c *sim.Cluster) error {
		n, _ := c.Workers()
		for i := 1; i < n-1; i++ {
			if err := c.Freeze(i); err != nil {
				return err
			}
		}
		return nil
	}
	all := func(c *sim.Cluster) error {
		n, _ := c.Workers()
		for i := range n {
			if err := c.Thaw(i); err != nil {
				return err
			}
		}
		return nil
	}
	return Scenario{
		Name:    "stale-worker",
		Summary: "idle workers fall silent: nothing may be removed on what nobody reports",
		// SYSTEM_LOAD, so that the queue's snapshot tells the load of those that
		// still report while the master's own monitoring hangs.
		Cluster: sim.Options{Version: sim.V2313, Workers: 4, SlotsPerWorker: 4, SystemLoad: true},
		Bounds:  scaling.Bounds{Min: 1, Max: 6},
		Length:  30 * time.Minute,
		Events: []Event{
			{14 * time.Minute, "the youngest of the idle workers hangs", youngest},
			{15*time.Minute + 30*time.Second, "all others but the oldest hang, too", allButOldest},
			{17 * time.Minute, "they all go on", all},
		},
	}
}

// unsatisfiable puts a job at the head of the queue that no allowed number of
// workers can run.
func unsatisfiable() Scenario {
	var big int64
	return Scenario{
		Name:    "unsatisfiable",
		Summary: "the head of the queue needs more than max_workers can give",
		Cluster: sim.Options{Version: sim.V2313, Workers: 2, SlotsPerWorker: 2},
		Bounds:  scaling.Bounds{Min: 1, Max: 3},
		Length:  25 * time.Minute,
		Events: []Event{
			{time.Minute, "a job of 2 slots starts", func(c *sim.Cluster) error {
				c.Submit(sim.JobSpec{Name: "orders", Parallelism: 1, CPUPerSlot: 0.3, HeapPerSlot: 0.1})
				return nil
			}},
			{2 * time.Minute, "a job of 10 slots is submitted, a small one behind it", func(c *sim.Cluster) error {
				big = c.Submit(sim.JobSpec{Name: "full-export", Parallelism: 9, CPUPerSlot: 0.3, HeapPerSlot: 0.1})
				c.Submit(sim.JobSpec{Name: "report", Parallelism: 1, CPUPerSlot: 0.2, HeapPerSlot: 0.1})
				return nil
			}},
			{16 * time.Minute, "its owner cancels the big job", func(c *sim.Cluster) error {
				if !c.Cancel(big) {
					return fmt.Errorf("job %d is not in the queue", big)
				}
				return nil
			}},
		},
	}
}

// flap moves the load over both thresholds, never for as long as a window.
func flap() Scenario {
	s := Scenario{
		Name:    "flap",
		Summary: "load crosses both thresholds again and again, never for a whole window: no action",
		Cluster: sim.Options{Version: sim.V2313, Workers: 4, SlotsPerWorker: 4},
		Bounds:  scaling.Bounds{Min: 1, Max: 6},
		Length:  50 * time.Minute,
	}
	load := func(at time.Duration, cpu float64, note string) {
		s.Events = append(s.Events, Event{at, note, func(c *sim.Cluster) error { c.SetLoad(cpu, 0.1); return nil }})
	}
	s.Events = append(s.Events, Event{0, "a streaming job holds one slot of each worker", func(c *sim.Cluster) error {
		c.Submit(sim.JobSpec{Name: "stream", Parallelism: 3, CPUPerSlot: 0.6, HeapPerSlot: 0.1})
		return nil
	}})
	for i := range 4 {
		at := time.Minute + time.Duration(i)*5*time.Minute
		note, rest := "", ""
		if i == 0 {
			note, rest = "CPU rises to 0.92 for 3 of every 5 minutes", "and falls to 0.63 for the other 2"
		}
		load(at, 0.89, note)
		load(at+3*time.Minute, 0.6, rest)
	}
	for i := range 3 {
		at := 21*time.Minute + time.Duration(i)*9*time.Minute
		note, rest := "", ""
		if i == 0 {
			note, rest = "then CPU falls to 0.10 for 7 of every 9 minutes", "and rises to 0.53 for the other 2"
		}
		load(at, 0.07, note)
		load(at+7*time.Minute, 0.5, rest)
	}
	return s
}

// drainScenario lets the cluster be too big while jobs run on every worker: they
// are moved before a worker goes.
func drainScenario() Scenario {
	job := func(name string, run time.Duration) sim.JobSpec {
		return sim.JobSpec{Name: name, Parallelism: 3, RunTime: run, CPUPerSlot: 0.02, HeapPerSlot: 0.01}
	}
	return Scenario{
		Name:    "drain",
		Summary: "too many workers, and a job on each of them: one is drained after the other",
		Cluster: sim.Options{Version: sim.V2313, Workers: 4, SlotsPerWorker: 12},
		Bounds:  scaling.Bounds{Min: 2, Max: 6},
		Drains:  true,
		Length:  35 * time.Minute,
		Events: []Event{{0, "two streaming jobs and a batch job hold 3 slots of each of 4 workers", func(c *sim.Cluster) error {
			c.Submit(job("orders", 0))
			c.Submit(job("clicks", 0))
			c.Submit(job("nightly", 14*time.Minute))
			return nil
		}}},
	}
}
