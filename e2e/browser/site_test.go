package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// hostile breaks out of any context that does not escape it.
const hostile = `"><img src=x onerror=alert(1)><script>alert(1)</script>'&{{.}}</title>`

// board shows what a test wants to see.
type board struct {
	mu          sync.Mutex
	evaluations []scaling.Evaluation
	follower    bool
}

func (b *board) Evaluations() []scaling.Evaluation {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.evaluations)
}

func (b *board) Evaluation(key string) (scaling.Evaluation, bool) {
	for _, ev := range b.Evaluations() {
		if ev.Scope.Key == key {
			return ev, true
		}
	}
	return scaling.Evaluation{}, false
}

func (b *board) Leader() bool  { return !b.follower }
func (b *board) Epoch() uint64 { return 7 }

// change changes the evaluation of every scope.
func (b *board) change(f func(*scaling.Evaluation)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.evaluations = slices.Clone(b.evaluations)
	for i := range b.evaluations {
		f(&b.evaluations[i])
	}
}

// site serves the real API over a board that tests change.
type site struct {
	url   string
	board *board
	store state.Store
	stop  func()
}

// wrapper lets a test stand in front of the API.
type wrapper func(http.Handler) http.Handler

func serve(t *testing.T, wrap wrapper, evaluations ...scaling.Evaluation) *site {
	t.Helper()
	s := &site{board: &board{evaluations: evaluations}, store: memory.New()}
	handler, err := api.New(api.Options{
		Board: s.board, History: s.store, Table: table(),
		Ready:   func(context.Context) error { return nil },
		Metrics: http.NotFoundHandler(),
	})
	require.NoError(t, err)
	if wrap != nil {
		handler = wrap(handler)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	s.url = "http://" + l.Addr().String()
	s.stop = sync.OnceFunc(func() {
		_ = server.Close()
		<-done
	})
	t.Cleanup(s.stop)
	t.Logf("started the API with %d scopes on %s", len(evaluations), s.url)
	return s
}

// put writes one line of history.
func (s *site) put(t *testing.T, kind, scope string, at time.Time, value any) {
	t.Helper()
	b, err := json.Marshal(value)
	require.NoError(t, err)
	_, err = s.store.Apply(context.Background(), state.Batch{History: []state.Entry{{
		Scope: scope, At: at, Kind: kind, Action: string(scaling.NoAction), Value: b,
	}}})
	require.NoError(t, err)
}

// remember records a past of ups and downs for a scope.
func (s *site) remember(t *testing.T, ev scaling.Evaluation) {
	t.Helper()
	current, now := 2, time.Now()
	for i, target := range []int{2, 3, 3, 5, 5, 4, 4, 6, 5, 3, 2} {
		r := ev.Recommendation
		at := now.Add(time.Duration(i-12) * 10 * time.Minute)
		r.CurrentWorkers, r.RecommendedWorkers, r.ObservedAt = new(current), new(target), at
		r.Generation, r.Reason = uint64(i+1), fmt.Sprintf("%d → %d workers", current, target)
		switch {
		case target > current:
			r.Action, r.Row = scaling.ScaleOut, scaling.RowShortage
		case target < current:
			r.Action, r.Row = scaling.ScaleInCandidate, scaling.RowIdle
		default:
			r.Action, r.Row = scaling.NoAction, scaling.RowSteady
		}
		s.put(t, state.DecisionEntry, ev.Scope.Key, at, scaling.HistoryRecord{Recommendation: r, Inputs: ev.Inputs})
		current = target
	}
}

// table is short, and has the rows that the fixtures name.
func table() []scaling.Row {
	return []scaling.Row{
		{ID: scaling.RowPaused, When: "scope or service paused", Action: scaling.NoAction, Target: "current"},
		{ID: scaling.RowWorkersUnknown, When: "current unknown", Action: scaling.NoAction, Target: "unknown"},
		{ID: scaling.RowBelowMin, When: "current + booting < min, for floor_delay", Action: scaling.ScaleOut, Target: "min"},
		{ID: scaling.RowShortage, When: "shortage", Action: scaling.ScaleOut, Target: "step policy"},
		{ID: scaling.RowIdleHeld, When: "idle ∧ ¬settled", Action: scaling.ScaleInBlocked, Target: "current"},
		{ID: scaling.RowIdle, When: "idle", Action: scaling.ScaleInCandidate, Target: "max(min, current − 1)"},
		{ID: scaling.RowSteady, When: "otherwise", Action: scaling.NoAction, Target: "current"},
	}
}

// shortage is a scope whose jobs wait for workers, decided just now.
func shortage(key string, labels ...scaling.Label) scaling.Evaluation {
	now := time.Now()
	return scaling.Evaluation{
		Scope: scaling.Scope{Key: key, Labels: labels},
		Recommendation: scaling.Recommendation{
			Scope: key, RecommendationID: scaling.RecommendationID(7, 12, key), MasterEpoch: 7, Generation: 12,
			Action: scaling.ScaleOut, Row: scaling.RowShortage,
			Reason:         "oldest blocked job 412 s > 60 s for 5m30s (window 5m); 2 → 4 workers",
			CurrentWorkers: new(2), RecommendedWorkers: new(4), MetricsValid: true, StaleWorkerCount: new(0),
			RuleSet:    scaling.RuleSetRef{Name: "zeta-auto", Version: "1.0.0", Digest: "sha256:9f2c"},
			ObservedAt: now, Timestamp: now, Since: now.Add(-time.Minute), ValidUntil: now.Add(time.Hour),
		},
		Inputs: []scaling.Input{
			{
				Name: "oldest_blocked_job", Class: scaling.Blocking, Unit: "seconds", Value: scaling.Known(412), Applies: true,
				Windows: []scaling.Window{
					{Direction: scaling.Out, Comparison: ">", Threshold: new(60.0), Truth: "true", Sustained: true, HeldSeconds: 330, WindowSeconds: 300},
					{Direction: scaling.In, Comparison: "≤", Threshold: new(0.0), Truth: "false", WindowSeconds: 600},
				},
			},
			{
				Name: "avg_cpu", Class: scaling.Saturation, Unit: "ratio", Value: scaling.Known(0.8612), Applies: true,
				Windows: []scaling.Window{
					{Direction: scaling.Out, Comparison: ">", Threshold: new(0.8), Truth: "true", HeldSeconds: 150, WindowSeconds: 300},
					{Direction: scaling.In, Comparison: "<", Threshold: new(0.3), Truth: "false", WindowSeconds: 600},
				},
			},
			{
				Name: "slot_utilization", Class: scaling.Capacity, Unit: "ratio", Reason: "not_applicable",
				Windows: []scaling.Window{{Direction: scaling.Out, Comparison: ">", Threshold: new(0.9), Truth: "unknown", WindowSeconds: 300}},
			},
			{Name: "head_job", Class: scaling.Guard, Reason: "absent", Applies: true},
		},
		SlotMode: scaling.DynamicSlots, Mode: scaling.Advisory, Deployment: scaling.Session,
		MinWorkers: 1, MaxWorkers: new(10), Interval: 15, Tick: now,
		Facts: scaling.FactCurrentKnown | scaling.FactMetricsUsable | scaling.FactMetricsValid |
			scaling.FactShortage | scaling.FactShortagePresent,
	}
}

// idle is a scope with nothing to do.
func idle(key string, labels ...scaling.Label) scaling.Evaluation {
	ev := shortage(key, labels...)
	r := &ev.Recommendation
	r.Action, r.Row, r.Reason = scaling.NoAction, scaling.RowSteady, "no condition is sustained; 2 workers stay"
	r.RecommendedWorkers = new(2)
	ev.Facts = scaling.FactCurrentKnown | scaling.FactMetricsUsable | scaling.FactMetricsValid
	return ev
}

// blind is a scope of which nothing is known.
func blind(key string, labels ...scaling.Label) scaling.Evaluation {
	ev := shortage(key, labels...)
	r := &ev.Recommendation
	r.Action, r.Row, r.Reason = scaling.NoAction, scaling.RowWorkersUnknown, "the worker count is unknown"
	r.CurrentWorkers, r.RecommendedWorkers, r.MetricsValid = nil, nil, false
	for i := range ev.Inputs {
		in := &ev.Inputs[i]
		in.Value, in.Reason = scaling.Value{}, "absent"
		for j := range in.Windows {
			in.Windows[j].Truth, in.Windows[j].Sustained, in.Windows[j].HeldSeconds = "unknown", false, 0
		}
	}
	ev.Provisional, ev.Facts = true, 0
	return ev
}

// many are so many scopes of all kinds.
func many(n int) []scaling.Evaluation {
	out := make([]scaling.Evaluation, n)
	for i := range out {
		key := fmt.Sprintf("team-%02d/cluster-%04d", i%40, i)
		labels := []scaling.Label{{Name: "team", Value: fmt.Sprintf("team-%02d", i%40)}, {Name: "cluster", Value: fmt.Sprintf("cluster-%04d", i)}}
		switch i % 9 {
		case 0:
			out[i] = shortage(key, labels...)
		case 1:
			out[i] = blind(key, labels...)
		default:
			out[i] = idle(key, labels...)
		}
	}
	slices.SortFunc(out, func(a, b scaling.Evaluation) int { return strings.Compare(a.Scope.Key, b.Scope.Key) })
	return out
}
