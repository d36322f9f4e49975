package sim

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func decode[T any](t *testing.T, c *Cluster, path string) T {
	t.Helper()
	var v T
	resp, body := get(t, c, path)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.NoError(t, json.Unmarshal(body, &v))
	return v
}

func TestOnlyTheHeadOfTheQueueIsTried(t *testing.T) {
	c := newCluster(t, Options{Version: V2313, Workers: 2, SlotsPerWorker: 2})
	c.Submit(JobSpec{Name: "big", Parallelism: 9})
	c.Submit(JobSpec{Name: "small", Parallelism: 1})
	c.Advance(start.Add(20 * time.Second))

	q := decode[pendingReply](t, c, "/pending-jobs")
	require.Equal(t, 2, q.QueueSummary.Size)
	require.Equal(t, 12, q.QueueSummary.LackingTaskGroups)
	require.Equal(t, 10, q.PendingJobs[0].LackingTaskGroups)
	require.EqualValues(t, 20_000, q.PendingJobs[0].WaitDurationMs)
	require.Greater(t, q.PendingJobs[0].CheckCount, 3)
	require.Zero(t, q.PendingJobs[1].CheckCount, "the job behind the head is not tried although it fits")
	require.Equal(t, 4, q.ClusterSnapshot.FreeSlots)
}

func TestWaitingJobRunsOnceAWorkerHasRegistered(t *testing.T) {
	c := newCluster(t, Options{Version: V2313, Workers: 1, SlotsPerWorker: 2, BootDelay: 10 * time.Second})
	c.Submit(JobSpec{Parallelism: 1})
	c.Submit(JobSpec{Parallelism: 1, RunTime: time.Minute})
	c.Advance(start.Add(5 * time.Second))
	require.Equal(t, "1", decode[overviewV2](t, c, "/overview").PendingJobs)

	c.AddWorkers(1)
	registered, booting := c.Workers()
	require.Equal(t, []int{1, 1}, []int{registered, booting})
	c.Advance(start.Add(14 * time.Second))
	require.Equal(t, "1", decode[overviewV2](t, c, "/overview").Workers)
	c.Advance(start.Add(20 * time.Second))
	o := decode[overviewV2](t, c, "/overview")
	require.Equal(t, []string{"2", "0", "0"}, []string{o.Workers, o.PendingJobs, o.UnassignedSlot})

	c.Advance(start.Add(90 * time.Second))
	o = decode[overviewV2](t, c, "/overview")
	require.Equal(t, []string{"1", "1", "2"}, []string{o.FinishedJobs, o.RunningJobs, o.UnassignedSlot})
}

func TestVersion238ShowsRunningThenFails(t *testing.T) {
	c := newCluster(t, Options{Version: V238, Workers: 1, SlotsPerWorker: 2})
	c.Submit(JobSpec{Parallelism: 1})
	c.Submit(JobSpec{Parallelism: 1})
	c.Advance(start.Add(29 * time.Second))
	jobs := decode[[]runningV1](t, c, v1Maps+"/running-jobs")
	require.Len(t, jobs, 2)
	require.Equal(t, statusRunning, jobs[1].JobStatus)
	require.Empty(t, decode[[]finished](t, c, v1Maps+"/finished-jobs/FAILED"))

	c.Advance(start.Add(31 * time.Second))
	failed := decode[[]finished](t, c, v1Maps+"/finished-jobs/FAILED")
	require.Len(t, failed, 1)
	require.Contains(t, *failed[0].ErrorMsg, "NoEnoughResourceException")
	resp, _ := get(t, c, v1Maps+"/pending-jobs")
	require.Equal(t, http.StatusBadRequest, resp.StatusCode)
}

func TestAFailedBatchJobNamesItsError(t *testing.T) {
	c := newCluster(t, Options{Version: V238, Workers: 1, SlotsPerWorker: 2})
	c.Submit(JobSpec{Parallelism: 1, RunTime: time.Second, Failure: "java.io.IOException: disk full"})
	c.Advance(start.Add(5 * time.Second))
	failed := decode[[]finished](t, c, v1Maps+"/finished-jobs/FAILED")
	require.Len(t, failed, 1)
	require.Equal(t, "java.io.IOException: disk full", *failed[0].ErrorMsg)
	require.Empty(t, decode[[]finished](t, c, v1Maps+"/finished-jobs/FINISHED"))
}

func TestAHungWorkerHangsTheMastersMonitoring(t *testing.T) {
	c := newCluster(t, Options{Version: V2313, Workers: 2, SlotsPerWorker: 2, SystemLoad: true})
	require.NoError(t, c.Freeze(1))
	require.Error(t, c.Freeze(2))

	client := &http.Client{Transport: c.Transport()}
	_, err := client.Get("http://m/system-monitoring-information") //nolint:noctx,bodyclose // fails at once
	var timeout net.Error
	require.True(t, errors.As(err, &timeout) && timeout.Timeout(), "%v", err)

	q := decode[pendingReply](t, c, "/pending-jobs")
	require.Len(t, q.ClusterSnapshot.Workers, 2, "it stays a member")
	require.NotNil(t, q.ClusterSnapshot.Workers[0].CPUUsage)
	require.Nil(t, q.ClusterSnapshot.Workers[1].CPUUsage)

	c.Advance(start.Add(194 * time.Second))
	require.Equal(t, "2", decode[overviewV2](t, c, "/overview").Workers)
	c.Advance(start.Add(196 * time.Second))
	require.Equal(t, "1", decode[overviewV2](t, c, "/overview").Workers)
	require.Len(t, decode[[]monitoringRow](t, c, "/system-monitoring-information"), 2)
}

func TestOverHTTPAHungReplyWaitsForTheClient(t *testing.T) {
	c := newCluster(t, Options{Version: V2313, Workers: 1, SlotsPerWorker: 2})
	require.NoError(t, c.Freeze(0))
	srv := httptest.NewServer(c.Handler())
	defer srv.Close()

	resp, err := srv.Client().Get(srv.URL + "/overview") //nolint:noctx // test server
	require.NoError(t, err)
	require.Equal(t, []string{jsonV2}, resp.Header.Values("Content-Type"))
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+"/system-monitoring-information", nil)
	require.NoError(t, err)
	_, err = srv.Client().Do(req) //nolint:bodyclose // fails
	require.ErrorIs(t, err, context.DeadlineExceeded)

	require.NoError(t, c.Thaw(0))
	require.Len(t, decode[[]monitoringRow](t, c, "/system-monitoring-information"), 2)
}

func TestAKilledWorkerTakesItsJobsWithIt(t *testing.T) {
	c := newCluster(t, Options{Version: V2313, Workers: 2, SlotsPerWorker: 2})
	c.Submit(JobSpec{Parallelism: 3})
	require.NoError(t, c.Kill(0))
	o := decode[overviewV2](t, c, "/overview")
	require.Equal(t, []string{"1", "0", "1", "2"}, []string{o.Workers, o.RunningJobs, o.FailedJobs, o.UnassignedSlot})
	require.Equal(t, 1, c.RemoveIdleWorkers(5))
}

func TestDynamicSlotsRejectOnlyWithoutWorkers(t *testing.T) {
	c := newCluster(t, Options{Version: V2313, Workers: 1, DynamicSlots: true, Strategy: Wait})
	c.Submit(JobSpec{Parallelism: 7})
	o := decode[overviewV2](t, c, "/overview")
	require.Equal(t, []string{"8", "0", "1"}, []string{o.TotalSlot, o.UnassignedSlot, o.RunningJobs})
	require.Equal(t, Reject, decode[pendingReply](t, c, "/pending-jobs").QueueSummary.ScheduleStrategy)
}

func TestLoadFollowsJobs(t *testing.T) {
	c := newCluster(t, Options{Version: V2313, Workers: 1, SlotsPerWorker: 2, SystemLoad: true})
	cpu := func() float64 {
		return *decode[pendingReply](t, c, "/pending-jobs").ClusterSnapshot.Workers[0].CPUUsage
	}
	require.InDelta(t, idleCPU, cpu(), 0.02)
	id := c.Submit(JobSpec{Parallelism: 1, CPUPerSlot: 0.4, HeapPerSlot: 0.2})
	c.Advance(start.Add(2 * time.Minute))
	require.InDelta(t, 0.83, cpu(), 0.02)
	c.SetLoad(0.1, 0.1)
	c.Advance(start.Add(4 * time.Minute))
	require.InDelta(t, 0.23, cpu(), 0.02)
	require.True(t, c.Cancel(id))
	require.False(t, c.Cancel(id))
	c.Advance(start.Add(6 * time.Minute))
	require.InDelta(t, idleCPU, cpu(), 0.02)
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := New(Options{Version: "2.3.5", SlotsPerWorker: 1})
	require.ErrorContains(t, err, `unknown Zeta version "2.3.5"`)
	_, err = New(Options{Version: V2313})
	require.ErrorContains(t, err, "slots per worker")
}

func TestNumbersAreWrittenAsJavaDoes(t *testing.T) {
	for want, v := range map[string]float64{
		"0.0": 0, "3.0": 3, "11.89": 11.89, "3.7635784E7": 37635784, "1.0E7": 1e7, "1.795957027571E12": 1795957027571,
	} {
		require.Equal(t, want, javaDouble(v))
	}
}

// Whatever is done to a cluster, slots are neither lost nor handed out twice, a
// job has all of its slots or none, and the same orders give the same replies.
func TestLawSlotsAreConserved(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		opt := Options{
			Name: "z", Start: start,
			Version:        rapid.SampledFrom([]string{V2313, V238}).Draw(rt, "version"),
			Strategy:       rapid.SampledFrom([]Strategy{Wait, Reject}).Draw(rt, "strategy"),
			Workers:        rapid.IntRange(0, 4).Draw(rt, "workers"),
			SlotsPerWorker: rapid.IntRange(1, 3).Draw(rt, "slots"),
			Seed:           rapid.Uint64().Draw(rt, "seed"),
		}
		one, err := New(opt)
		require.NoError(rt, err)
		two, err := New(opt)
		require.NoError(rt, err)
		for i := range rapid.IntRange(1, 25).Draw(rt, "orders") {
			order := rapid.IntRange(0, 5).Draw(rt, "order")
			arg := rapid.IntRange(0, 4).Draw(rt, "arg")
			for _, c := range []*Cluster{one, two} {
				obey(c, order, arg)
				c.Advance(start.Add(time.Duration(i+1) * 7 * time.Second))
				checkSlots(rt, c)
			}
			require.Equal(rt, one.monitoring(), two.monitoring())
			require.Equal(rt, one.pendingJobs(0), two.pendingJobs(0))
		}
	})
}

func obey(c *Cluster, order, arg int) {
	switch order {
	case 0, 1:
		c.Submit(JobSpec{Parallelism: arg, RunTime: time.Duration(arg) * 10 * time.Second})
	case 2:
		c.AddWorkers(arg % 2)
	case 3:
		c.RemoveIdleWorkers(arg)
	case 4:
		_ = c.Kill(arg) // there may be no such worker
	default:
		_ = c.Freeze(arg)
	}
}

func checkSlots(t require.TestingT, c *Cluster) {
	held := map[*job]int{}
	for _, m := range c.workers {
		require.LessOrEqual(t, m.assigned(), c.opt.SlotsPerWorker)
		for j, n := range m.slots {
			held[j] += n
		}
	}
	for _, j := range c.jobs {
		want := j.need()
		if j.started.IsZero() {
			want = 0
		}
		require.Equal(t, want, held[j], j.spec.Name)
		delete(held, j)
	}
	require.Empty(t, held, "ended jobs hold slots")
}
