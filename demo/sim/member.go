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
	host   string
	joined time.Time
	// slots is how many slots each job holds here; always empty on the master.
	slots map[*job]int
	// cpu and heap are the loads as ratios, without and with noise.
	cpu, heap           float64
	shownCPU, shownHeap float64
	// cpuSeconds is the process time used so far.
	cpuSeconds float64
	// frozenAt is zero while the process runs.
	frozenAt time.Time
}

func newMember(host string, joined time.Time) *member {
	return &member{host: host, joined: joined, slots: map[*job]int{}}
}

// address is how Zeta writes a worker in /pending-jobs.
func (m *member) address() string { return "[" + m.host + "]:" + strconv.Itoa(hazelcastPort) }

// hostPort is how it writes a member elsewhere.
func (m *member) hostPort() string { return m.host + ":" + strconv.Itoa(hazelcastPort) }

// assigned is how many slots jobs hold here.
func (m *member) assigned() int {
	n := 0
	for _, k := range m.slots {
		n += k
	}
	return n
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
	cpu, heap := idleCPU, idleHeap
	// In order of submission: a map's order would make the sum's last bits
	// differ from run to run.
	for _, j := range c.jobs {
		if k := m.slots[j]; k > 0 {
			cpu += float64(k) * j.spec.CPUPerSlot
			heap += float64(k) * j.spec.HeapPerSlot
		}
	}
	m.cpu += share * (min(cpu, fullLoad) - m.cpu)
	m.heap += share * (min(heap, fullLoad) - m.heap)
	m.shownCPU = clampRatio(m.cpu + a*cpuNoise)
	m.shownHeap = clampRatio(m.heap + b*heapNoise)
	m.cpuSeconds += m.shownCPU * defaultCPUCores * step.Seconds()
}

func clampRatio(x float64) float64 { return math.Max(0, math.Min(1, x)) }
