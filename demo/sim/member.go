package sim

import (
	"math"
	"strconv"
	"time"
)

// How fast a member's load follows its jobs.
const (
	// smoothing is the share of the way to its target that load goes in one
	// step: a time constant of about 15 s.
	smoothing = 0.065
	settled   = 1.0
	cpuNoise  = 0.012
	heapNoise = 0.006
	idleCPU   = 0.03
	idleHeap  = 0.12
	fullLoad  = 0.985
)

// member is one JVM of the cluster, the master or a worker.
type member struct {
	host string
	// number counts the workers in order of registration, from 1.
	number int
	joined time.Time
	// slots is how many slots each job holds here; always empty on the master. held
	// is their sum, idleSince when it was last more than 0.
	slots     map[*job]int
	held      int
	idleSince time.Time
	// changed says that wantCPU and wantHeap, which the jobs ask for, are not those
	// of slots any more.
	changed           bool
	wantCPU, wantHeap float64
	// cpu and heap are the loads as ratios, without and with noise.
	cpu, heap           float64
	shownCPU, shownHeap float64
	// cpuSeconds is the process time used so far.
	cpuSeconds float64
	// frozenAt is zero while the process runs.
	frozenAt time.Time
	// leavesAt is when the platform ends it, zero if it does not.
	leavesAt time.Time
}

func newMember(host string, number int, joined time.Time) *member {
	return &member{host: host, number: number, joined: joined, idleSince: joined, slots: map[*job]int{}, changed: true}
}

// take gives n slots to a job, giveUp takes all of it back.
func (m *member) take(j *job, n int) {
	m.slots[j] += n
	m.held += n
	m.changed = true
}

func (m *member) giveUp(j *job) {
	if n := m.slots[j]; n > 0 {
		delete(m.slots, j)
		m.held -= n
		m.changed = true
		if m.held == 0 {
			m.idleSince = j.ended
		}
	}
}

// address is how Zeta writes a worker in /pending-jobs.
func (m *member) address() string { return "[" + m.host + "]:" + strconv.Itoa(hazelcastPort) }

// hostPort is how it writes a member elsewhere.
func (m *member) hostPort() string { return m.host + ":" + strconv.Itoa(hazelcastPort) }

// assigned is how many slots jobs hold here.
func (m *member) assigned() int { return m.held }

// asks is the CPU that jobs ask for here, which may be more than there is.
func (m *member) asks(c *Cluster) float64 {
	if !m.changed {
		return m.wantCPU
	}
	m.changed = false
	m.wantCPU, m.wantHeap = idleCPU, idleHeap
	if m.held == 0 {
		return m.wantCPU
	}
	// In order of submission: a map's order would make the sum's last bits
	// differ from run to run.
	for _, j := range c.jobs {
		if k := m.slots[j]; k > 0 {
			m.wantCPU += float64(k) * j.spec.CPUPerSlot
			m.wantHeap += float64(k) * j.spec.HeapPerSlot
		}
	}
	return m.wantCPU
}

// collectEvery is how long garbage grows between two collections.
const collectEvery = 90 * time.Second

// garbage is the part of the heap that the next collection frees.
func (c *Cluster) garbage(m *member) float64 {
	if c.opt.HeapGarbage == 0 {
		return 0
	}
	return c.opt.HeapGarbage * float64(c.now.Sub(m.joined)%collectEvery) / float64(collectEvery)
}

// load moves a member's load the given share of the way towards what its jobs
// ask for. A frozen process uses nothing and says nothing.
func (c *Cluster) load(m *member, share float64) {
	// The dice are thrown for frozen members too, so that freezing one does not
	// change the others.
	a, b := 2*c.rng.Float64()-1, 2*c.rng.Float64()-1
	if !m.frozenAt.IsZero() {
		return
	}
	cpu := m.asks(c)
	m.cpu += share * (min(cpu, fullLoad) - m.cpu)
	m.heap += share * (min(m.wantHeap, fullLoad) - m.heap)
	m.shownCPU = clampRatio(m.cpu + a*cpuNoise)
	m.shownHeap = clampRatio(m.heap + c.garbage(m) + b*heapNoise)
	m.cpuSeconds += m.shownCPU * defaultCPUCores * step.Seconds()
}

func clampRatio(x float64) float64 { return math.Max(0, math.Min(1, x)) }
