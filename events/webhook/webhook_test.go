package webhook

import (
	"bytes"
	"context"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/events"
	"github.com/zeta-scaler/zeta-scaler/events/signature"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

var update = flag.Bool("update", false, "write the golden files anew")

var _ events.Handler = (*Handler)(nil)

var at = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newHandler(t *testing.T, url string, change func(*Options)) *Handler {
	t.Helper()
	o := Options{URL: url, HTTPClientConfig: promconfig.DefaultHTTPClientConfig, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	h, err := New(o)
	require.NoError(t, err)
	h.backoff = time.Millisecond
	return h
}

func event() scaling.Event {
	two := 2
	return scaling.Event{
		Kind: scaling.EventScalingException, Severity: scaling.Warning,
		Scope:   scaling.NewScope([]scaling.Label{{Name: "cluster", Value: "prod"}}),
		Message: "the platform refused: no such workload", At: at,
		Execution: &scaling.Execution{
			ID: "3-8-prod", RecommendationID: "3-9-prod", Scope: "prod", MasterEpoch: 3, Generation: 9, Row: scaling.RowShortage,
			From: &two, Target: 4, Actuator: "webhook", State: scaling.ActionFailed,
			Transitions: []scaling.Transition{{State: scaling.ActionPending, At: at}, {State: scaling.ActionFailed, At: at, Reason: "refused"}},
			Error:       "refused",
		},
	}
}

// sink answers with one status after another, the last for ever; 0 answers
// nothing and closes the connection.
type sink struct {
	*httptest.Server
	requests atomic.Int32
	bodies   chan []byte
	headers  chan http.Header
}

func newSink(t *testing.T, statuses ...int) *sink {
	t.Helper()
	s := &sink{bodies: make(chan []byte, 10), headers: make(chan http.Header, 10)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		s.bodies <- b
		s.headers <- r.Header
		status := statuses[min(int(s.requests.Add(1)), len(statuses))-1]
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestHandle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(path, []byte("a shared key\n"), 0o600))
	s := newSink(t, http.StatusNoContent)
	h := newHandler(t, s.URL, func(o *Options) {
		o.SecretFile, o.Now = path, func() time.Time { return at }
	})
	require.NoError(t, h.Handle(t.Context(), event()))
	body, header := <-s.bodies, <-s.headers
	require.NoError(t, signature.Verify([]byte("a shared key"), header.Get(signature.Header), body, at, 0))
	require.Equal(t, "ScalingException", header.Get("X-Zeta-Scaler-Event"))
	require.Equal(t, "application/json", header.Get("Content-Type"))

	golden := filepath.Join("testdata", "event.json")
	if *update {
		require.NoError(t, os.WriteFile(golden, append(bytes.Clone(body), '\n'), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(body))
}

func TestAttempts(t *testing.T) {
	for _, test := range []struct {
		name     string
		statuses []int
		requests int32
		err      string
	}{
		{"at once", []int{200}, 1, ""},
		{"after an error", []int{500, 200}, 2, ""},
		{"after two", []int{429, 503, 202}, 3, ""},
		{"after lost replies", []int{0, 0, 200}, 3, ""},
		{"not at all", []int{500}, 3, "attempt 3 of 3"},
		{"lost each time", []int{0}, 3, "EOF"},
		{"refused", []int{400}, 1, "400 Bad Request"},
		{"not allowed, later", []int{500, 401}, 2, "attempt 2 of 3"},
		{"redirected", []int{307}, 1, "307 Temporary Redirect"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSink(t, test.statuses...)
			err := newHandler(t, s.URL, nil).Handle(t.Context(), event())
			if test.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.err)
			}
			require.Equal(t, test.requests, s.requests.Load())
			// A receiver can tell that it is the same event.
			first := (<-s.headers).Get("Idempotency-Key")
			require.Len(t, first, 32)
			for range test.requests - 1 {
				require.Equal(t, first, (<-s.headers).Get("Idempotency-Key"))
			}
		})
	}
}

func TestEventsHaveDifferentKeys(t *testing.T) {
	s := newSink(t, 200)
	h := newHandler(t, s.URL, nil)
	e := event()
	require.NoError(t, h.Handle(t.Context(), e))
	e.At = e.At.Add(time.Second)
	require.NoError(t, h.Handle(t.Context(), e))
	first, second := <-s.headers, <-s.headers
	require.NotEqual(t, first.Get("Idempotency-Key"), second.Get("Idempotency-Key"))
}

// TestSlowReceiver has less time than three requests may take: each gets a part
// of it, and the event is not given up after the first.
func TestSlowReceiver(t *testing.T) {
	stop := make(chan struct{})
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if requests.Add(1) < 3 {
			<-stop
		}
	}))
	defer server.Close()
	defer close(stop)
	h := newHandler(t, server.URL, func(o *Options) { o.Timeout = time.Hour })
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	require.NoError(t, h.Handle(ctx, event()))
	require.Equal(t, int32(3), requests.Load())
}

func TestContextEndsBetweenAttempts(t *testing.T) {
	s := newSink(t, 500)
	h := newHandler(t, s.URL, nil)
	h.backoff = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-s.bodies
		cancel()
	}()
	require.ErrorIs(t, h.Handle(ctx, event()), context.Canceled)
	require.Equal(t, int32(1), s.requests.Load())
}

func TestOptions(t *testing.T) {
	_, err := New(Options{URL: "nowhere", Logger: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, err, "event webhook: url")
}
