package sim

import "strconv"

// overviewV1 is /overview of 2.3.8: numbers as strings, no queue.
type overviewV1 struct {
	ProjectVersion  string `json:"projectVersion"`
	GitCommitAbbrev string `json:"gitCommitAbbrev"`
	TotalSlot       string `json:"totalSlot"`
	UnassignedSlot  string `json:"unassignedSlot"`
	RunningJobs     string `json:"runningJobs"`
	FinishedJobs    string `json:"finishedJobs"`
	FailedJobs      string `json:"failedJobs"`
	CancelledJobs   string `json:"cancelledJobs"`
	Workers         string `json:"workers"`
}

// overviewV2 is /overview of 2.3.13.
type overviewV2 struct {
	ProjectVersion  string `json:"projectVersion"`
	GitCommitAbbrev string `json:"gitCommitAbbrev"`
	TotalSlot       string `json:"totalSlot"`
	UnassignedSlot  string `json:"unassignedSlot"`
	RunningJobs     string `json:"runningJobs"`
	FinishedJobs    string `json:"finishedJobs"`
	FailedJobs      string `json:"failedJobs"`
	PendingJobs     string `json:"pendingJobs"`
	CancelledJobs   string `json:"cancelledJobs"`
	Workers         string `json:"workers"`
}

func (c *Cluster) overviewV1() overviewV1 {
	v := c.overviewV2()
	return overviewV1{
		ProjectVersion:  V238,
		GitCommitAbbrev: "8604631",
		TotalSlot:       v.TotalSlot,
		UnassignedSlot:  v.UnassignedSlot,
		RunningJobs:     v.RunningJobs,
		FinishedJobs:    v.FinishedJobs,
		FailedJobs:      v.FailedJobs,
		CancelledJobs:   v.CancelledJobs,
		Workers:         v.Workers,
	}
}

// overviewV2 counts waiting jobs among the running ones, as Zeta does.
func (c *Cluster) overviewV2() overviewV2 {
	total, free := c.slotTotals()
	return overviewV2{
		ProjectVersion:  V2313,
		GitCommitAbbrev: "unknown",
		TotalSlot:       strconv.Itoa(total),
		UnassignedSlot:  strconv.Itoa(free),
		RunningJobs:     strconv.Itoa(len(c.jobs)),
		FinishedJobs:    strconv.Itoa(c.ended(statusFinished)),
		FailedJobs:      strconv.Itoa(c.ended(statusFailed)),
		PendingJobs:     strconv.Itoa(len(c.pending())),
		CancelledJobs:   strconv.Itoa(c.ended(statusCanceled)),
		Workers:         strconv.Itoa(len(c.workers)),
	}
}

// ended counts the jobs of the history with a status.
func (c *Cluster) ended(status string) int { return c.endedAs[status] }
