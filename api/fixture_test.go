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
}

func (b *fakeBoard) Evaluations() []scaling.Evaluation { return slices.Clone(b.evaluations) }
func (b *fakeBoard) Leader() bool                      { return !b.follower }
func (b *fakeBoard) Epoch() uint64                     { return 7 }

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
		Provisional: ev.Provisional,
	})
	require.NoError(t, err)
	keep(t, store, state.Entry{
		Scope: ev.Scope.Key, At: at, Action: string(ev.Recommendation.Action),
		Kind: state.DecisionEntry, Value: value,
	})
}

func keep(t testing.TB, store state.Store, e state.Entry) {
	t.Helper()
	_, err := store.Apply(context.Background(), state.Batch{History: []state.Entry{e}})
	require.NoError(t, err)
}

// options are complete: three scopes (one of them hostile), a history of both
// kinds, and everything in order.
func options(t testing.TB) Options {
	t.Helper()
	prod := scaleOut("prod", scaling.Label{Name: "cluster", Value: "prod"})
	odd := scaleOut(hostile, scaling.Label{Name: "cluster", Value: hostile})
	odd.Recommendation.Reason = hostile
	odd.Inputs[3].Reason = hostile
	store := memory.New()
	record(t, store, blind("prod"), tick.Add(-time.Hour))
	keep(t, store, state.Entry{Scope: "prod", At: tick.Add(-time.Minute), Kind: state.LimitsEntry, Value: []byte(`{}`)})
	record(t, store, prod, tick.Add(-time.Minute))
	record(t, store, blind("gone"), tick)
	return Options{
		Board:   &fakeBoard{evaluations: []scaling.Evaluation{odd, blind("empty"), prod}},
		History: store,
		Table:   rows(),
		Reload:  func(context.Context) error { return nil },
		Ready:   func(context.Context) error { return nil },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
			_, _ = w.Write([]byte("# TYPE zeta_scaler_leader gauge\nzeta_scaler_leader 1\n"))
		}),
		Now: func() time.Time { return tick.Add(12 * time.Second) },
	}
}

func handler(t testing.TB, o Options) http.Handler {
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
