package kubernetes

import (
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/events"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

var update = flag.Bool("update", false, "write the golden files again")

var _ events.Handler = (*Handler)(nil)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// server plays the two calls that a handler makes.
type server struct {
	*httptest.Server
	// posted are the bodies of the events by path.
	posted []json.RawMessage
	paths  []string
	gets   int
	// code answers a POST, getCode a GET.
	code, getCode int
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{code: http.StatusCreated, getCode: http.StatusOK}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			s.gets++
			w.WriteHeader(s.getCode)
			fmt.Fprint(w, `{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "worker", "uid": "u-1"}}`)
			return
		}
		var body json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&body)
		s.posted, s.paths = append(s.posted, body), append(s.paths, r.Method+" "+r.URL.Path)
		w.WriteHeader(s.code)
		if s.code >= 400 {
			reason := map[int]string{http.StatusConflict: "AlreadyExists", http.StatusForbidden: "Forbidden"}[s.code]
			fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": %d, "reason": %q}`, s.code, reason)
			return
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(s.Close)
	return s
}

// handler knows the workload of scope "prod" only; its clock is *now.
func (s *server) handler(t *testing.T, now *time.Time) *Handler {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", s.URL)
	require.NoError(t, os.WriteFile(kubeconfig, []byte(text), 0o600))
	h, err := New(Options{
		Object: func(scope string) (Object, bool) {
			return Object{Namespace: "st", Kind: "StatefulSet", Name: "worker"}, scope == "prod"
		},
		Kubeconfig: kubeconfig, Instance: "zeta-scaler-0", Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return *now },
	})
	require.NoError(t, err)
	return h
}

func decision(message string) scaling.Event {
	return scaling.Event{
		Kind: scaling.EventRecommendedWorkers, Severity: scaling.Normal, Scope: scaling.Scope{Key: "prod"}, Message: message, At: noon,
		Recommendation: &scaling.Recommendation{RecommendationID: "7-3-prod", Action: scaling.ScaleOut},
	}
}

func failure() scaling.Event {
	return scaling.Event{
		Kind: scaling.EventScalingException, Severity: scaling.Warning, Scope: scaling.Scope{Key: "prod"}, At: noon,
		Message:   "FAILED: the workers did not come",
		Execution: &scaling.Execution{ID: "7-3-prod", State: scaling.ActionFailed},
	}
}

func TestEvents(t *testing.T) {
	for name, e := range map[string]scaling.Event{
		"decision": decision("SCALE_OUT: jobs are rejected"),
		"failure":  failure(),
		"long":     decision(strings.Repeat("ä", 1000)),
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			now := noon
			require.NoError(t, s.handler(t, &now).Handle(t.Context(), e))
			require.Equal(t, []string{"POST /apis/events.k8s.io/v1/namespaces/st/events"}, s.paths)
			var v any
			require.NoError(t, json.Unmarshal(s.posted[0], &v))
			got, err := json.MarshalIndent(v, "", "  ")
			require.NoError(t, err)
			golden := filepath.Join("testdata", name+".json")
			if *update {
				require.NoError(t, os.WriteFile(golden, append(got, '\n'), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, strings.TrimSpace(string(want)), string(got))
		})
	}
}

func TestAScopeWithoutWorkloadHasNoEvents(t *testing.T) {
	s := newServer(t)
	now := noon
	e := decision("x")
	e.Scope.Key = "other"
	require.NoError(t, s.handler(t, &now).Handle(t.Context(), e))
	require.Empty(t, s.paths)
}

func TestAnswersOfTheServer(t *testing.T) {
	now := noon
	s := newServer(t)
	s.code = http.StatusConflict
	require.NoError(t, s.handler(t, &now).Handle(t.Context(), decision("x")), "the event is there already")

	s = newServer(t)
	s.code = http.StatusForbidden
	require.ErrorContains(t, s.handler(t, &now).Handle(t.Context(), decision("x")), "writing an event of StatefulSet st/worker")

	s = newServer(t)
	s.getCode = http.StatusForbidden
	h := s.handler(t, &now)
	require.NoError(t, h.Handle(t.Context(), decision("x")))
	require.NoError(t, h.Handle(t.Context(), decision("y")))
	require.Len(t, s.posted, 2)
	require.NotContains(t, string(s.posted[0]), "uid")
	require.Equal(t, 1, s.gets, "the identity is not asked for each event")
	now = now.Add(identityLife)
	s.getCode = http.StatusOK
	require.NoError(t, h.Handle(t.Context(), decision("z")))
	require.Contains(t, string(s.posted[2]), `"uid":"u-1"`)
}

func TestRepetitionsAreLeftOutAndCounted(t *testing.T) {
	s := newServer(t)
	now := noon
	h := s.handler(t, &now)
	for range 3 {
		require.NoError(t, h.Handle(t.Context(), decision("again")))
	}
	require.Len(t, s.posted, 1)
	now = now.Add(repeatAfter)
	require.NoError(t, h.Handle(t.Context(), decision("again")))
	require.Len(t, s.posted, 2)
	require.Contains(t, string(s.posted[1]), "2 earlier events left out")
}

// However events come, no more than burst and one for each refill are written
// for a scope, and every event is either written or counted.
func TestEventsAreBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var l limits
		now := noon
		written, counted, all := 0, 0, rapid.IntRange(1, 200).Draw(rt, "events")
		for i := range all {
			now = now.Add(time.Duration(rapid.IntRange(0, 600).Draw(rt, "seconds")) * time.Second)
			e := decision(fmt.Sprint(rapid.IntRange(0, i).Draw(rt, "message")))
			if leftOut, ok := l.take(e, now); ok {
				written++
				counted += leftOut
			}
		}
		require.LessOrEqual(rt, written, burst+int(now.Sub(noon)/refill))
		require.Equal(rt, all, written+counted+l.buckets[bucketKey{"prod", scaling.Normal}].leftOut)
		_, ok := l.take(failure(), now)
		require.True(rt, ok, "a warning does not wait behind other events")
	})
}

func TestScopesAreForgotten(t *testing.T) {
	var l limits
	for i := range 3 * most {
		e := decision("x")
		e.Scope.Key = fmt.Sprint(i)
		_, ok := l.take(e, noon.Add(time.Duration(i)*time.Minute))
		require.True(t, ok)
	}
	require.LessOrEqual(t, len(l.buckets), most+1)
}

func TestTextsAreCutBetweenCharacters(t *testing.T) {
	require.Equal(t, "äää", truncated("äää", 6))
	require.Equal(t, "ä…", truncated("ääää", 6))
}
