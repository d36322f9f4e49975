package control

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestClusterV1(t *testing.T) {
	e, _ := newV1(t, nil)
	c, err := e.Cluster(t.Context())
	require.NoError(t, err)
	settled := true
	require.Equal(t, Cluster{
		Version: "2.3.8", Slots: Slots{Workers: 3, Total: 9, Used: 5}, Running: 2,
		Members: []Member{
			{Address: "127.0.0.1:24100", Master: true},
			{Address: "127.0.0.1:24101", Lite: true},
			{Address: "127.0.0.1:24103", Lite: true},
			{Address: "127.0.0.1:24102", Lite: true},
		},
		Settled: &settled,
	}, c)
}

func TestClusterV2(t *testing.T) {
	e, _ := newV2(t, nil)
	c, err := e.Cluster(t.Context())
	require.NoError(t, err)
	require.Equal(t, []Member{{Address: "10.0.0.1:5801", Master: true}, {Address: "10.0.0.2:5801", Lite: true}}, c.Members)
	require.True(t, *c.Settled)
	require.Equal(t, "2.3.13", c.Version)
}

// Where Hazelcast's own port does not answer, nobody is known to be lite, and
// nothing of settling.
func TestClusterV2WithoutHazelcastREST(t *testing.T) {
	e, _ := newV2(t, map[string]string{"GET 10.0.0.1:5801/hazelcast/rest/cluster": "=(no reply)"})
	c, err := e.Cluster(t.Context())
	require.NoError(t, err)
	require.Equal(t, []Member{{Address: "10.0.0.1:5801", Master: true}, {Address: "10.0.0.2:5801"}}, c.Members)
	require.Nil(t, c.Settled)
}

func TestHybridCluster(t *testing.T) {
	e, _ := newV1(t, map[string]string{"GET m:5801/hazelcast/rest/cluster": "cluster-hybrid", "GET m:5801/hazelcast/health": "health-hybrid"})
	c, err := e.Cluster(t.Context())
	require.NoError(t, err)
	for _, m := range c.Members {
		require.False(t, m.Lite)
	}
	e, _ = newV1(t, map[string]string{"GET m:5801/hazelcast/health": ok(`{"nodeState":"ACTIVE","clusterState":"ACTIVE","clusterSafe":false,"migrationQueueSize":4,"clusterSize":4}`)})
	c, err = e.Cluster(t.Context())
	require.NoError(t, err)
	require.False(t, *c.Settled)
}

// What cannot be told makes the look fail; nothing is taken for 0.
func TestClusterUnknown(t *testing.T) {
	for name, replies := range map[string]map[string]string{
		"no overview":      {v1 + "/overview": "=(no reply)"},
		"member leaves":    {v1 + "/overview": fails("500", "com.hazelcast.core.MemberLeftException: Member [127.0.0.1]:24161 has left cluster!")},
		"no slots":         {v1 + "/overview": ok(`{"projectVersion":"2.3.8","workers":"3","runningJobs":"0","failedJobs":"0"}`)},
		"no jobs":          {v1 + "/overview": ok(`{"projectVersion":"2.3.8","workers":"3","totalSlot":"3","unassignedSlot":"3"}`)},
		"more free":        {v1 + "/overview": ok(`{"projectVersion":"2.3.8","workers":"3","totalSlot":"3","unassignedSlot":"4","runningJobs":"0","failedJobs":"0"}`)},
		"no master":        {v1 + "/system-monitoring-information": ok(`[{"isMaster":"false","host":"127.0.0.1","port":"24101"}]`)},
		"two masters":      {v1 + "/system-monitoring-information": ok(`[{"isMaster":"true","host":"a","port":"1"},{"isMaster":"true","host":"b","port":"1"}]`)},
		"nobody measures":  {v1 + "/system-monitoring-information": fails("500", "x")},
		"no members":       {"GET m:5801/hazelcast/rest/cluster": ok(`{"members":[]}`)},
		"members, unnamed": {"GET m:5801/hazelcast/rest/cluster": ok(`{"members":[{"liteMember":true}]}`)},
		"members, 204":     {"GET m:5801/hazelcast/rest/cluster": "resource-workers"},
		"queue, not told":  {v1 + "/overview": ok(`{"projectVersion":"2.3.10","workers":"3","totalSlot":"3","unassignedSlot":"3","runningJobs":"0","failedJobs":"0"}`), v1 + "/running-jobs": "=(no reply)"},
	} {
		t.Run(name, func(t *testing.T) {
			e, _ := newV1(t, replies)
			_, err := e.Cluster(t.Context())
			require.Error(t, err)
			require.NotErrorIs(t, err, ErrUnsupported)
		})
	}
}

// A version that has a queue and does not count it is counted itself.
func TestPendingJobsAreCounted(t *testing.T) {
	e, _ := newV1(t, map[string]string{
		v1 + "/overview":     ok(`{"projectVersion":"2.3.10","workers":"3","totalSlot":"3","unassignedSlot":"3","runningJobs":"2","failedJobs":"0"}`),
		v1 + "/running-jobs": ok(`[{"jobId":"1","jobName":"a","jobStatus":"PENDING"},{"jobId":2,"jobName":"b","jobStatus":"RUNNING"}]`),
	})
	c, err := e.Cluster(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, c.Pending)
}

func TestWorker(t *testing.T) {
	e, r := newV1(t, map[string]string{
		v1 + "/overview?worker=dynamic":      "overview-dynamic-w1",
		v1 + "/overview?worker=twice":        ok(`{"projectVersion":"2.3.8","totalSlot":"6","unassignedSlot":"1","runningJobs":"2","workers":"2"}`),
		v1 + "/overview?worker=a%20b%26c%3D": "overview-w1",
		v1 + "/overview?worker=leaving":      fails("500", "com.hazelcast.core.MemberLeftException: gone"),
	})
	for name, want := range map[string]Slots{
		"w1": {Workers: 1, Total: 3}, "w3": {Workers: 1, Total: 3, Used: 3},
		"w9":      {}, // no such worker: nothing, with status 200
		"dynamic": {Workers: 1, Total: 3, Used: 3},
		"twice":   {Workers: 2, Total: 6, Used: 5},
		"a b&c=":  {Workers: 1, Total: 3},
	} {
		got, err := e.Worker(t.Context(), name)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	_, err := e.Worker(t.Context(), "leaving")
	require.ErrorContains(t, err, "MemberLeftException")
	asked := len(r.all())
	e.attribute = ""
	_, err = e.Worker(t.Context(), "w1")
	require.ErrorIs(t, err, ErrUnsupported)
	require.Len(t, r.all(), asked)
}

func TestJobs(t *testing.T) {
	e, r := newV1(t, nil)
	jobs, err := e.Jobs(t.Context())
	require.NoError(t, err)
	require.Equal(t, Job{
		ID: "1179608743717961729", Name: "batch-1", Status: Running, Mode: Batch, Env: map[string]string{"job.mode": "BATCH", "parallelism": "1"},
		Sources: []string{"FakeSource"}, Sinks: []string{"Console"}, Created: time.Date(2026, 11, 30, 2, 24, 2, 0, time.UTC), Received: 4,
	}, jobs[0])
	require.Equal(t, Streaming, jobs[1].Mode)
	require.Len(t, jobs, 2)

	r.set(map[string]string{v1 + "/running-jobs": "running-jobs-savepoint-done"})
	jobs, err = e.Jobs(t.Context())
	require.NoError(t, err)
	require.Empty(t, jobs, "a job that is over is listed for a moment")
	r.set(map[string]string{v1 + "/running-jobs": "running-jobs-doing-savepoint"})
	jobs, err = e.Jobs(t.Context())
	require.NoError(t, err)
	require.Equal(t, DoingSavepoint, jobs[0].Status)
	r.set(map[string]string{v1 + "/running-jobs": ok(`[]`)})
	jobs, err = e.Jobs(t.Context())
	require.NoError(t, err)
	require.NotNil(t, jobs)
	for name, body := range map[string]string{
		"fails": fails("200", "Target cannot be null!"), "null": ok("null"), "no id": ok(`[{"jobStatus":"RUNNING"}]`), "no status": ok(`[{"jobId":"1"}]`),
		"cut": ok(`[{"jobId":"1","jobStatus":"RUNNING"}`), "page": "=HTTP/1.1 200\nContent-Type: text/html\n\n<html>", "empty": "=HTTP/1.1 200\n\n", "204": "resource-workers",
	} {
		r.set(map[string]string{v1 + "/running-jobs": body})
		_, err = e.Jobs(t.Context())
		require.Error(t, err, name)
	}
}

func TestJob(t *testing.T) {
	for file, want := range map[string]Job{
		"job-streaming":       {ID: "1179608743717896193", Name: "stream-1", Status: Running, Mode: Streaming, Received: 10, Sources: []string{"FakeSource"}, Sinks: []string{"Console"}},
		"job-batch":           {ID: "1179608743717961729", Name: "batch-1", Status: Running, Mode: Batch, Received: 5, Sources: []string{"FakeSource"}, Sinks: []string{"Console"}},
		"job-savepoint-done":  {ID: "1179609083162918913", Name: "orders", Status: SavepointDone, Mode: Streaming, Received: 14, Sources: []string{"FakeSource"}, Sinks: []string{"Console"}},
		"job-ended-elsewhere": {ID: "1801", Name: "s", Status: SavepointDone, Received: 9, Sources: []string{"FakeSource"}, Sinks: []string{"Console"}},
		"job-stuck":           {ID: "2001", Name: "unwritable", Status: DoingSavepoint, Mode: Streaming, Received: 32, Sources: []string{"FakeSource"}, Sinks: []string{"Console"}},
		"job-failed":          {ID: "2020", Name: "victim-job", Status: Failed, Received: 12, Sources: []string{"FakeSource"}, Sinks: []string{"Console"}},
		"job-canceling":       {ID: "900003", Name: "hold-w2", Status: Canceling, Mode: Streaming, Sources: []string{"FakeSource"}, Sinks: []string{"Console"}},
		"job-second-sink":     {ID: "1179610288138551297", Name: "cfg", Status: Running, Mode: Streaming, Received: 11, Sources: []string{"FakeSource"}, Sinks: []string{"Console", "Console"}},
	} {
		t.Run(file, func(t *testing.T) {
			e, _ := newV1(t, map[string]string{v1 + "/job-info/" + want.ID: file})
			got, err := e.Job(t.Context(), want.ID)
			require.NoError(t, err)
			got.Env, got.Created = nil, time.Time{}
			require.Equal(t, want, got)
		})
	}
}

func TestJobOptionsAreText(t *testing.T) {
	e, _ := newV1(t, map[string]string{v1 + "/job-info/1179610288138223617": "job-tagged"})
	j, err := e.Job(t.Context(), "1179610288138223617")
	require.NoError(t, err)
	require.Equal(t, "{worker=w2}", j.Env["tag_filter"])
}

// A job that is not known is answered with status 200 and its id; what else is
// no job is unknown, not absent.
func TestJobUnknown(t *testing.T) {
	for name, reply := range map[string]string{"never seen": "job-unknown", "master restarted": "job-after-restart", "empty id": ok(`{"jobId":""}`)} {
		id := map[string]string{"never seen": "123456"}[name]
		if id == "" {
			id = "1701"
		}
		e, _ := newV1(t, map[string]string{v1 + "/job-info/" + id: reply})
		_, err := e.Job(t.Context(), id)
		require.ErrorIs(t, err, ErrNoJob, name)
	}
	for name, reply := range map[string]string{
		"fails": fails("500", "MemberLeftException"), "fails with 200": fails("200", "Target cannot be null!"), "other job": ok(`{"jobId":"8","jobName":"x","jobStatus":"RUNNING"}`),
		"no status": ok(`{"jobId":"7","jobName":"x"}`), "list": ok(`[]`), "null id": ok(`{"jobStatus":"RUNNING"}`), "no reply": "=(no reply)", "204": "resource-workers", "400, empty": "pending-jobs",
	} {
		e, _ := newV1(t, map[string]string{v1 + "/job-info/7": reply})
		_, err := e.Job(t.Context(), "7")
		require.Error(t, err, name)
		require.NotErrorIs(t, err, ErrNoJob, name)
	}
}

// No text of a caller becomes a path.
func TestJobIDs(t *testing.T) {
	e, r := newV1(t, nil)
	for _, id := range []string{"", "abc", "1/2", "../overview", "01", "+1", " 1", "1e3", "9223372036854775808", "1?x=2"} {
		_, err := e.Job(t.Context(), id)
		require.ErrorContains(t, err, "no job id")
		for _, err := range []error{
			e.StopWithSavepoint(t.Context(), id), e.Cancel(t.Context(), id),
			e.Restore(t.Context(), id, "n", Config{}), e.Hold(t.Context(), id, "w1", 3),
		} {
			require.ErrorContains(t, err, "no job id")
		}
	}
	require.Empty(t, r.all())
}

func TestCheckpoints(t *testing.T) {
	for file, want := range map[string]int64{"checkpoints": 2, "checkpoints-savepoint": 3, "checkpoints-restored": 4, "checkpoints-fresh": 1, "checkpoints-failed": 0} {
		reply := file
		e, _ := newV2(t, map[string]string{v2 + "/jobs/checkpoints/2001": reply})
		j, err := e.Job(t.Context(), "2001")
		require.NoError(t, err, file)
		require.Equal(t, want, j.Checkpoint, file)
	}
	e, _ := newV2(t, map[string]string{v2 + "/jobs/checkpoints/2001": ok(`{"pipelines":[{"latestCompleted":{"checkpointId":7}},{"latestCompleted":{"checkpointId":3}}]}`)})
	j, err := e.Job(t.Context(), "2001")
	require.NoError(t, err)
	require.EqualValues(t, 3, j.Checkpoint, "the pipeline that is least far")
	for name, reply := range map[string]string{"none": "=HTTP/1.1 404\n\n", "fails": fails("500", "x"), "empty": ok(`{}`), "no reply": "=(no reply)"} {
		e, _ := newV2(t, map[string]string{v2 + "/jobs/checkpoints/2001": reply})
		j, err := e.Job(t.Context(), "2001")
		require.NoError(t, err, name)
		require.Zero(t, j.Checkpoint, name)
	}
}

// REST v1 takes a path that it does not have for that of another endpoint, or
// for a map that it makes: it is asked for nothing that 2.3.8 does not have.
func TestRESTv1IsAskedForNoOtherPaths(t *testing.T) {
	e, r := newV1(t, map[string]string{v1 + "/job-info/1179608743717896193": "job-streaming"})
	_, err := e.Cluster(t.Context())
	require.NoError(t, err)
	_, err = e.Job(t.Context(), "1179608743717896193")
	require.NoError(t, err)
	_, err = e.Jobs(t.Context())
	require.NoError(t, err)
	_, err = e.Placed(t.Context(), "127.0.0.1:24103")
	require.ErrorIs(t, err, ErrUnsupported)
	for _, line := range r.all() {
		for _, path := range []string{"checkpoints", "pending-jobs", "resource", "slot-usage", "thread-dump"} {
			require.NotContains(t, line, path)
		}
	}
}

func TestJobOfV2(t *testing.T) {
	e, _ := newV2(t, map[string]string{v2 + "/job-info/2010": "job-pending"})
	j, err := e.Job(t.Context(), "2001")
	require.NoError(t, err)
	require.Equal(t, []string{"FakeSource"}, j.Sources)
	require.Equal(t, []string{"Console"}, j.Sinks)
	require.EqualValues(t, 22, j.Received)
	j, err = e.Job(t.Context(), "2010")
	require.NoError(t, err)
	require.Equal(t, Pending, j.Status)
	require.Zero(t, j.Received)
}
