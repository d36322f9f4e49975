package zeta

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func known(v int64) Count { return Count{Value: v, Known: true} }

func addresses(workers []workerFigures) []Address {
	var out []Address
	for _, w := range workers {
		out = append(out, w.address)
	}
	return out
}

func TestWhoIsAWorker(t *testing.T) {
	member := func(addr string, master bool) Member {
		return Member{Address: Address(addr), Master: master, CPU: Ratio{Value: 0.5, Known: true}}
	}
	separated := []Member{member("m:1", true), member("a:1", false), member("b:1", false)}
	standby := []Member{member("m:1", true), member("s:1", false), member("a:1", false)}
	listed := []Worker{{Address: "a:1"}, {Address: "c:1"}}
	old := map[Endpoint]bool{EndpointPendingJobs: true, EndpointResourceWorkers: true}
	for name, tc := range map[string]struct {
		snap Snapshot
		want []Address
	}{
		"non-masters when their number fits": {Snapshot{Overview: &Overview{Workers: known(2)}, Members: separated, Unsupported: old}, []Address{"a:1", "b:1"}},
		"all members when hybrid":            {Snapshot{Overview: &Overview{Workers: known(3)}, Members: separated, Unsupported: old}, []Address{"m:1", "a:1", "b:1"}},
		"nobody when no number fits":         {Snapshot{Overview: &Overview{Workers: known(1)}, Members: standby, Unsupported: old}, nil},
		"nobody when the number is unknown":  {Snapshot{Overview: &Overview{}, Members: separated, Unsupported: old}, nil},
		"nobody without workers":             {Snapshot{Overview: &Overview{Workers: known(0)}, Members: separated[:1], Unsupported: old}, nil},
		"nobody when one has no name":        {Snapshot{Overview: &Overview{Workers: known(3)}, Members: append(separated[:2:2], member("b:1", false), member("", false)), Unsupported: old}, nil},
		"the list of pending-jobs":           {Snapshot{Overview: &Overview{Workers: known(2)}, Members: separated, Pending: &PendingJobs{Workers: listed}}, []Address{"a:1", "c:1"}},
		"an empty list is a list":            {Snapshot{Overview: &Overview{Workers: known(2)}, Members: separated, Pending: &PendingJobs{Workers: []Worker{}}}, nil},
		"no list in pending-jobs":            {Snapshot{Overview: &Overview{Workers: known(2)}, Members: separated, Pending: &PendingJobs{}, Unsupported: old}, []Address{"a:1", "b:1"}},
		"resource/workers before it": {Snapshot{
			Overview: &Overview{Workers: known(2)}, Pending: &PendingJobs{Workers: []Worker{{Address: "z:1"}}},
			Resources: &ResourceWorkers{Available: true, Workers: listed},
		}, []Address{"a:1", "c:1"}},
		"nobody while the master does not know": {Snapshot{
			Overview: &Overview{Workers: known(2)}, Members: separated, Pending: &PendingJobs{Workers: listed},
			Resources: &ResourceWorkers{},
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, addresses(figuresOf(tc.snap).perWorker))
		})
	}
}

func TestWorkersAndSlots(t *testing.T) {
	fixed := Flag{Known: true}
	dynamic := Flag{Value: true, Known: true}
	worker := func(addr string, total, free int64, d Flag) Worker {
		return Worker{Address: Address(addr), TotalSlots: known(total), FreeSlots: known(free), Dynamic: d}
	}
	overview := func(workers, total, free int64) *Overview {
		return &Overview{Workers: known(workers), TotalSlots: known(total), UnassignedSlots: known(free)}
	}
	old := map[Endpoint]bool{EndpointPendingJobs: true, EndpointResourceWorkers: true}
	older := map[Endpoint]bool{EndpointResourceWorkers: true}
	list := func(w ...Worker) *PendingJobs { return &PendingJobs{Workers: w} }
	for name, tc := range map[string]struct {
		snap                          Snapshot
		workers, assigned, unassigned Count
	}{
		"overview alone":               {Snapshot{Overview: overview(2, 4, 1), Unsupported: old}, known(2), known(3), known(1)},
		"no workers":                   {Snapshot{Overview: overview(0, 0, 0), Unsupported: old}, known(0), known(0), known(0)},
		"workers without slots":        {Snapshot{Overview: overview(2, 0, 0), Unsupported: old}, known(2), Count{}, Count{}},
		"more free than there are":     {Snapshot{Overview: overview(2, 4, 5), Unsupported: old}, known(2), Count{}, Count{}},
		"sum of fixed workers":         {Snapshot{Overview: overview(2, 9, 9), Pending: list(worker("a:1", 2, 1, fixed), worker("b:1", 4, 4, fixed))}, known(2), known(1), known(5)},
		"one worker is dynamic":        {Snapshot{Overview: overview(2, 4, 0), Pending: list(worker("a:1", 2, 1, fixed), worker("b:1", 2, 0, dynamic))}, known(2), Count{}, Count{}},
		"a worker does not say":        {Snapshot{Overview: overview(1, 4, 0), Pending: list(worker("a:1", 2, 1, Flag{}))}, known(1), Count{}, Count{}},
		"list without slots":           {Snapshot{Overview: overview(1, 4, 0), Pending: list(Worker{Address: "a:1", Dynamic: fixed})}, known(1), known(4), known(0)},
		"pending-jobs failed":          {Snapshot{Overview: overview(2, 4, 0), Unsupported: older, Errors: map[Endpoint]error{EndpointPendingJobs: errors.New("too large")}}, known(2), Count{}, Count{}},
		"pending-jobs not come back":   {Snapshot{Overview: overview(2, 4, 0), Unsupported: older}, known(2), Count{}, Count{}},
		"overview failed":              {Snapshot{Pending: list(worker("a:1", 2, 1, fixed)), Unsupported: older}, known(1), known(1), known(1)},
		"everything failed":            {Snapshot{}, Count{}, Count{}, Count{}},
		"the master does not know now": {Snapshot{Overview: overview(0, 0, 0), Pending: list(), Resources: &ResourceWorkers{}}, Count{}, Count{}, Count{}},
	} {
		t.Run(name, func(t *testing.T) {
			f := figuresOf(tc.snap)
			require.Equal(t, []Count{tc.workers, tc.assigned, tc.unassigned}, []Count{f.workers, f.assigned, f.unassigned})
		})
	}
}

func TestQueue(t *testing.T) {
	zero := queueFigures{size: known(0), oldestWait: Number{Known: true}, lacking: known(0), all: known(0)}
	version := func(v string) *Overview { return &Overview{ProjectVersion: Text(v), Workers: known(1)} }
	none := map[Endpoint]bool{EndpointPendingJobs: true}
	head := PendingJob{
		ID: "7", EnqueueTimestamp: at(1000), CheckTime: at(5000), WaitDurationMs: known(4000),
		TotalTaskGroups: known(10), LackingTaskGroups: known(6), FailureReason: "RESOURCE_NOT_ENOUGH",
	}
	behind := PendingJob{ID: "8", EnqueueTimestamp: at(2000), CheckTime: at(9000), LackingTaskGroups: known(2)}
	want := queueFigures{
		size: known(2), oldestWait: Number{Value: 8, Known: true}, lacking: known(6), required: known(10), all: known(8),
		head: &headFigures{jobID: "7", reason: "RESOURCE_NOT_ENOUGH"},
	}
	for name, tc := range map[string]struct {
		snap Snapshot
		want queueFigures
	}{
		"2.3.8 has none":         {Snapshot{Overview: version("2.3.8"), Unsupported: none}, zero},
		"2.3.8 does not answer":  {Snapshot{Unsupported: none}, queueFigures{}},
		"2.3.12 cannot tell":     {Snapshot{Overview: version("2.3.12"), Unsupported: none}, queueFigures{}},
		"an unknown version":     {Snapshot{Overview: version("?"), Unsupported: none}, queueFigures{}},
		"pending-jobs failed":    {Snapshot{Overview: &Overview{ProjectVersion: "2.3.13", PendingJobs: known(3)}, Errors: map[Endpoint]error{EndpointPendingJobs: errors.New("x")}}, queueFigures{size: known(3)}},
		"empty":                  {Snapshot{Pending: &PendingJobs{}}, zero},
		"the head is the oldest": {Snapshot{Pending: &PendingJobs{Size: 2, Jobs: []PendingJob{behind, head}}}, want},
		"one that does not say what it lacks": {
			Snapshot{Pending: &PendingJobs{Size: 2, Jobs: []PendingJob{head, {ID: "9", EnqueueTimestamp: at(2000), CheckTime: at(9000)}}}},
			queueFigures{size: want.size, oldestWait: want.oldestWait, lacking: want.lacking, required: want.required, head: want.head},
		},
		"a list that breaks off": {
			Snapshot{Pending: &PendingJobs{Size: 2, Jobs: []PendingJob{behind, head}, Cut: errors.New("x")}},
			queueFigures{size: want.size, oldestWait: want.oldestWait, lacking: want.lacking, required: want.required, head: want.head},
		},
		"jobs that are not in the reply": {Snapshot{Pending: &PendingJobs{Size: 2}}, queueFigures{size: known(2)}},
		"a head that does not say what it lacks": {
			Snapshot{Pending: &PendingJobs{Size: 1, Jobs: []PendingJob{{EnqueueTimestamp: at(1000), WaitDurationMs: known(500)}}}},
			queueFigures{size: known(1), oldestWait: Number{Value: 0.5, Known: true}},
		},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, queueOf(tc.snap)) })
	}
}

func TestOldestWait(t *testing.T) {
	job := func(enqueued, checked Moment, waited Count) PendingJobs {
		return PendingJobs{Size: 1, Jobs: []PendingJob{{EnqueueTimestamp: enqueued, CheckTime: checked, WaitDurationMs: waited}}}
	}
	for name, tc := range map[string]struct {
		p         PendingJobs
		sent, now int64
		want      int64
		ok        bool
	}{
		"as the reply says":              {job(at(1000), at(5000), known(4000)), 0, 99_000, 4000, true},
		"the check stands still":         {job(at(1000), at(5000), known(4000)), 61_000, 99_000, 60_000, true},
		"sent is cut to whole seconds":   {job(at(1500), at(5900), known(4400)), 5000, 99_000, 4400, true},
		"from the time of the check":     {job(at(1000), at(5000), Count{}), 0, 99_000, 4000, true},
		"our clock, for want of another": {job(at(1000), Moment{}, Count{}), 0, 99_000, 98_000, true},
		"a clock behind the master's":    {job(at(1000), Moment{}, Count{}), 0, 400, 0, true},
		"enqueued an hour from now":      {job(at(3_700_000), Moment{}, Count{}), 100_000, 99_000, 0, false},
		"the same, and Zeta says 0":      {job(at(3_700_000), Moment{}, known(0)), 100_000, 99_000, 0, false},
		"the same, and Zeta counts":      {job(at(3_700_000), Moment{}, known(4000)), 100_000, 99_000, 4000, true},
		"checked an hour from now":       {job(at(1000), at(3_700_000), known(4000)), 6000, 99_000, 5000, true},
		"no time of enqueueing":          {job(Moment{}, at(5000), known(4000)), 0, 99_000, 0, false},
		"enqueued at 0 means not at all": {job(Moment{Given: true}, at(5000), known(4000)), 0, 99_000, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := tc.p.OldestWait(tc.sent, tc.now)
			require.Equal(t, tc.ok, ok)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestInfo(t *testing.T) {
	overview := &Overview{ProjectVersion: "2.3.13"}
	pending := &PendingJobs{Strategy: "WAIT", Workers: []Worker{{Address: "a:1", Dynamic: Flag{Known: true}}}}
	older := map[Endpoint]bool{EndpointResourceWorkers: true}
	both := map[Endpoint]bool{EndpointResourceWorkers: true, EndpointPendingJobs: true}
	require.Equal(t, &infoFigures{"2.3.13", "WAIT", "fixed"}, figuresOf(Snapshot{Overview: overview, Pending: pending, Unsupported: older}).info)
	require.Equal(t, &infoFigures{"2.3.9", unknown, unknown}, figuresOf(Snapshot{Overview: &Overview{ProjectVersion: "2.3.9"}, Unsupported: both}).info)
	require.Nil(t, figuresOf(Snapshot{Overview: overview, Unsupported: older}).info, "the version could tell, the reply is missing")
	require.Nil(t, figuresOf(Snapshot{Pending: pending, Unsupported: older}).info)
	require.Equal(t, &infoFigures{unknown, unknown, unknown}, figuresOf(Snapshot{Overview: &Overview{ProjectVersion: "a\nb"}, Unsupported: both}).info)
}

func TestSampleAge(t *testing.T) {
	now := testNow()
	load := Ratio{Value: 0.4, Known: true}
	w := Worker{Address: "a:1", CPUUsage: load, MemUsage: load}
	snap := func(collected Moment, members ...Member) Snapshot {
		return Snapshot{Taken: now, Members: members, Resources: &ResourceWorkers{Available: true, CollectedAt: collected, Workers: []Worker{w}}}
	}
	age := func(s Snapshot) Number { return figuresOf(s).perWorker[0].age }
	ms := now.UnixMilli()
	require.Equal(t, Number{Value: 7, Known: true}, age(snap(at(ms-7000))))
	require.Equal(t, Number{Known: true}, age(snap(at(ms+7000))), "a clock ahead of ours makes no negative age")
	require.Equal(t, Number{Known: true}, age(snap(Moment{})))
	require.Equal(t, Number{Known: true}, age(snap(at(ms-7000), Member{Address: "a:1", CPU: load, Memory: load})), "the member's own row was just received")
	require.Equal(t, Number{Value: 7, Known: true}, age(snap(at(ms-7000), Member{Address: "a:1", CPU: load})), "as old as the older part")
	require.False(t, age(snap(Moment{Given: true})).Known, "a time that is none is no reason to believe that the sample is fresh")
	require.False(t, age(snap(at(ms+3_600_000))).Known, "collected an hour from now")
	skewed := snap(at(ms + 3_600_000))
	skewed.ResourcesSent = ms + 3_607_000
	require.Equal(t, Number{Value: 7, Known: true}, age(skewed), "by the clock of whoever answered, if it tells")
	w.CPUUsage, w.MemUsage = Ratio{}, Ratio{}
	require.False(t, age(snap(at(ms-7000))).Known, "no sample, no age")
}

// at is a time that a reply gives.
func at(v int64) Moment { return Moment{Value: v, Known: true, Given: true} }

func TestWhatTellsOfDynamicWorkersIsNeeded(t *testing.T) {
	fixed := Worker{Address: "a:1", TotalSlots: known(2), FreeSlots: known(1), Dynamic: Flag{Known: true}}
	silent := fixed
	silent.Dynamic = Flag{}
	snap := func(p *PendingJobs) figures {
		return figuresOf(Snapshot{
			Overview:    &Overview{ProjectVersion: "2.3.13", TotalSlots: known(2), UnassignedSlots: known(1), Workers: known(1)},
			Pending:     p,
			Unsupported: map[Endpoint]bool{EndpointResourceWorkers: true},
		})
	}
	require.Equal(t, known(1), snap(&PendingJobs{Workers: []Worker{fixed}}).assigned)
	require.Equal(t, known(1), snap(&PendingJobs{Workers: []Worker{fixed}}).perWorker[0].assigned)
	require.False(t, snap(&PendingJobs{Workers: []Worker{silent}}).assigned.Known)
	require.False(t, snap(&PendingJobs{Workers: []Worker{silent}}).perWorker[0].assigned.Known, "nor of the worker")
	require.False(t, snap(&PendingJobs{}).assigned.Known, "a reply without the list does not tell either")
}

func TestJobsOfAWorkerCountOnce(t *testing.T) {
	require.Equal(t, known(2), registered(Worker{RunningJobIDs: []Text{"7", "8", "7"}}).jobs)
	require.Equal(t, known(0), registered(Worker{RunningJobIDs: []Text{}}).jobs)
	require.False(t, registered(Worker{}).jobs.Known)
}
