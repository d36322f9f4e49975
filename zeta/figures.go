package zeta

import (
	"slices"
	"strings"
)

// figures are the values of one snapshot, each known or not: the rules of which
// reply is believed are here, and only here.
type figures struct {
	workers    Count
	assigned   Count
	unassigned Count
	info       *infoFigures
	queue      queueFigures
	perWorker  []workerFigures
}

type infoFigures struct{ version, strategy, slotMode string }

type queueFigures struct {
	size       Count
	oldestWait Number // seconds
	lacking    Count
	required   Count
	all        Count // slots that the whole queue lacks
	head       *headFigures
}

type headFigures struct{ jobID, reason string }

type workerFigures struct {
	address    Address
	assigned   Count
	unassigned Count
	used       Count // assigned, and of dynamic workers as well
	dynamic    Flag
	cpu        Ratio
	memory     Ratio
	processors Count
	cores      resource
	heap       resource
	jobs       Count
	age        Number // seconds
}

// resource is a total and what is free of it.
type resource struct{ total, available Number }

// unknown is the label value where a version cannot tell.
const unknown = "unknown"

// figuresOf reads a snapshot.
func figuresOf(s Snapshot) figures {
	r := registryOf(s)
	f := figures{queue: queueOf(s), workers: workerCount(s, r)}
	f.assigned, f.unassigned = slots(s, r)
	f.info = infoOf(s, r)
	f.perWorker = workersOf(s, r, f.workers)
	return f
}

// registry is the master's list of workers, where it has told one.
type registry struct {
	workers []Worker
	// told is true when workers are all that are registered.
	told bool
	// lost is true when the master said that it does not know its workers just
	// now. Then nothing that is counted from the same registry may be used.
	lost bool
	// collected is when the list was made.
	collected Moment
}

func registryOf(s Snapshot) registry {
	if r := s.Resources; r != nil {
		return registry{workers: r.Workers, told: r.Available, lost: !r.Available, collected: r.CollectedAt}
	}
	if s.Pending != nil && s.Pending.Workers != nil {
		return registry{workers: s.Pending.Workers, told: true}
	}
	return registry{}
}

func workerCount(s Snapshot, r registry) Count {
	switch {
	case r.lost:
		return Count{}
	case s.Overview != nil && s.Overview.Workers.Known:
		return s.Overview.Workers
	case r.told:
		return Count{Value: int64(len(r.workers)), Known: true}
	}
	return Count{}
}

// slots are the cluster's slots, unknown when a worker is dynamic: its total is
// whatever is used, which reads as full.
func slots(s Snapshot, r registry) (assigned, unassigned Count) {
	switch {
	case r.lost:
		return Count{}, Count{}
	case r.told:
		for _, w := range r.workers {
			if !w.Dynamic.Known || w.Dynamic.Value {
				return Count{}, Count{}
			}
		}
		if assigned, unassigned := sumSlots(r.workers); assigned.Known {
			return assigned, unassigned
		}
	case !s.Unsupported[EndpointPendingJobs] || !s.Unsupported[EndpointResourceWorkers]:
		// The reply that would tell of dynamic workers, or its list, is missing.
		return Count{}, Count{}
	}
	o := s.Overview
	if o == nil {
		return Count{}, Count{}
	}
	if o.TotalSlots == (Count{Known: true}) && o.Workers != (Count{Known: true}) {
		// Only dynamic workers have no slots.
		return Count{}, Count{}
	}
	return slotPair(o.TotalSlots, o.UnassignedSlots)
}

func sumSlots(workers []Worker) (assigned, unassigned Count) {
	assigned, unassigned = Count{Known: true}, Count{Known: true}
	for _, w := range workers {
		a, u := slotPair(w.TotalSlots, w.FreeSlots)
		if !a.Known {
			return Count{}, Count{}
		}
		assigned.Value += a.Value
		unassigned.Value += u.Value
	}
	return assigned, unassigned
}

// slotPair is unknown as a whole when it does not add up.
func slotPair(total, free Count) (assigned, unassigned Count) {
	if !total.Known || !free.Known || free.Value > total.Value {
		return Count{}, Count{}
	}
	return Count{Value: total.Value - free.Value, Known: true}, free
}

// infoOf is nil while a reply is missing that this version has: "unknown" is
// for what the version cannot tell, and a label that comes and goes with each
// failure would make new series.
func infoOf(s Snapshot, r registry) *infoFigures {
	if s.Overview == nil || s.missing(EndpointPendingJobs) || r.lost {
		return nil
	}
	if !r.told && s.missing(EndpointResourceWorkers) {
		return nil
	}
	if p := s.Pending; p != nil && p.Cut != nil && (p.Strategy == "" || !r.told) {
		return nil
	}
	info := &infoFigures{version: word(string(s.Overview.ProjectVersion)), strategy: unknown, slotMode: slotMode(r)}
	if s.Pending != nil {
		info.strategy = word(s.Pending.Strategy)
	}
	return info
}

func slotMode(r registry) string {
	dynamic, fixed := false, false
	for _, w := range r.workers {
		if !w.Dynamic.Known {
			return unknown
		}
		dynamic = dynamic || w.Dynamic.Value
		fixed = fixed || !w.Dynamic.Value
	}
	switch {
	case dynamic && fixed:
		return "mixed"
	case dynamic:
		return "dynamic"
	case fixed:
		return "fixed"
	}
	return unknown
}

// maxWord bounds a foreign text that becomes a label value, in bytes.
const maxWord = 64

// word lets a foreign text become a label value only if it is one short word.
func word(s string) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+"
	if s == "" || len(s) > maxWord || strings.Trim(s, letters) != "" {
		return unknown
	}
	return s
}

// queueOf reads the waiting queue. An empty one has waited 0 s and lacks 0
// slots. A version without a queue has an empty one while it answers; a version
// with a queue and without /pending-jobs says nothing about it.
func queueOf(s Snapshot) queueFigures {
	zero := Count{Known: true}
	if s.Pending == nil {
		switch o := s.Overview; {
		case o == nil:
		case o.Version().Known && !o.Version().HasQueue():
			return queueFigures{size: zero, oldestWait: Number{Known: true}, lacking: zero, all: zero}
		case !s.Unsupported[EndpointPendingJobs]:
			return queueFigures{size: o.PendingJobs}
		}
		return queueFigures{}
	}
	p := s.Pending
	q := queueFigures{size: Count{Value: p.Size, Known: true}}
	if p.Size == 0 {
		q.oldestWait, q.lacking, q.all = Number{Known: true}, zero, zero
		return q
	}
	q.all, _ = p.Lacking()
	if wait, ok := p.OldestWait(s.PendingSent, s.Taken.UnixMilli()); ok {
		q.oldestWait = Number{Value: float64(wait) / 1000, Known: true}
	}
	head, ok := p.Head()
	if !ok {
		return q
	}
	q.lacking, q.required = head.LackingTaskGroups, head.TotalTaskGroups
	if id := word(string(head.ID)); id != unknown {
		q.head = &headFigures{jobID: id, reason: word(string(head.FailureReason))}
	}
	return q
}

// workersOf joins the list of workers with the measurements of the members.
// Without a list the workers are the members that are no master, or all of
// them, whichever has the right number (a standby master looks like a worker).
// A member without an address may be any of them, so then nobody is told apart.
func workersOf(s Snapshot, r registry, count Count) []workerFigures {
	if r.told {
		byAddress := make(map[Address]Member, len(s.Members))
		for _, m := range s.Members {
			byAddress[m.Address] = m
		}
		out := make([]workerFigures, 0, len(r.workers))
		for _, w := range r.workers {
			f := registered(w)
			f.measure(s, byAddress[w.Address], w, r.collected)
			out = append(out, f)
		}
		return out
	}
	if r.lost || !count.Known {
		return nil
	}
	var others []Member
	for _, m := range s.Members {
		if m.Address == "" {
			return nil
		}
		if !m.Master {
			others = append(others, m)
		}
	}
	members := others
	if int64(len(others)) != count.Value {
		members = s.Members
	}
	if int64(len(members)) != count.Value {
		return nil
	}
	out := make([]workerFigures, 0, len(members))
	for _, m := range members {
		f := workerFigures{address: m.Address}
		f.measure(s, m, Worker{}, Moment{})
		out = append(out, f)
	}
	return out
}

// registered are the values that the list of workers has.
func registered(w Worker) workerFigures {
	f := workerFigures{address: w.Address, dynamic: w.Dynamic}
	if w.Dynamic.Known && !w.Dynamic.Value {
		f.assigned, f.unassigned = slotPair(w.TotalSlots, w.FreeSlots)
	}
	if f.used, _ = slotPair(w.TotalSlots, w.FreeSlots); !f.used.Known {
		f.used = w.UsedSlots
	}
	if w.RunningJobIDs != nil {
		ids := slices.Compact(slices.Sorted(slices.Values(w.RunningJobIDs)))
		f.jobs = Count{Value: int64(len(ids)), Known: true}
	}
	f.cores = measured(w.TotalCPUCores, w.AvailableCPUCores)
	f.heap = measured(w.TotalHeapMemoryBytes, w.AvailableHeapMemoryBytes)
	return f
}

// measured is unknown where the total is 0: a worker without cores or heap is
// one that did not measure.
func measured(total, available Number) resource {
	if total.Known && total.Value == 0 {
		return resource{}
	}
	return resource{total: total, available: available}
}

// measure takes load and memory from the member's row, else from the list of
// workers.
func (f *workerFigures) measure(s Snapshot, m Member, w Worker, collected Moment) {
	f.processors = m.Processors
	f.cpu, f.memory = m.CPU, m.Memory
	listed := false
	if !f.cpu.Known && w.CPUUsage.Known {
		f.cpu, listed = w.CPUUsage, true
	}
	if !f.memory.Known && w.MemUsage.Known {
		f.memory, listed = w.MemUsage, true
	}
	switch {
	case !f.cpu.Known && !f.memory.Known:
	case listed:
		f.age = sampleAge(collected, s.ResourcesSent, s.Taken.UnixMilli())
	default:
		f.age = Number{Known: true}
	}
}

// sampleAge is how old the list of workers says it is, in seconds: 0 when it
// says nothing, for it has just been received, and unknown when what it says
// can be no time. It is measured on the clock of whoever sent the list, because
// ours may differ; on ours when sent is 0.
func sampleAge(collected Moment, sent, now int64) Number {
	if !collected.Given {
		return Number{Known: true}
	}
	if sent == 0 {
		sent = now
	}
	age := sent - collected.Value
	if !collected.Known || age < -maxAhead {
		return Number{}
	}
	return Number{Value: float64(max(0, age)) / 1000, Known: true}
}
