package drain

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/zeta"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// reading is what was seen. An error says that a part of it is not known, which
// is never taken for nothing.
type reading struct {
	// workers are the platform's, in the order in which it would remove them; used
	// is how many of their slots are in use, where one may be chosen.
	workers    []actuators.Worker
	workersErr error
	used       map[string]int
	// target is what the platform was asked for.
	target    actuators.State
	targetErr error

	cluster    control.Cluster
	clusterErr error
	// slots are the victim's, placed what runs there.
	slots     control.Slots
	slotsErr  error
	placed    []control.TaskGroup
	placedErr error
	// running are all jobs that run or wait.
	running    []control.Job
	runningErr error
	// configs says of each streaming job on the victim which config there is for it,
	// or why none.
	configs map[string]registered
	// bound are the slots elsewhere for the jobs on the victim that cannot run on
	// every worker, by job.
	bound map[string]room
	// each has the jobs that were asked about one by one.
	each map[string]answer
}

// registered is the digest of the config that is registered for a job, or why there
// is none.
type registered struct {
	digest string
	err    error
}

// answer is what Zeta said about one job.
type answer struct {
	job control.Job
	err error
}

// room is where else a job can run that is bound to workers with certain tags:
// those, and their slots without the victim's.
type room struct {
	tags  string
	slots control.Slots
	err   error
}

// finding is what a survey means for a drain.
type finding struct {
	// unknown says which part is not known; nothing else counts then.
	unknown error
	// why speaks against a drain; empty if nothing does. victim says that it is for
	// the worker itself, which is not going to change.
	why    string
	victim bool
	// jobs are those on the worker, holds those of ours that hold slots and that
	// nobody waits for.
	jobs  []scaling.DrainJob
	holds []string
	// used are the slots of the worker that are in use, unnamed how many of them
	// have no job that could be named.
	used, unnamed int
}

// examine finds out what a survey means for a drain that has nothing of its own on
// the worker.
func (o *outcome) examine(victim actuators.Worker, s *reading) finding {
	var f finding
	switch {
	case s.workersErr != nil && !errors.Is(s.workersErr, actuators.ErrUnsupported):
		f.unknown = fmt.Errorf("the platform's workers: %w", s.workersErr)
	case s.targetErr != nil && !errors.Is(s.targetErr, actuators.ErrUnsupported) && !errors.Is(s.targetErr, actuators.ErrRefused):
		f.unknown = fmt.Errorf("the platform: %w", s.targetErr)
	case s.clusterErr != nil:
		f.unknown = fmt.Errorf("the cluster: %w", s.clusterErr)
	case s.runningErr != nil:
		f.unknown = fmt.Errorf("the running jobs: %w", s.runningErr)
	case s.slotsErr != nil && !errors.Is(s.slotsErr, control.ErrUnsupported):
		f.unknown = fmt.Errorf("the slots of worker %s: %w", victim.Name, s.slotsErr)
	case s.slots.Used > 0 && s.placedErr != nil && !errors.Is(s.placedErr, control.ErrUnsupported):
		f.unknown = fmt.Errorf("the jobs of worker %s: %w", victim.Name, s.placedErr)
	}
	if f.unknown != nil {
		return f
	}
	if f.why = o.againstVictim(victim, s); f.why != "" {
		f.victim = true
		return f
	}
	if f.why = o.againstTarget(s); f.why != "" {
		return f
	}
	if f.why = againstCluster(s); f.why != "" {
		return f
	}
	if s.slotsErr != nil {
		f.why = againstUntold(victim, s)
		return f
	}
	f.used = s.slots.Used
	o.nameJobs(victim, s, &f)
	if f.why == "" && f.unknown == nil && o.view.tick.slotMode != scaling.DynamicSlots {
		if free := s.cluster.Slots.Free() - s.slots.Free(); free < f.used {
			f.why = fmt.Sprintf("the other workers have %s, and %d %s in use on worker %s", scaling.Counted(free, "free slot"), f.used, scaling.Plural(f.used, "is", "are"), victim.Name)
		}
	}
	if f.why == "" && f.unknown == nil {
		f.why, f.unknown = againstTags(victim, s)
	}
	return f
}

// againstTags says which job of the worker cannot move, because the workers that
// it is bound to have no free slots for it.
func againstTags(victim actuators.Worker, s *reading) (why string, unknown error) {
	need := map[string]int{}
	for _, g := range s.placed {
		b, is := s.bound[g.Job]
		switch {
		case !is:
		case g.Pipeline == 0 && g.ID == 0: // a job whose parts are not told
			need[b.tags] = s.slots.Used
		default:
			need[b.tags]++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.bound)) {
		switch b := s.bound[id]; {
		case b.err != nil && b.tags == "":
			return fmt.Sprintf("job %s cannot be moved: %v", id, b.err), nil
		case b.err != nil:
			return "", fmt.Errorf("the workers that job %s is bound to: %w", id, b.err)
		case b.slots.Free() < need[b.tags]:
			return fmt.Sprintf("job %s runs only on workers with %s, and those beside worker %s have %s where %d %s needed",
				id, b.tags, victim.Name, scaling.Counted(b.slots.Free(), "free slot"), need[b.tags], scaling.Plural(need[b.tags], "is", "are")), nil
		}
	}
	return "", nil
}

// againstVictim says why this worker may not be removed; empty if it may.
func (o *outcome) againstVictim(victim actuators.Worker, s *reading) string {
	if s.workersErr != nil {
		return "the platform cannot say which workers it has; name them in the actuator's configuration"
	}
	at := slices.IndexFunc(s.workers, func(w actuators.Worker) bool { return w.Name == victim.Name })
	leaving := slices.IndexFunc(s.workers, func(w actuators.Worker) bool { return w.Leaving })
	count := len(s.workers)
	if !o.view.can.Lists {
		count = s.cluster.Slots.Workers
	}
	switch {
	case at < 0:
		return fmt.Sprintf("the platform has no worker %s (any more)", victim.Name)
	case !sameInstance(victim, s.workers[at]):
		return fmt.Sprintf("worker %s has come back as another one: its address was %s and is %s", victim.Name, victim.Address, s.workers[at].Address)
	case leaving >= 0:
		return fmt.Sprintf("the platform is removing worker %s already", s.workers[leaving].Name)
	case at > 0 && !o.view.can.Chooses:
		return fmt.Sprintf("the platform would remove worker %s, not %s", s.workers[0].Name, victim.Name)
	case count-1 < o.view.least():
		return fmt.Sprintf("min_workers is %d, and there %s %s", o.view.least(), scaling.Plural(count, "is", "are"), scaling.Counted(count, "worker"))
	case s.slotsErr == nil && s.slots.Workers == 0:
		return fmt.Sprintf("Zeta has no worker with the name %s", victim.Name)
	case s.slotsErr == nil && s.slots.Workers > 1:
		return fmt.Sprintf("%d of Zeta's workers bear the name %s", s.slots.Workers, victim.Name)
	}
	return o.againstMember(victim, s.cluster)
}

// againstMember says why the member of Zeta that the worker is may not go.
func (o *outcome) againstMember(victim actuators.Worker, c control.Cluster) string {
	lite := 0
	for _, m := range c.Members {
		if m.Lite {
			lite++
		}
	}
	if lite > 0 && lite >= c.Slots.Workers {
		return "" // every worker is one
	}
	var is []control.Member
	for _, m := range c.Members {
		if victim.Address != "" && sameAddress(victim.Address, m.Address) {
			is = append(is, m)
		}
	}
	switch {
	case len(is) != 1:
		return fmt.Sprintf("%d members of Zeta have the address %q of worker %s, so that it is not known whether it holds Zeta's state", len(is), victim.Address, victim.Name)
	case is[0].Master:
		return fmt.Sprintf("worker %s is Zeta's master", victim.Name)
	case is[0].Lite:
		return ""
	case !o.view.configured().AllowStateMembers:
		return fmt.Sprintf("worker %s holds a part of Zeta's state; allow_state_members lets it go", victim.Name)
	case c.Settled == nil || !*c.Settled:
		return "Zeta's state is still moving between its members, or it cannot be told"
	}
	return ""
}

// sameAddress compares the platform's address, which may lack the port, with that
// of a member.
func sameAddress(platform, member string) bool {
	is, ok := zeta.ParseAddress(member)
	if !ok {
		return platform == member
	}
	addr, ok := zeta.ParseAddress(platform)
	return ok && addr == is || zeta.SameHost(platform, is)
}

// againstCluster says what in the cluster forbids to move anything.
func againstCluster(s *reading) string {
	if s.cluster.Pending > 0 {
		return scaling.Counted(s.cluster.Pending, "job") + scaling.Plural(s.cluster.Pending, " waits", " wait") + " for slots"
	}
	for i := range s.running {
		j := &s.running[i]
		if j.Status != control.Running && !j.Status.Ended() && !strings.HasPrefix(j.Name, zeta.HoldPrefix) {
			return fmt.Sprintf("job %s (%s) is %s", j.ID, j.Name, j.Status)
		}
	}
	return ""
}

// againstUntold says why a worker of which Zeta cannot tell anything may not go:
// only an idle cluster proves that nothing runs there.
func againstUntold(victim actuators.Worker, s *reading) string {
	if len(s.running) == 0 && s.cluster.Running == 0 && s.cluster.Slots.Used == 0 {
		return ""
	}
	return fmt.Sprintf("Zeta cannot tell what runs on worker %s (its workers have no attribute that names them), and the cluster is not idle: %s, %s in use",
		victim.Name, scaling.Counted(max(len(s.running), s.cluster.Running), "job"), scaling.Counted(s.cluster.Slots.Used, "slot"))
}

// nameJobs finds the jobs of the worker.
func (o *outcome) nameJobs(victim actuators.Worker, s *reading, f *finding) {
	groups := map[control.TaskGroup]bool{}
	var ids []string
	for _, g := range s.placed {
		if groups[g] = true; !slices.Contains(ids, g.Job) {
			ids = append(ids, g.Job)
		}
	}
	slices.Sort(ids) // several are restored at once, and come back in any order
	if !booked(s.placed) {
		f.unnamed = max(0, f.used-len(groups))
	}
	if f.used > 0 && s.placedErr != nil {
		f.why = fmt.Sprintf("%s of worker %s %s in use, and it cannot tell by which jobs: its REST API is off", scaling.Counted(f.used, "slot"), victim.Name, scaling.Plural(f.used, "is", "are"))
		return
	}
	for _, id := range ids {
		at := slices.IndexFunc(s.running, func(j control.Job) bool { return j.ID == id })
		if at < 0 || s.running[at].Status.Ended() {
			continue // it has just ended; its slots say whether it is gone
		}
		j := &s.running[at]
		if j.Holds(victim.Name) {
			f.holds = append(f.holds, id)
			continue
		}
		found := scaling.DrainJob{ID: id, Name: j.Name, Mode: string(modeOf(j)), Step: scaling.JobMoving}
		switch modeOf(j) {
		case control.Batch:
			found.Step = scaling.JobWaiting
		case control.Streaming:
			c := s.configs[id]
			if found.Config = c.digest; c.err != nil {
				f.why = fmt.Sprintf("job %s (%s) cannot be restored: %s", id, j.Name, c.err)
			}
		default:
			f.why = fmt.Sprintf("the mode of job %s (%s) is not known", id, j.Name)
		}
		f.jobs = append(f.jobs, found)
	}
}

// booked reports whether the jobs of a worker are from the master's book, which
// names all of them and none of their parts.
func booked(placed []control.TaskGroup) bool {
	return slices.ContainsFunc(placed, func(g control.TaskGroup) bool { return g.Pipeline == 0 })
}

// modeOf is a job's mode, from the options that it was submitted with if Zeta does
// not say it otherwise.
func modeOf(j *control.Job) control.Mode {
	if j.Mode != "" {
		return j.Mode
	}
	return control.Mode(strings.ToUpper(j.Env["job.mode"]))
}
