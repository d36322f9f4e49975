package api

import (
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

var update = flag.Bool("update", false, "write the golden files anew")

// hostile is a scope key and worker name that breaks out of any context that
// does not escape it.
const hostile = `"><script>alert(1)</script>'&{{.}}`

var tick = time.Date(2026, 3, 14, 9, 26, 30, 0, time.UTC)

type fakeBoard struct {
	evaluations []scaling.Evaluation
	follower    bool
	// early is before the first evaluation.
	early bool
}

func (b *fakeBoard) Evaluations() []scaling.Evaluation { return slices.Clone(b.evaluations) }
func (b *fakeBoard) Leader() bool                      { return !b.follower }
func (b *fakeBoard) Epoch() uint64                     { return 7 }
func (b *fakeBoard) Published() bool                   { return !b.early }

// Changes says that everything is new, once.
func (b *fakeBoard) Changes(since uint64) (keys []string, mark uint64, more <-chan struct{}) {
	for _, ev := range b.evaluations {
		if since == 0 {
			keys = append(keys, ev.Scope.Key)
		}
	}
	return keys, 1, nil
}

func (b *fakeBoard) Evaluation(key string) (scaling.Evaluation, bool) {
	for _, ev := range b.evaluations {
		if ev.Scope.Key == key {
			return ev, true
		}
	}
	return scaling.Evaluation{}, false
}

// scaleOut is a scope that waits for workers, with everything filled in.
func scaleOut(key string, labels ...scaling.Label) scaling.Evaluation {
	scope := scaling.Scope{Key: key, Labels: labels}
	out := scaling.Condition{
		Name: "oldest_blocked_job", Signal: "oldest_blocked_job", Class: scaling.Blocking, Direction: scaling.Out,
		Value: new(scaling.Known(412)), Comparison: ">", Threshold: new(60.0),
		HeldSeconds: new(330.0), WindowSeconds: new(300.0), AtLeast: true,
	}
	return scaling.Evaluation{
		Scope: scope,
		Recommendation: scaling.Recommendation{
			Scope: key, RecommendationID: scaling.RecommendationID(7, 3, key), MasterEpoch: 7, Generation: 3,
			Action: scaling.ScaleOut, Row: scaling.RowShortage,
			Reason:         "oldest blocked job 412 s > 60 s for at least 5m30s (window 5m); 2 → 3 workers",
			CurrentWorkers: new(2), RecommendedWorkers: new(3),
			TriggerConditions:  []scaling.Condition{out},
			BlockingConditions: []scaling.Condition{{Name: scaling.BlockerCooldown}},
			MetricsSnapshot: map[string]scaling.Measurement{
				"workers.current":    {Value: scaling.Known(2), Unit: "workers"},
				"workers.reporting":  {Value: scaling.Known(2), Unit: "workers"},
				"oldest_blocked_job": {Value: scaling.Known(412), Unit: "seconds"},
				"avg_cpu":            {Value: scaling.Known(0.2712), Unit: "ratio"},
				"slot_utilization":   {Unit: "ratio", Reason: "not_applicable"},
			},
			MetricsValid: true, StaleWorkerCount: new(0), RecommendationOnly: true,
			RuleSet:    scaling.RuleSetRef{Name: "zeta-auto", Version: "1.0.0", Digest: "sha256:9f2c"},
			ObservedAt: tick, Timestamp: tick.Add(12 * time.Millisecond),
			Since: tick.Add(-time.Minute), ValidUntil: tick.Add(90 * time.Second),
		},
		Inputs: []scaling.Input{
			{
				Name: "oldest_blocked_job", Class: scaling.Blocking, Unit: "seconds",
				Export: "input_oldest_blocked_seconds", Value: scaling.Known(412), Applies: true,
				Windows: []scaling.Window{
					{
						Direction: scaling.Out, Comparison: ">", Threshold: new(60.0), Truth: "true",
						Sustained: true, HeldSeconds: 330, WindowSeconds: 300, AtLeast: true,
					},
					{
						Direction: scaling.In, Comparison: "≤", Threshold: new(0.0), Truth: "false",
						WindowSeconds: 600,
					},
				},
			},
			{
				Name: "avg_cpu", Class: scaling.Saturation, Unit: "ratio", Export: "input_avg_cpu",
				Value: scaling.Known(0.2712), Applies: true,
				Windows: []scaling.Window{{
					Direction: scaling.In, Comparison: "<", Threshold: new(0.3), Truth: "true",
					HeldSeconds: 150, WindowSeconds: 600,
				}},
			},
			{
				Name: "slot_utilization", Class: scaling.Capacity, Unit: "ratio", Reason: "not_applicable",
				Windows: []scaling.Window{{
					Direction: scaling.Out, Comparison: ">", Truth: "unknown", WindowSeconds: 300,
				}},
			},
			{Name: "head_job", Class: scaling.Guard, Reason: "absent", Applies: true},
		},
		Shadows: []scaling.Shadow{{
			RuleSet: scaling.RuleSetRef{Name: "zeta-next", Version: "2.0.0-rc.1", Digest: "sha256:01ab"},
			Action:  scaling.ScaleOut, Row: scaling.RowShortage, Reason: "2 → 4 workers", RecommendedWorkers: new(4),
		}},
		SlotMode: scaling.DynamicSlots, Mode: scaling.Advisory, Deployment: scaling.Session,
		MinWorkers: 1, MaxWorkers: new(10), Booting: 1, ReportingWorkers: new(2),
		CooldownRemainingSeconds: 30, Interval: 30, Tick: tick,
		FirstInQueue: &scaling.QueueHead{
			JobID: "1179806978274033665", Reason: "RESOURCE_NOT_ENOUGH", RequiredSlots: new(4), LackingSlots: new(2),
			WaitedSeconds: new(412.0), ObservedAt: tick.Add(-3 * time.Second),
		},
		Next: &scaling.Forecast{At: tick.Add(4 * time.Minute), Action: scaling.NoAction, Row: scaling.RowSteady, RecommendedWorkers: new(2)},
	}
}

// blind is a scope of which nothing is known, with every list nil.
func blind(key string) scaling.Evaluation {
	return scaling.Evaluation{
		Scope: scaling.Scope{Key: key},
		Recommendation: scaling.Recommendation{
			Scope: key, RecommendationID: scaling.RecommendationID(7, 1, key), MasterEpoch: 7, Generation: 1,
			Action: scaling.NoAction, Row: scaling.RowWorkersUnknown, Reason: "the worker count is unknown",
			RecommendationOnly: true,
			RuleSet:            scaling.RuleSetRef{Name: "zeta-auto", Version: "1.0.0", Digest: "sha256:9f2c"},
			ObservedAt:         tick, Timestamp: tick, Since: tick, ValidUntil: tick.Add(90 * time.Second),
		},
		SlotMode: scaling.UnknownSlots, Mode: scaling.Advisory, Deployment: scaling.Session,
		MinWorkers: 1, Interval: 30, Tick: tick, Provisional: true, Paused: true,
	}
}

func rows() []scaling.Row {
	return []scaling.Row{
		{ID: scaling.RowWorkersUnknown, When: "current unknown", Action: scaling.NoAction, Target: "unknown"},
		{ID: scaling.RowShortage, When: "shortage", Action: scaling.ScaleOut, Target: "step policy"},
		{ID: scaling.RowSteady, When: "otherwise", Action: scaling.NoAction, Target: "current"},
	}
}

// record stores one decision of a scope, or any other value.
func record(t testing.TB, store state.Store, ev scaling.Evaluation, at time.Time) {
	t.Helper()
	value, err := json.Marshal(scaling.HistoryRecord{
		Recommendation: ev.Recommendation, Inputs: ev.Inputs, SlotMode: ev.SlotMode, Mode: ev.Mode,
		Paused: ev.Paused, MinWorkers: ev.MinWorkers, MaxWorkers: ev.MaxWorkers, Booting: ev.Booting,
		Provisional: ev.Provisional, Facts: &ev.Facts,
	})
	require.NoError(t, err)
	keep(t, store, state.Entry{
		Scope: ev.Scope.Key, At: at, Action: string(ev.Recommendation.Action),
		Kind: state.DecisionEntry, Value: value,
	})
}

func keep(t testing.TB, store state.Store, e state.Entry) {
	t.Helper()
	_, err := store.Apply(context.Background(), state.NoFence, state.Batch{History: []state.Entry{e}})
	require.NoError(t, err)
}

// options are complete: three scopes (one of them hostile), a history of both
// kinds, and everything in order.
func options(t testing.TB) Options {
	t.Helper()
	prod := scaleOut("prod", scaling.Label{Name: "cluster", Value: "prod"})
	odd := scaleOut(hostile, scaling.Label{Name: "cluster", Value: hostile})
	odd.Recommendation.Reason = hostile
	prod.Drain, odd.Drain = drained(), draining()
	odd.Inputs[3].Reason = hostile
	odd.FirstInQueue = &scaling.QueueHead{JobID: hostile, Reason: hostile, ObservedAt: tick}
	prod.Facts = scaling.FactCurrentKnown | scaling.FactMetricsUsable | scaling.FactMetricsValid | scaling.FactShortage | scaling.FactShortagePresent
	store := memory.New()
	record(t, store, blind("prod"), tick.Add(-time.Hour))
	keep(t, store, state.Entry{Scope: "prod", At: tick.Add(-time.Minute), Kind: state.LimitsEntry, Value: []byte(`{}`)})
	record(t, store, prod, tick.Add(-time.Minute))
	record(t, store, blind("gone"), tick)
	storeActions(t, store)
	storeDrains(t, store)
	storeAlerts(t, store)
	return Options{
		Board:   &fakeBoard{evaluations: []scaling.Evaluation{odd, blind("empty"), prod}},
		History: store,
		Store:   store,
		Jobs:    fakeJobs{},
		Drains:  fakeDrains{},
		Past:    fakePast{},
		Settings: func() []Setting {
			return []Setting{
				{Path: "log.level", Value: "info", Origin: FromDefault},
				{Path: "scopes[0].bounds.max_workers", Value: 10, Origin: FromFile, Source: "zeta-scaler.yml:12:9"},
				{Path: "prometheus.http_config.basic_auth.password", Value: "<secret>", Origin: FromEnvironment, Source: "ZETA_SCALER__X"},
			}
		},
		Configured:    configured,
		RuleSets:      func() []*rules.RuleSet { return packs(t) },
		Queries:       queries,
		PrometheusURL: func() string { return "http://prom:9090/base" },
		Webhook: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"results":[],"truncatedAlerts":0}`))
		}),
		User:   func(context.Context) string { return "ann" },
		Table:  rows(),
		Reload: func(context.Context) error { return nil },
		Ready:  func(context.Context) error { return nil },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
			_, _ = w.Write([]byte("# TYPE zeta_scaler_leader gauge\nzeta_scaler_leader 1\n"))
		}),
		Health: func() Health { return healthy() },
		Now:    func() time.Time { return tick.Add(12 * time.Second) },
	}
}

// healthy is that everybody answers who was asked.
func healthy() Health {
	up := func(name, url string) contact.Status {
		return contact.Status{Name: name, URL: url, State: contact.Up, Since: new(tick.Add(-time.Hour)), LastAnswer: new(tick)}
	}
	prom := up("prometheus", "http://prom:9090/base")
	prom.InUse = true
	prod, odd := up("prod", "http://m1:8080"), up(hostile, "")
	prod.Version, odd.Version = "2.3.13", hostile
	store := up("file", "data/state.db")
	return Health{
		Sources:       []contact.Status{prom, {Name: "prometheus", URL: "http://prom2:9090", State: contact.Unasked}},
		Alertmanagers: []contact.Status{up("alertmanager", "http://am:9093")},
		Clusters:      []contact.Status{prod, odd}, Store: &store, NextTick: tick.Add(30 * time.Second),
	}
}

// silenced is health in which nobody answers.
func silenced() Health {
	h := healthy()
	down := func(s *contact.Status) { s.State, s.Error = contact.Down, "connection refused "+hostile }
	for _, all := range [][]contact.Status{h.Sources, h.Alertmanagers, h.Clusters} {
		for i := range all {
			down(&all[i])
		}
	}
	down(h.Store)
	h.Sources[0].LastAnswer = nil
	return h
}

func newHandler(t testing.TB, o Options) http.Handler {
	t.Helper()
	h, err := New(o)
	require.NoError(t, err)
	return h
}

func call(h http.Handler, method, target string) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(method, target, http.NoBody))
	return rec
}

// golden compares JSON with a file of testdata, indented.
func golden(t *testing.T, name string, body []byte) {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(body, &v))
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	require.NoError(t, enc.Encode(v))
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644)) //nolint:gosec // a file of the repository
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}

func serve(h http.Handler, req *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	return rec
}

// configured lists prod by name.
func configured(scope string) Configured {
	c := Configured{Configured: state.Configured{Bounds: scaling.DefaultBounds(), Mode: scaling.Advisory}}
	if scope == "prod" {
		c.Listed, c.Bounds.Max = true, 10
		c.MaxFrom = Place{Origin: FromFile, Source: "zeta-scaler.yml:12:9"}
	}
	return c
}

func queries(ref scaling.RuleSetRef) map[string]evaluator.Query {
	if ref.Name != "zeta-auto" {
		return nil
	}
	return map[string]evaluator.Query{
		"workers.current":    {Expr: "max by (cluster) (workers)"},
		"oldest_blocked_job": {Expr: `max(oldest{state='pending'})`, Offset: 15 * time.Second},
	}
}

// execution is an action whose last transition was at the given time.
func execution(id string, s scaling.ActionState, at time.Time) *scaling.Execution {
	return &scaling.Execution{
		ID: id, RecommendationID: id, Scope: "acting", MasterEpoch: 7, Generation: 1, Row: scaling.RowShortage,
		From: new(2), Target: 3, Actuator: "log", State: s,
		Transitions: []scaling.Transition{
			{State: scaling.ActionPending, At: at.Add(-time.Minute), Reason: "accepted"},
			{State: s, At: at},
		},
	}
}

// storeActions stores one action under way, one held, one over in the record,
// and two in the history.
func storeActions(t testing.TB, store state.Store) {
	t.Helper()
	other := execution("6-9-other", scaling.ActionPending, tick.Add(-time.Minute))
	other.Scope = "other"
	over := execution("7-1-over", scaling.ActionFailed, tick.Add(-time.Hour))
	records := map[string]state.ExecutionRecord{
		"acting": {Action: execution("7-2-acting", scaling.ActionConverging, tick), ActionInFlight: true},
		"other":  {Action: over, Held: other},
	}
	var batch state.Batch
	for key, r := range records {
		put, err := state.NewPut(state.Execution, key, 0, r)
		require.NoError(t, err)
		batch.Puts = append(batch.Puts, put)
	}
	_, err := store.Apply(context.Background(), state.NoFence, batch)
	require.NoError(t, err)
	for _, x := range []*scaling.Execution{over, execution("7-1-acting", scaling.ActionSucceeded, tick.Add(-10*time.Minute))} {
		value, err := json.Marshal(x)
		require.NoError(t, err)
		keep(t, store, state.Entry{
			Scope: x.Scope, At: x.Transitions[1].At, Action: string(x.State), Kind: state.ActionEntry, Value: value,
		})
	}
}

// drained is a drain of prod that has moved one job and waited for another.
func drained() *scaling.Drain {
	at := func(seconds int) time.Time { return tick.Add(-30*time.Minute + time.Duration(seconds)*time.Second) }
	return &scaling.Drain{
		ID: "7-1", Scope: "prod", RecommendationID: "7-2-prod", Generation: 2, MasterEpoch: 7,
		Worker: "worker-2", Address: "10.0.0.3:5801", Actuator: "kubernetes", State: scaling.DrainDecommissioned, Held: true, HoldJob: "900001", Slots: 4,
		ReleasedAt: at(14),
		Transitions: []scaling.DrainTransition{
			{State: scaling.DrainPending, At: at(0), Reason: "accepted from the webhook"},
			{State: scaling.DrainDraining, At: at(1), Reason: "2 jobs are on worker-2"},
			{State: scaling.DrainDrained, At: at(12), Reason: "its 4 slots are held"},
			{State: scaling.DrainDecommissioning, At: at(14), Reason: "the platform is asked to remove worker-2"},
			{State: scaling.DrainDecommissioned, At: at(40), Reason: "worker-2 is gone"},
		},
		Jobs: []scaling.DrainJob{
			{ID: "4501", Name: "orders", Mode: "STREAMING", Step: scaling.JobRestored, StopAt: at(10), RunAt: at(10).Add(2400 * time.Millisecond), Stops: 1, Attempts: 1},
			{ID: "4502", Name: "nightly", Mode: "BATCH", Step: scaling.JobFinished},
		},
	}
}

// draining is a drain of the hostile scope, of whose jobs one does not run.
func draining() *scaling.Drain {
	return &scaling.Drain{
		ID: "7-9", Scope: hostile, By: hostile, Reason: hostile, MasterEpoch: 7, Worker: hostile, Actuator: "exec", State: scaling.DrainFailed,
		Transitions: []scaling.DrainTransition{
			{State: scaling.DrainDraining, At: tick.Add(-time.Minute), Reason: hostile},
			{State: scaling.DrainFailed, At: tick, Reason: hostile},
		},
		Jobs:  []scaling.DrainJob{{ID: "4503", Name: hostile, Mode: "STREAMING", Step: scaling.JobRestoring, StopAt: tick.Add(-30 * time.Second), Attempts: 3, Error: hostile}},
		Harm:  []string{hostile},
		Error: hostile,
	}
}

func storeDrains(t testing.TB, store state.Store) {
	t.Helper()
	var batch state.Batch
	for key, r := range map[string]state.DrainRecord{"prod": {Last: drained()}, hostile: {Open: draining()}} {
		put, err := state.NewPut(state.Drain, key, 0, r)
		require.NoError(t, err)
		batch.Puts = append(batch.Puts, put)
	}
	_, err := store.Apply(context.Background(), state.NoFence, batch)
	require.NoError(t, err)
	value, err := json.Marshal(drained())
	require.NoError(t, err)
	keep(t, store, state.Entry{Scope: "prod", At: lastStep(drained()), Action: string(scaling.DrainDecommissioned), Kind: state.DrainEntry, Value: value})
}

// send calls with a JSON body and headers in pairs.
func send(t testing.TB, h http.Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequest(method, target, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return serve(h, req)
}

func decoded[T any](t testing.TB, rec *httptest.ResponseRecorder) T {
	t.Helper()
	require.Equal(t, http.StatusOK, rec.Code, rec.Body.String())
	var v T
	require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &v))
	return v
}
