package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// drainService answers as the service would, with the next of its replies.
type drainService struct {
	mu      sync.Mutex
	replies map[string][]any
	bodies  map[string]string
}

func (s *drainService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.Method + " " + r.URL.Path
	var body json.RawMessage
	_ = json.NewDecoder(r.Body).Decode(&body) // a GET has none
	s.bodies[key] = string(body)
	next := s.replies[key]
	if len(next) == 0 {
		http.NotFound(w, r)
		return
	}
	if len(next) > 1 {
		s.replies[key] = next[1:]
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(next[0]) // the client will say
}

func (s *drainService) body(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies[key]
}

func startDrainService(t *testing.T, replies map[string][]any) (*drainService, string) {
	t.Helper()
	s := &drainService{replies: replies, bodies: map[string]string{}}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return s, srv.URL
}

func aDrain(state scaling.DrainState, steps ...scaling.DrainState) scaling.Drain {
	at := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	d := scaling.Drain{ID: "drain-7", Scope: "prod", Worker: "worker-2", Actuator: "kubernetes", State: state, Transitions: []scaling.DrainTransition{}}
	for i, s := range append(steps, state) {
		d.Transitions = append(d.Transitions, scaling.DrainTransition{State: s, At: at.Add(time.Duration(i) * time.Second), Reason: "because"})
	}
	d.Jobs = []scaling.DrainJob{
		{ID: "4501", Name: "or\x1bders", Mode: "STREAMING", Step: scaling.JobRestored, StopAt: at, RunAt: at.Add(2400 * time.Millisecond)},
		{ID: "4502", Name: "nightly", Mode: "BATCH", Step: scaling.JobFinished},
	}
	return d
}

func TestDrainDryRun(t *testing.T) {
	plan := scaling.DrainPlan{
		Scope: "prod", Worker: "worker-2", Actuator: "kubernetes", Used: 3, Slots: 4, Hold: true,
		Jobs: []scaling.PlannedJob{
			{ID: "4501", Name: "orders", Mode: "STREAMING", Fate: scaling.FateMove},
			{ID: "4502", Name: "nightly", Mode: "BATCH", Fate: scaling.FateWait},
		},
	}
	against := plan
	against.Against = "2 jobs wait for slots"
	s, url := startDrainService(t, map[string][]any{"POST /autoscaler/drain/plan": {plan, against}})
	code, out, errs := runArgs(t, "drain", "prod", "worker-2", "--dry-run", "--server", url)
	require.Zero(t, code, errs)
	require.Equal(t, `Worker worker-2 of scope prod would be emptied and removed by kubernetes. 3 of its 4 slots are in use; they would be held meanwhile.
JOB      ID    MODE       WHAT WOULD HAPPEN
orders   4501  streaming  stopped with a savepoint, restored elsewhere before the worker goes: a small job does not run for 1 s to 4 s
nightly  4502  batch      waited for
Nothing is in its way.
`, out)
	require.JSONEq(t, `{"scope":"prod","worker":"worker-2"}`, s.body("POST /autoscaler/drain/plan"))
	code, out, _ = runArgs(t, "drain", "prod", "--dry-run", "--server", url)
	require.Equal(t, exitBad, code)
	require.Contains(t, out, "In its way: 2 jobs wait for slots\n")
	require.JSONEq(t, `{"scope":"prod"}`, s.body("POST /autoscaler/drain/plan"))
}

func TestDrainWaits(t *testing.T) {
	open := aDrain(scaling.DrainPending)
	over := aDrain(scaling.DrainDecommissioned, scaling.DrainPending, scaling.DrainDraining)
	stays := aDrain(scaling.DrainActive, scaling.DrainPending)
	stays.GivenUp = "the scope asks for more workers"
	s, url := startDrainService(t, map[string][]any{
		"POST /autoscaler/drain":        {open},
		"POST /autoscaler/drain/cancel": {stays},
		"GET /autoscaler/drain":         {api.DrainsPage{Drains: []scaling.Drain{over}}},
	})
	code, out, errs := runArgs(t, "drain", "prod", "--reason", "new kernel", "--wait", "--server", url)
	require.Zero(t, code, errs)
	require.Equal(t, `2026-03-14T09:00:00Z  PENDING          because
2026-03-14T09:00:01Z  DRAINING         because
2026-03-14T09:00:02Z  DECOMMISSIONED   because
Drain drain-7 of scope prod is DECOMMISSIONED; worker: worker-2.
  job or?ders (4501): restored, did not run for 2.4 s
  job nightly (4502): finished
`, out)
	require.JSONEq(t, `{"scope":"prod","reason":"new kernel"}`, s.body("POST /autoscaler/drain"))

	code, out, _ = runArgs(t, "drain", "prod", "--cancel", "--reason", "not now", "--wait", "--server", url)
	require.Equal(t, exitBad, code)
	require.Contains(t, out, "is ACTIVE; worker: worker-2.\nthe scope asks for more workers\n")
	require.JSONEq(t, `{"scope":"prod","reason":"not now"}`, s.body("POST /autoscaler/drain/cancel"))
}

func TestDrainsAreListed(t *testing.T) {
	_, url := startDrainService(t, map[string][]any{"GET /autoscaler/drain": {api.DrainsPage{Drains: []scaling.Drain{aDrain(scaling.DrainDraining)}}, api.DrainsPage{}}})
	code, out, errs := runArgs(t, "drain", "--server", url)
	require.Zero(t, code, errs)
	require.Equal(t, `SINCE                 SCOPE  WORKER    STATE     JOBS  DRAIN    WHY
2026-03-14T09:00:00Z  prod   worker-2  DRAINING  2     drain-7  because
`, out)
	_, out, _ = runArgs(t, "drain", "--server", url)
	require.Equal(t, "No worker was drained.\n", out)
}

func TestDrainUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"--reason is missing: say why":  {"prod"},
		"SCOPE is missing":              {"--cancel"},
		"zeta-scaler: SCOPE is missing": {"--reason", "later"},
		"SCOPE is empty":                {""},
		"WORKER is empty":               {"prod", ""},
		"a cancel takes no WORKER: a scope has one drain at a time": {"prod", "w", "--cancel", "--reason", "x"},
		"a dry run changes nothing":                                 {"prod", "--dry-run", "--wait"},
		"accepts at most 2 arg(s), received 3":                      {"a", "b", "c"},
	} {
		code, _, errs := runArgs(t, append([]string{"drain", "--server", "http://127.0.0.1:1"}, args...)...)
		require.Equal(t, exitUsage, code, args)
		require.Contains(t, errs, want)
	}
}
