//go:build e2e && unix

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	asked "github.com/zeta-scaler/zeta-scaler/actuators/request"
	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/zeta"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// A whole night with `zeta-scaler serve` and nothing but its configuration: a
// burst of jobs is rejected → SCALE_OUT → a command starts a real worker → the
// burst is over → SCALE_IN_CANDIDATE → a worker is drained and the command removes
// it; the jobs that stay run on, and no row of theirs is lost or read twice.
func TestWholeNightOnRealZeta(t *testing.T) {
	t.Parallel()
	const slots = 8
	lab.Build(t, harness.ZetaScaler)
	s := &night{c: zeta.StartWith(t, lab, zeta.Options{Slots: slots}), wants: make(chan int), came: make(chan struct{}, 1)}
	s.yard = &yard{c: s.c, released: map[string]string{}}
	s.c.StartWorkers(t, 1, 2)
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)

	folder := filepath.Join(lab.Dir, "night-jobs")
	require.NoError(t, os.MkdirAll(folder, 0o750))
	var stay []zeta.Counted
	for i, name := range []string{"orders", `it's "payments"`} {
		j := zeta.Counted{ID: fmt.Sprint(7001 + i), Name: name, Table: fmt.Sprintf("night%d", i), Parallelism: 1, Rows: 90, Every: 500 * time.Millisecond, NoFile: i == 0}
		require.NoError(t, os.WriteFile(filepath.Join(folder, j.ID+".json"), s.c.Config(j), 0o600))
		require.NoError(t, s.c.SubmitCounted(t.Context(), j))
		stay = append(stay, j)
	}
	self, err := os.Executable()
	require.NoError(t, err)
	serve := newScaler(t, "serve", "night", fmt.Sprintf(`web: {listen_address: "%%s"}
embedded: {path: %q, retention: 1h}
clusters: [{name: %s, urls: ["%s"]}]
rule_sets: [{file: %q}]
scopes:
  - match: {cluster: %s}
    rule_set: e2e
    bounds: {min_workers: 2, max_workers: 3}
    mode: direct
    cooldown: 10s
    drain: {enabled: true}
    actuator: {exec: {command: %q, args: [%s, %q], timeout: 2m, target: night, observe: true, release: true}}
scope_defaults: {rule_set: e2e}
jobs: {folder: %q}
state: {path: %q}
leadership: {lock_file: %q}
`, filepath.Join(lab.Dir, "night-tsdb"), clusterName, s.c.URL, filepath.Join(lab.Root, "e2e", "testdata", "rules.yaml"), clusterName,
		self, forwardTo, s.URL, folder, filepath.Join(lab.Dir, "night.db"), filepath.Join(lab.Dir, "night.lock")))
	serve.start(t)

	// The burst: more than there is room for.
	var burst []string
	for _, parallelism := range []int{5, 7} {
		id, err := s.c.Submit(t.Context(), "burst", parallelism)
		require.NoError(t, err)
		burst = append(burst, id)
	}
	select {
	case n := <-s.wants:
		require.Equal(t, 3, n)
	case <-time.After(patience):
		t.Fatal("nobody asked for a third worker")
	}
	s.c.StartWorkers(t, 3)
	s.came <- struct{}{}
	done := serve.waitForAction(t, patience, "an action that succeeded", inState(3, scaling.ActionSucceeded))
	require.Equal(t, "exec", done.Actuator)

	// It is over, and the cluster is too large for what stays.
	for _, id := range burst {
		require.NoError(t, s.c.StopJob(t.Context(), id))
	}
	begun := serve.waitForDrain(t, "a job that was stopped", func(d *scaling.Drain) bool {
		return d.State == scaling.DrainDecommissioned || slices.ContainsFunc(d.Jobs, func(j scaling.DrainJob) bool { return !j.StopAt.IsZero() })
	})
	t.Logf("killed while the drain is %s", begun.State)
	serve.Kill()
	serve.start(t)
	drained := serve.waitForDrain(t, "a worker that is gone", func(d *scaling.Drain) bool { return d.State == scaling.DrainDecommissioned })
	require.Equal(t, begun.ID, drained.ID)
	t.Log(summaryOf(&drained))
	require.Empty(t, drained.Harm)
	require.Equal(t, []string{drained.Worker}, s.yard.gone())
	serve.waitFor(t, patience, "2 workers", func(d decision) bool { return d.Current == "2" })
	for _, j := range stay {
		status, err := s.c.JobStatus(t.Context(), j.ID)
		require.NoError(t, err)
		require.Equal(t, "RUNNING", status, j.Name)
		harness.Wait(t, patience, "every row of "+j.Name+" is read and written once", func(context.Context) error { return s.c.Whole(j) })
	}
	o, err := s.c.Overview(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, o.Workers)
}

// waitForDrain waits for a drain that satisfies accept.
func (s *scaler) waitForDrain(t *testing.T, what string, accept func(*scaling.Drain) bool) scaling.Drain {
	t.Helper()
	var found scaling.Drain
	harness.Wait(t, patience, s.Name+" drains: "+what, func(ctx context.Context) error {
		body, err := harness.Get(ctx, s.url("/autoscaler/drain"))
		if err != nil {
			return err
		}
		var page api.DrainsPage
		if err := json.Unmarshal([]byte(body), &page); err != nil {
			return err
		}
		at := slices.IndexFunc(page.Drains, func(d scaling.Drain) bool { return accept(&d) })
		if at < 0 {
			return fmt.Errorf("%s", body)
		}
		found = page.Drains[at]
		return nil
	})
	return found
}

// night is the scaling command of a platform, and what it does.
type night struct {
	*httptest.Server
	c    *zeta.Cluster
	yard *yard
	// wants has what is asked for; the test starts the worker, and says so to came.
	wants chan int
	came  chan struct{}
}

// answer carries out one request of the actuator exec.
func (s *night) answer(w http.ResponseWriter, r *http.Request) {
	var q asked.Request
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var reply any
	var err error
	switch q.Verb {
	case asked.Observe:
		n := len(s.c.Up())
		reply = map[string]any{"desired": n, "ready": n}
	case asked.Workers:
		workers, _ := s.yard.Workers(r.Context(), actuators.Target{})
		list := []map[string]string{}
		for _, x := range workers {
			list = append(list, map[string]string{"name": x.Name, "address": x.Address})
		}
		reply = map[string]any{"workers": list}
	case asked.Scale:
		select {
		case s.wants <- *q.Want:
			select {
			case <-s.came:
			case <-r.Context().Done():
			}
		case <-r.Context().Done():
		}
	case asked.Release:
		x := q.Workers[0]
		err = s.yard.Release(r.Context(), actuators.Target{}, []actuators.Worker{{Name: x.Name, Address: x.Address}}, actuators.Fence{ActionID: q.ActionID})
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	if reply != nil {
		_ = json.NewEncoder(w).Encode(reply)
	}
}
