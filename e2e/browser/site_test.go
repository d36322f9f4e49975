package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
	"github.com/zeta-scaler/zeta-scaler/web"
)

// hostile breaks out of any context that does not escape it.
const hostile = `"><img src=x onerror=alert(1)><script>alert(1)</script>'&{{.}}</title>`

// site serves the real API behind the real checks of credentials, over what a
// test publishes.
type site struct {
	url   string
	board *evaluator.Board
	store state.Store

	mu     sync.Mutex
	posts  []post
	health api.Health
}

// answers sets who answers the service.
func (s *site) answers(h api.Health) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.health = h
}

// post is a changing call that was made.
type post struct {
	path, authorization, cookie string
	body                        map[string]any
}

// token may change something, and so may the user ops with this password.
const (
	token    = "let-me-in"
	password = "pä:ss"
)

func serve(t *testing.T, evaluations ...scaling.Evaluation) *site {
	t.Helper()
	s := &site{board: evaluator.NewBoard(7), store: memory.New()}
	s.publish(evaluations...)
	dir := t.TempDir()
	tokens, users := filepath.Join(dir, "tokens"), filepath.Join(dir, "web.yml")
	require.NoError(t, os.WriteFile(tokens, []byte(token+"\n"), 0o600))
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(users, fmt.Appendf(nil, "basic_auth_users: {ops: '%s'}\n", hash), 0o600))
	ctx, cancel := context.WithCancel(context.Background())
	handler, err := api.New(api.Options{
		Board: s.board, History: s.store, Store: s.store, Table: evaluator.Table(),
		Ready:   func(context.Context) error { return nil },
		Metrics: http.NotFoundHandler(), User: web.User, Stopping: ctx.Done(),
		Queries: queries, RuleSets: loaded, Settings: settings, Past: pastSource{},
		Health: func() api.Health {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.health
		},
		PrometheusURL: func() string { return "http://prometheus:9090" },
	})
	require.NoError(t, err)
	server, err := web.Listen(ctx, web.Options{
		ListenAddress: "127.0.0.1:0", ConfigFile: users, BearerTokensFile: tokens, OpenReads: true,
	})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, s.record(handler)) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	s.url = "http://" + server.Addr().String()
	t.Logf("started the API with %d scopes on %s", len(evaluations), s.url)
	return s
}

// serveClosed is a service that only a bearer token opens; it returns its URL.
func serveClosed(t *testing.T) string {
	t.Helper()
	tokens := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte(token+"\n"), 0o600))
	ctx, cancel := context.WithCancel(context.Background())
	server, err := web.Listen(ctx, web.Options{ListenAddress: "127.0.0.1:0", BearerTokensFile: tokens})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, http.NotFoundHandler()) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return "http://" + server.Addr().String()
}

// record notes the calls that get past the checks.
func (s *site) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost || r.Method == http.MethodPut {
			raw, _ := io.ReadAll(r.Body)
			p := post{path: r.URL.Path, authorization: r.Header.Get("Authorization"), cookie: r.Header.Get("Cookie")}
			_ = json.Unmarshal(raw, &p.body)
			s.mu.Lock()
			s.posts = append(s.posts, p)
			s.mu.Unlock()
			r.Body = io.NopCloser(bytes.NewReader(raw))
		}
		next.ServeHTTP(w, r)
	})
}

func (s *site) posted() []post {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.posts)
}

// publish is a tick.
func (s *site) publish(evaluations ...scaling.Evaluation) {
	s.board.Publish(context.Background(), slices.Clone(evaluations), nil)
}

// forget makes a scope that is gone.
func (s *site) forget(key string) {
	s.board.Publish(context.Background(), nil, []scaling.Scope{{Key: key}})
}

// queries are those of the fixtures' rule set.
func queries(scaling.RuleSetRef) map[string]evaluator.Query {
	return map[string]evaluator.Query{
		"avg_cpu":            {Expr: `avg by (cluster) (seatunnel_zeta_worker_cpu_ratio)`},
		"oldest_blocked_job": {Expr: `max by (cluster) (seatunnel_zeta_pending_job_oldest_seconds)`},
	}
}

// put writes one line of history.
func (s *site) put(t *testing.T, kind, scope string, at time.Time, value any) {
	t.Helper()
	b, err := json.Marshal(value)
	require.NoError(t, err)
	_, err = s.store.Apply(context.Background(), state.NoFence, state.Batch{History: []state.Entry{{
		Scope: scope, At: at, Kind: kind, Action: string(scaling.NoAction), Value: b,
	}}})
	require.NoError(t, err)
}

// write puts one record into the store.
func (s *site) write(t *testing.T, kind state.Kind, key string, value any) {
	t.Helper()
	put, err := state.NewPut(kind, key, 0, value)
	require.NoError(t, err)
	_, err = s.store.Apply(context.Background(), state.NoFence, state.Batch{Puts: []state.Put{put}})
	require.NoError(t, err)
}

// control writes what somebody has set for a scope.
func (s *site) control(t *testing.T, scope string, r state.ControlRecord) {
	t.Helper()
	s.write(t, state.Control, scope, r)
}

// execution writes what is known of a scope's actions.
func (s *site) execution(t *testing.T, scope string, r state.ExecutionRecord) {
	t.Helper()
	s.write(t, state.Execution, scope, r)
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

// shortage is a scope whose jobs wait for workers, decided just now.
func shortage(key string, labels ...scaling.Label) scaling.Evaluation {
	now := time.Now()
	return scaling.Evaluation{
		Scope: scaling.Scope{Key: key, Labels: labels},
		Recommendation: scaling.Recommendation{
			Scope: key, RecommendationID: scaling.RecommendationID(7, 12, key), MasterEpoch: 7, Generation: 12,
			Action: scaling.ScaleOut, Row: scaling.RowShortage,
			Reason: "oldest blocked job 412 s > 60 s for 5m30s (window 5m); 2 → 4 workers",
			MetricsSnapshot: map[string]scaling.Measurement{
				"oldest_blocked_job": {Value: scaling.Known(412), Unit: "seconds"}, "avg_cpu": {Value: scaling.Known(0.8612), Unit: "ratio"},
			},
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
