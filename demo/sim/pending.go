package sim

import (
	"fmt"
	"math"
)

const (
	reasonNotEnough  = "RESOURCE_NOT_ENOUGH"
	messageNotEnough = "Slot request future not created"
)

// pendingReply is /pending-jobs of 2.3.13: numbers are numbers here.
type pendingReply struct {
	QueueSummary    queueSummary    `json:"queueSummary"`
	ClusterSnapshot clusterSnapshot `json:"clusterSnapshot"`
	PendingJobs     []pendingJob    `json:"pendingJobs"`
}

type queueSummary struct {
	Size              int      `json:"size"`
	ScheduleStrategy  Strategy `json:"scheduleStrategy"`
	OldestEnqueue     int64    `json:"oldestEnqueueTimestamp"`
	NewestEnqueue     int64    `json:"newestEnqueueTimestamp"`
	LackingTaskGroups int      `json:"lackingTaskGroups"`
}

type clusterSnapshot struct {
	TotalSlots    int              `json:"totalSlots"`
	FreeSlots     int              `json:"freeSlots"`
	AssignedSlots int              `json:"assignedSlots"`
	WorkerCount   int              `json:"workerCount"`
	Workers       []workerSnapshot `json:"workers"`
}

type workerSnapshot struct {
	Address       string            `json:"address"`
	Tags          map[string]string `json:"tags"`
	TotalSlots    int               `json:"totalSlots"`
	FreeSlots     int               `json:"freeSlots"`
	DynamicSlot   bool              `json:"dynamicSlot"`
	CPUUsage      *float64          `json:"cpuUsage,omitempty"`
	MemUsage      *float64          `json:"memUsage,omitempty"`
	RunningJobIDs []int64           `json:"runningJobIds"`
}

type pendingJob struct {
	JobID               int64             `json:"jobId"`
	JobName             string            `json:"jobName"`
	PendingSourceState  string            `json:"pendingSourceState"`
	JobStatus           string            `json:"jobStatus"`
	EnqueueTimestamp    int64             `json:"enqueueTimestamp"`
	CheckTime           int64             `json:"checkTime"`
	WaitDurationMs      int64             `json:"waitDurationMs"`
	CheckCount          int               `json:"checkCount"`
	TotalTaskGroups     int               `json:"totalTaskGroups"`
	AllocatedTaskGroups int               `json:"allocatedTaskGroups"`
	LackingTaskGroups   int               `json:"lackingTaskGroups"`
	FailureReason       string            `json:"failureReason"`
	FailureMessage      string            `json:"failureMessage"`
	TagFilter           map[string]string `json:"tagFilter"`
	BlockingJobIDs      []int64           `json:"blockingJobIds"`
	Pipelines           []pipeline        `json:"pipelines"`
	LackingDiagnostics  []taskGroup       `json:"lackingTaskGroupDiagnostics"`
}

type pipeline struct {
	PipelineID           int         `json:"pipelineId"`
	PipelineName         string      `json:"pipelineName"`
	TotalTaskGroups      int         `json:"totalTaskGroups"`
	AllocatedTaskGroups  int         `json:"allocatedTaskGroups"`
	LackingTaskGroups    int         `json:"lackingTaskGroups"`
	TaskGroupDiagnostics []taskGroup `json:"taskGroupDiagnostics"`
}

type taskGroup struct {
	Location       taskGroupLocation `json:"taskGroupLocation"`
	TaskFullName   string            `json:"taskFullName"`
	Allocated      bool              `json:"allocated"`
	FailureReason  string            `json:"failureReason"`
	FailureMessage string            `json:"failureMessage"`
}

type taskGroupLocation struct {
	JobID       int64 `json:"jobId"`
	PipelineID  int   `json:"pipelineId"`
	TaskGroupID int   `json:"taskGroupId"`
}

// pendingJobs lists at most limit jobs of the queue, all of them for 0. What they
// lack is summed up of those that are listed, as in Zeta.
func (c *Cluster) pendingJobs(limit int) pendingReply {
	q := c.pending()
	listed := q
	if limit > 0 && limit < len(q) {
		listed = q[:limit]
	}
	rep := pendingReply{ClusterSnapshot: c.snapshot(), PendingJobs: []pendingJob{}}
	rep.QueueSummary.ScheduleStrategy = c.opt.Strategy
	blocking := c.blockingJobs()
	for _, j := range listed {
		rep.PendingJobs = append(rep.PendingJobs, c.pendingJob(j, blocking))
		rep.QueueSummary.LackingTaskGroups += j.need()
	}
	if len(q) > 0 {
		rep.QueueSummary.Size = len(q)
		rep.QueueSummary.OldestEnqueue = q[0].enqueued.UnixMilli()
		rep.QueueSummary.NewestEnqueue = q[len(q)-1].enqueued.UnixMilli()
	}
	return rep
}

// blockingJobs are the jobs that hold slots.
func (c *Cluster) blockingJobs() []int64 {
	ids := []int64{}
	for _, j := range c.jobs {
		if !j.started.IsZero() {
			ids = append(ids, j.id)
		}
	}
	return ids
}

func (c *Cluster) snapshot() clusterSnapshot {
	total, free := c.slotTotals()
	s := clusterSnapshot{
		TotalSlots:    total,
		FreeSlots:     free,
		AssignedSlots: total - free,
		WorkerCount:   len(c.workers),
		Workers:       []workerSnapshot{},
	}
	for _, m := range c.workers {
		s.Workers = append(s.Workers, c.workerSnapshot(m))
	}
	return s
}

// workerSnapshot has a load only under SYSTEM_LOAD and only while the worker
// reports one; Zeta leaves the keys out otherwise.
func (c *Cluster) workerSnapshot(m *member) workerSnapshot {
	total, free := c.slotsOf(m)
	w := workerSnapshot{
		Address:       m.address(),
		Tags:          map[string]string{},
		TotalSlots:    total,
		FreeSlots:     free,
		DynamicSlot:   c.opt.DynamicSlots,
		RunningJobIDs: []int64{},
	}
	if c.opt.SystemLoad && m.frozenAt.IsZero() {
		cpu, mem := round4(m.shownCPU), round4(m.shownHeap)
		w.CPUUsage, w.MemUsage = &cpu, &mem
	}
	for _, j := range c.jobs {
		if m.slots[j] > 0 {
			w.RunningJobIDs = append(w.RunningJobIDs, j.id)
		}
	}
	return w
}

func round4(x float64) float64 { return math.Round(x*1e4) / 1e4 }

func (c *Cluster) pendingJob(j *job, blocking []int64) pendingJob {
	groups := taskGroups(j)
	return pendingJob{
		JobID:              j.id,
		JobName:            j.spec.Name,
		PendingSourceState: "SUBMIT",
		JobStatus:          statusPending,
		EnqueueTimestamp:   j.enqueued.UnixMilli(),
		CheckTime:          c.now.UnixMilli(),
		WaitDurationMs:     c.now.Sub(j.enqueued).Milliseconds(),
		CheckCount:         j.checks,
		TotalTaskGroups:    j.need(),
		LackingTaskGroups:  j.need(),
		FailureReason:      reasonNotEnough,
		FailureMessage:     messageNotEnough,
		TagFilter:          map[string]string{},
		BlockingJobIDs:     blocking,
		Pipelines: []pipeline{{
			PipelineID:           1,
			PipelineName:         fmt.Sprintf("Job %s (%d), Pipeline: [(1/1)]", j.spec.Name, j.id),
			TotalTaskGroups:      j.need(),
			LackingTaskGroups:    j.need(),
			TaskGroupDiagnostics: groups,
		}},
		LackingDiagnostics: groups,
	}
}

// taskGroups are the enumerator and one source task for each parallel
// instance: 1 + P.
func taskGroups(j *job) []taskGroup {
	gs := make([]taskGroup, 0, j.need())
	for i := 1; i <= j.need(); i++ {
		task := fmt.Sprintf("SourceTask (%d/%d)", i-1, j.spec.Parallelism)
		if i == 1 {
			task = "SplitEnumerator (1/1)"
		}
		gs = append(gs, taskGroup{
			Location: taskGroupLocation{JobID: j.id, PipelineID: 1, TaskGroupID: i},
			TaskFullName: fmt.Sprintf("Job (%d), Pipeline: [(1/1)], task: [pipeline-1 [Source[0]-FakeSource]-%s], "+
				"taskGroupLocation: [TaskGroupLocation{jobId=%d, pipelineId=1, taskGroupId=%d}]", j.id, task, j.id, i),
			FailureReason:  reasonNotEnough,
			FailureMessage: messageNotEnough,
		})
	}
	return gs
}
