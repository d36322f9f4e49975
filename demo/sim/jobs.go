package sim

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

const zetaTime = time.DateTime

type envOptions struct {
	JobMode     string `json:"job.mode"`
	Checkpoint  string `json:"checkpoint.interval"`
	Parallelism string `json:"parallelism"`
}

// runningV2 is one entry of /running-jobs of 2.3.13.
type runningV2 struct {
	JobID        string         `json:"jobId"`
	JobName      string         `json:"jobName"`
	JobStatus    string         `json:"jobStatus"`
	EnvOptions   envOptions     `json:"envOptions"`
	CreateTime   string         `json:"createTime"`
	StartTime    *string        `json:"startTime"`
	JobDag       dagV2          `json:"jobDag"`
	PluginJars   []string       `json:"pluginJarsUrls"`
	FromSnapshot bool           `json:"isStartWithSavePoint"`
	Metrics      map[string]any `json:"metrics"`
}

type dagV2 struct {
	JobID         string              `json:"jobId"`
	PipelineEdges map[string][]edgeV2 `json:"pipelineEdges"`
	EnvOptions    envOptions          `json:"envOptions"`
	VertexInfoMap []vertexV2          `json:"vertexInfoMap"`
}

type edgeV2 struct {
	Input  string `json:"inputVertexId"`
	Target string `json:"targetVertexId"`
}

type vertexV2 struct {
	VertexID   int      `json:"vertexId"`
	Type       string   `json:"type"`
	VertexName string   `json:"vertexName"`
	TablePaths []string `json:"tablePaths"`
}

// runningV1 is one entry of /running-jobs of 2.3.8.
type runningV1 struct {
	JobID        string         `json:"jobId"`
	JobName      string         `json:"jobName"`
	JobStatus    string         `json:"jobStatus"`
	EnvOptions   envOptions     `json:"envOptions"`
	CreateTime   string         `json:"createTime"`
	JobDag       dagV1          `json:"jobDag"`
	PluginJars   []string       `json:"pluginJarsUrls"`
	FromSnapshot bool           `json:"isStartWithSavePoint"`
	Metrics      map[string]any `json:"metrics"`
}

type dagV1 struct {
	Vertices []vertexV1 `json:"vertices"`
	Edges    []edgeV1   `json:"edges"`
}

type vertexV1 struct {
	ID          int    `json:"id"`
	Name        string `json:"name"`
	Parallelism int    `json:"parallelism"`
}

type edgeV1 struct {
	Input  string `json:"inputVertex"`
	Target string `json:"targetVertex"`
}

// finished is one entry of /finished-jobs; the job graph is text here.
type finished struct {
	JobID      string         `json:"jobId"`
	JobName    string         `json:"jobName"`
	JobStatus  string         `json:"jobStatus"`
	ErrorMsg   *string        `json:"errorMsg"`
	CreateTime string         `json:"createTime"`
	FinishTime string         `json:"finishTime"`
	JobDag     string         `json:"jobDag"`
	PluginJars []string       `json:"pluginJarsUrls"`
	Metrics    map[string]any `json:"metrics"`
}

func (j *job) env() envOptions {
	mode := "STREAMING"
	if j.spec.RunTime > 0 && !j.spec.Streaming {
		mode = "BATCH"
	}
	return envOptions{JobMode: mode, Checkpoint: "30000", Parallelism: strconv.Itoa(j.spec.Parallelism)}
}

// shownStart is the start time that a reader sees, nil before there is one.
func (c *Cluster) shownStart(j *job) *string {
	if j.started.IsZero() || j.started.After(c.now) {
		return nil
	}
	s := j.started.UTC().Format(zetaTime)
	return &s
}

// runningJobsV2 lists the waiting jobs among the running ones, newest first.
func (c *Cluster) runningJobsV2() []runningV2 {
	list := []runningV2{}
	for _, j := range slices.Backward(c.jobs) {
		id := strconv.FormatInt(j.id, 10)
		list = append(list, runningV2{
			JobID:      id,
			JobName:    j.spec.Name,
			JobStatus:  j.status,
			EnvOptions: j.env(),
			CreateTime: j.enqueued.UTC().Format(zetaTime),
			StartTime:  c.shownStart(j),
			JobDag: dagV2{
				JobID:         id,
				PipelineEdges: map[string][]edgeV2{"1": {{Input: "1", Target: "2"}}},
				EnvOptions:    j.env(),
				VertexInfoMap: []vertexV2{
					{VertexID: 1, Type: "source", VertexName: "pipeline-1 [Source[0]-FakeSource]", TablePaths: []string{"fake"}},
					{VertexID: 2, Type: "sink", VertexName: "pipeline-1 [Sink[0]-Console-MultiTableSink]", TablePaths: []string{"fake"}},
				},
			},
			PluginJars: []string{},
			Metrics:    metricsV2(!j.started.IsZero()),
		})
	}
	return list
}

func (c *Cluster) runningJobsV1() []runningV1 {
	list := []runningV1{}
	for _, j := range c.jobs {
		list = append(list, runningV1{
			JobID:      strconv.FormatInt(j.id, 10),
			JobName:    j.spec.Name,
			JobStatus:  j.status,
			EnvOptions: j.env(),
			CreateTime: j.enqueued.UTC().Format(zetaTime),
			JobDag: dagV1{
				Vertices: []vertexV1{
					{ID: 1, Name: "Source[0]-FakeSource(id=1)", Parallelism: j.spec.Parallelism},
					{ID: 3, Name: "Sink[0]-Console-MultiTableSink(id=3)", Parallelism: j.spec.Parallelism},
				},
				Edges: []edgeV1{{Input: "Source[0]-FakeSource", Target: "Sink[0]-Console-MultiTableSink"}},
			},
			PluginJars: []string{},
			Metrics:    metricsV1(!j.started.IsZero()),
		})
	}
	return list
}

// finishedJobsV2 answers 500 for ever once a job was rejected: the master
// trips over the start time that such a job never got.
func (c *Cluster) finishedJobsV2(state string) reply {
	if c.rejected {
		return reply{status: http.StatusInternalServerError, contentType: jsonV2, body: []byte(
			`{"status":"fail","message":"Cannot invoke \"java.lang.Long.longValue()\" because the return value of ` +
				`\"org.apache.seatunnel.engine.server.master.JobHistoryService$JobState.getStartTime()\" is null"}`)}
	}
	return jsonReply(jsonV2, c.finishedJobsV1(state))
}

// finishedJobsV1 lists ended jobs with a status, all of them for "".
func (c *Cluster) finishedJobsV1(state string) []finished {
	list := []finished{}
	for _, j := range c.history {
		if state != "" && state != j.status {
			continue
		}
		f := finished{
			JobID:      strconv.FormatInt(j.id, 10),
			JobName:    j.spec.Name,
			JobStatus:  j.status,
			CreateTime: j.enqueued.UTC().Format(zetaTime),
			FinishTime: j.ended.UTC().Format(zetaTime),
			JobDag: fmt.Sprintf(`{"jobId":%d,"pipelineEdges":{"1":[{"inputVertexId":1,"targetVertexId":2}]},"vertexInfoMap":{`+
				`"1":{"vertexId":1,"type":"SOURCE","connectorType":"pipeline-1 [Source[0]-FakeSource]"},`+
				`"2":{"vertexId":2,"type":"SINK","connectorType":"pipeline-1 [Sink[0]-Console-MultiTableSink]"}}}`, j.id),
			PluginJars: []string{},
			Metrics:    metricsV1(!j.started.IsZero()),
		}
		if j.errorMsg != "" {
			f.ErrorMsg = &j.errorMsg
		}
		list = append(list, f)
	}
	return list
}

// metricsV1 are a job's own counters; the simulated jobs move no rows. Before
// a job has started the per-table ones are empty.
func metricsV1(started bool) map[string]any {
	return jobMetrics("fake", started,
		[]string{"SourceReceivedCount", "SourceReceivedBytes", "SinkWriteCount", "SinkWriteBytes"},
		[]string{"SourceReceivedQPS", "SourceReceivedBytesPerSeconds", "SinkWriteQPS", "SinkWriteBytesPerSeconds"})
}

// metricsV2 adds what 2.3.13 counts besides; its per-table names say source or
// sink.
func metricsV2(started bool) map[string]any {
	m := map[string]any{"IntermediateQueueSize": "0"}
	source := jobMetrics("Source[0].fake", started,
		[]string{"SourceReceivedCount", "SourceReceivedBytes"},
		[]string{"SourceReceivedQPS", "SourceReceivedBytesPerSeconds"})
	sink := jobMetrics("Sink[0].fake", started,
		[]string{"SinkWriteCount", "SinkWriteBytes", "SinkCommittedCount", "SinkCommittedBytes"},
		[]string{"SinkWriteQPS", "SinkWriteBytesPerSeconds", "SinkCommittedQPS", "SinkCommittedBytesPerSeconds"})
	for _, part := range []map[string]any{source, sink} {
		maps.Copy(m, part)
	}
	return m
}

func jobMetrics(table string, started bool, counts, rates []string) map[string]any {
	m := map[string]any{}
	add := func(names []string, zero string) {
		for _, n := range names {
			m[n] = zero
			perTable := map[string]string{}
			if started {
				perTable[table] = zero
			}
			m["Table"+n] = perTable
		}
	}
	add(counts, "0")
	add(rates, "0.0")
	return m
}
