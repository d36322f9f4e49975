package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Strategy is what Zeta does with a job that finds too few free slots.
type Strategy string

// The strategies of seatunnel.engine.job-schedule-strategy.
const (
	// Wait queues the job; only the head of the queue is tried.
	Wait Strategy = "WAIT"
	// Reject fails it.
	Reject Strategy = "REJECT"
)

// The versions that can be imitated.
const (
	// V2313 has REST v2 and a queue that can be looked into.
	V2313 = "2.3.13"
	// V238 has REST v1 only and no queue: a job that finds no slot is shown as
	// RUNNING for a while and then fails with NoEnoughResourceException.
	V238 = "2.3.8"
)

// RejectAfter is how long 2.3.8 tries a job before it fails for want of slots.
const RejectAfter = 30 * time.Second

// How long other things take in a real cluster.
const (
	step            = time.Second
	scheduleEvery   = 3 * time.Second   // the pending queue's retry
	memberTimeout   = 195 * time.Second // a hung worker stays a member
	defaultBoot     = 12 * time.Second  // JVM start to registration
	jobBatchPause   = time.Second       // submission to RUNNING
	firstJobID      = 1179405570449342465
	jobIDStep       = 196608
	jobIDsPerSecond = 4_194_304
	jobEpoch        = 1_767_225_600 // 2026-01-01
	hazelcastPort   = 5801
	defaultHeap     = 4 << 30
	defaultCPUCores = 4
)

// Options describe a cluster at its start.
type Options struct {
	// Name is the Hazelcast cluster name.
	Name string
	// Version is V2313 or V238.
	Version string
	// Start is the virtual time at which the cluster is already up.
	Start time.Time
	// Workers that have registered at Start, ≥ 0.
	Workers int
	// SlotsPerWorker ≥ 1 is ignored with DynamicSlots.
	SlotsPerWorker int
	DynamicSlots   bool
	// Strategy is Wait unless DynamicSlots, which forces Reject as Zeta does.
	Strategy Strategy
	// SystemLoad is slot-allocate-strategy SYSTEM_LOAD: worker snapshots of
	// /pending-jobs carry cpuUsage and memUsage.
	SystemLoad bool
	// BootDelay is how long a new worker takes to register, 12s if 0. With a
	// greater BootDelayMax it is drawn evenly from between the two.
	BootDelay, BootDelayMax time.Duration
	// Placement is EvenPlacement if empty.
	Placement Placement
	// Contention lets the jobs of a worker run longer while they ask for more CPU
	// together than it has.
	Contention bool
	// HeapGarbage is how far garbage raises a worker's heap between two
	// collections, as a ratio of the heap.
	HeapGarbage float64
	Seed        uint64
}

// Placement is how the workers of a job's slots are chosen.
type Placement string

// The placements.
const (
	// EvenPlacement takes the worker with the fewest slots in use.
	EvenPlacement Placement = "even"
	// RandomPlacement is slot-allocate-strategy RANDOM, Zeta's default.
	RandomPlacement Placement = "random"
)

// Cluster is the simulation. Its methods may be called from any goroutine.
type Cluster struct {
	mu  sync.Mutex
	opt Options
	now time.Time
	// rng is the load's, boots and places have their own: how many workers there
	// are must not change how long the next one takes.
	rng, boots, places *rand.Rand

	master   *member
	workers  []*member
	booting  []time.Time // when they register, the next one first
	nextHost int

	jobs    []*job // running and waiting, in order of submission
	history []*job // ended, oldest first
	// endedAs counts the history by status.
	endedAs map[string]int
	// rejections and lost count jobs that ended for want of slots, and with their
	// worker.
	rejections, lost int
	totals           Totals
	nextJob          int
	// rejected is set once 2.3.13 rejected a job; see finishedJobs.
	rejected bool
}

// New starts a cluster.
func New(o Options) (*Cluster, error) {
	if o.Version != V2313 && o.Version != V238 {
		return nil, fmt.Errorf("unknown Zeta version %q, known are %s and %s", o.Version, V2313, V238)
	}
	if o.SlotsPerWorker < 1 && !o.DynamicSlots {
		return nil, fmt.Errorf("slots per worker is %d, expected 1 or more", o.SlotsPerWorker)
	}
	if o.BootDelay == 0 {
		o.BootDelay = defaultBoot
	}
	if o.DynamicSlots || o.Version == V238 {
		o.Strategy = Reject
	}
	if o.Strategy == "" {
		o.Strategy = Wait
	}
	c := &Cluster{
		opt: o, now: o.Start, endedAs: map[string]int{},
		rng: rand.New(rand.NewPCG(o.Seed, 0x5e7a)), boots: rand.New(rand.NewPCG(o.Seed, 0xb007)), places: rand.New(rand.NewPCG(o.Seed, 0x91ace)),
	}
	c.master = newMember("10.20.0.1", 0, o.Start)
	for range o.Workers {
		c.register()
	}
	c.Settle()
	return c, nil
}

// Settle lets every load be at once what the jobs ask for, as if the cluster
// had run like this for a while.
func (c *Cluster) Settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.members() {
		c.load(m, settled)
	}
}

// Advance moves the cluster to t in steps of a second; a t in the past does
// nothing.
func (c *Cluster) Advance(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for next := c.now.Add(step); !next.After(t); next = c.now.Add(step) {
		c.now = next
		c.bootWorkers()
		c.dropHungWorkers()
		c.dropLeaving()
		c.slowDown()
		c.endJobs()
		c.schedule()
		c.load(c.master, smoothing)
		for _, m := range c.workers {
			c.load(m, smoothing)
		}
		c.count()
	}
}

// Now is the cluster's virtual time.
func (c *Cluster) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Name is the cluster's name.
func (c *Cluster) Name() string { return c.opt.Name }

// AddWorkers starts n workers; they register after the boot delay.
func (c *Cluster) AddWorkers(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range n {
		boot := c.opt.BootDelay
		if more := c.opt.BootDelayMax - boot; more > 0 {
			boot += time.Duration(c.boots.Int64N(int64(more/step)+1)) * step
		}
		c.booting = append(c.booting, c.now.Add(boot))
	}
	slices.SortFunc(c.booting, time.Time.Compare)
}

// CancelBooting gives up to n of the workers up that have not registered, the
// latest first, and returns how many.
func (c *Cluster) CancelBooting(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n = min(max(n, 0), len(c.booting))
	c.booting = c.booting[:len(c.booting)-n]
	return n
}

// KillYoungest ends n workers as a platform does that is told a smaller number,
// whatever they do, youngest first: their jobs fail.
func (c *Cluster) KillYoungest(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range min(n, len(c.workers)) {
		c.lose(c.workers[len(c.workers)-1])
	}
}

// Workers is how many workers are registered, and how many are starting.
func (c *Cluster) Workers() (registered, booting int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.workers), len(c.booting)
}

// RemoveIdleWorkers stops up to n workers that hold no slot of a job, youngest
// first, and returns how many it stopped.
func (c *Cluster) RemoveIdleWorkers(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	removed := 0
	for i := len(c.workers) - 1; i >= 0 && removed < n; i-- {
		if c.workers[i].assigned() == 0 && c.workers[i].frozenAt.IsZero() {
			c.workers = slices.Delete(c.workers, i, i+1)
			removed++
		}
	}
	return removed
}

// Freeze stops a registered worker's process as SIGSTOP would; index counts
// from 0 in order of registration. Zeta drops it after 195 s.
func (c *Cluster) Freeze(index int) error {
	return c.withWorker(index, func(m *member) { m.frozenAt = c.now })
}

// Thaw lets a frozen worker go on.
func (c *Cluster) Thaw(index int) error {
	return c.withWorker(index, func(m *member) { m.frozenAt = time.Time{} })
}

// Kill ends a worker as SIGKILL would: it leaves at once and its jobs fail.
func (c *Cluster) Kill(index int) error {
	return c.withWorker(index, func(m *member) { c.lose(m) })
}

func (c *Cluster) withWorker(index int, f func(*member)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if index < 0 || index >= len(c.workers) {
		return fmt.Errorf("no worker %d, there are %d", index, len(c.workers))
	}
	f(c.workers[index])
	return nil
}

func (c *Cluster) members() []*member {
	return append([]*member{c.master}, c.workers...)
}

// register adds one worker now.
func (c *Cluster) register() {
	c.nextHost++
	const hosts = 254 // of a network
	host := fmt.Sprintf("10.20.%d.%d", 1+(c.nextHost-1)/hosts, 1+(c.nextHost-1)%hosts)
	c.workers = append(c.workers, newMember(host, c.nextHost, c.now))
}

func (c *Cluster) bootWorkers() {
	for len(c.booting) > 0 && !c.booting[0].After(c.now) {
		c.booting = c.booting[1:]
		c.register()
	}
}

func (c *Cluster) dropHungWorkers() {
	for i := 0; i < len(c.workers); i++ {
		if m := c.workers[i]; !m.frozenAt.IsZero() && c.now.Sub(m.frozenAt) >= memberTimeout {
			c.lose(m)
			i--
		}
	}
}

// lose removes a worker; a job that had slots on it fails, as it does on a
// full Zeta cluster whatever the strategy.
func (c *Cluster) lose(m *member) {
	for i, w := range c.workers {
		if w == m {
			c.workers = slices.Delete(c.workers, i, i+1)
			break
		}
	}
	for _, j := range append([]*job(nil), c.jobs...) {
		if m.slots[j] > 0 {
			c.end(j, statusFailed, lostWorkerError)
		}
	}
}

// hung reports whether a worker does not answer its master.
func (c *Cluster) hung() bool {
	for _, m := range c.workers {
		if !m.frozenAt.IsZero() {
			return true
		}
	}
	return false
}
