package zeta

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// EndedStatus is how a job ended, as /finished-jobs calls it.
type EndedStatus string

// The statuses that Zeta keeps a history of.
const (
	Finished EndedStatus = "FINISHED"
	Canceled EndedStatus = "CANCELED"
	Failed   EndedStatus = "FAILED"
)

// EndedJob is one job of Zeta's history.
type EndedJob struct {
	Name   string
	Status EndedStatus
	// Created is when it was submitted and Finished when it ended, to the second:
	// in the zone of the server's clock, which the reply does not say, as if that
	// was UTC.
	Created, Finished time.Time
	// Pipelines is how many it had, at least 1. How parallel they were is not told.
	Pipelines int
	// Rejected is true for one that failed because there were too few slots.
	Rejected bool
}

// EndedJobs is the reply of /finished-jobs.
type EndedJobs struct {
	Jobs []EndedJob
	// Odd counts entries without a time that can be read.
	Odd int
	// Cut is why the reply was not read to its end, nil if it was.
	Cut error
}

// DecodeEndedJobs reads a body of /finished-jobs job by job. Jobs that hold the
// slots of a worker are left out. It fails when nothing of the list could be read.
func DecodeEndedJobs(r io.Reader) (EndedJobs, error) {
	type entry struct {
		Name     Text `json:"jobName"`
		Status   Text `json:"jobStatus"`
		Error    Text `json:"errorMsg"`
		Created  Text `json:"createTime"`
		Finished Text `json:"finishTime"`
		DAG      dag  `json:"jobDag"`
	}
	odd := 0
	jobs, cut, err := collect(r, func(job *entry) (EndedJob, bool) {
		if strings.HasPrefix(string(job.Name), HoldPrefix) {
			return EndedJob{}, false
		}
		created, err1 := time.Parse(time.DateTime, string(job.Created))
		finished, err2 := time.Parse(time.DateTime, string(job.Finished))
		if err1 != nil || err2 != nil || finished.Before(created) {
			odd++
			return EndedJob{}, false
		}
		return EndedJob{
			Name: string(job.Name), Status: EndedStatus(job.Status), Created: created, Finished: finished,
			Pipelines: max(1, job.DAG.pipelines), Rejected: strings.Contains(string(job.Error), lackOfSlots),
		}, true
	})
	return EndedJobs{Jobs: jobs, Odd: odd, Cut: cut}, err
}

// dag is the graph of a job: an object, or one as text. All that is wanted of it is
// how many pipelines it has; one that cannot be read has none.
type dag struct{ pipelines int }

// UnmarshalJSON takes anything.
func (d *dag) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err == nil {
		data = []byte(text)
	}
	var graph struct {
		Edges map[string]skipped `json:"pipelineEdges"`
	}
	if err := json.Unmarshal(data, &graph); err == nil {
		d.pipelines = len(graph.Edges)
	}
	return nil
}

// EndedJobs asks for the jobs of /finished-jobs that ended in one way. The reply
// can be large. A node must have answered Overview before.
func (c *Client) EndedJobs(ctx context.Context, status EndedStatus) (EndedJobs, error) {
	n, d, _, ok := c.pin()
	if !ok {
		return EndedJobs{}, errors.New("no node has answered /overview yet")
	}
	r, err := c.ended.ask(ctx, c.life, &c.running, n, c.limits, func(ctx context.Context, n *node) (reply[EndedJobs], error) {
		return fetch(ctx, c.streams, n.base+d.prefix()+"/finished-jobs/"+string(status), DecodeEndedJobs)
	})
	if err != nil {
		return EndedJobs{}, fmt.Errorf("asking for the %s jobs: %w", strings.ToLower(string(status)), err)
	}
	return r.value, nil
}
