package webhook

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/actuators/actuatortest"
	"github.com/zeta-scaler/zeta-scaler/actuators/request"
	"github.com/zeta-scaler/zeta-scaler/events/signature"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

var update = flag.Bool("update", false, "write the golden files anew")

var at = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func options(url string) Options {
	return Options{URL: url, HTTPClientConfig: promconfig.DefaultHTTPClientConfig, Logger: slog.New(slog.DiscardHandler)}
}

func newActuator(t *testing.T, o Options) *Actuator {
	t.Helper()
	a, err := New(o)
	require.NoError(t, err)
	return a
}

func target() actuators.Target {
	return actuators.Target{Scope: scaling.NewScope([]scaling.Label{{Name: "cluster", Value: "prod"}}), Name: "pools/etl"}
}

func fence() actuators.Fence {
	from, to := 2, 4
	return actuators.Fence{
		Epoch: 3, Generation: 9, RecommendationID: "3-9-prod", ActionID: "3-8-prod", From: &from,
		Recommendation: scaling.Recommendation{
			Scope: "prod", RecommendationID: "3-9-prod", MasterEpoch: 3, Generation: 9,
			Action: scaling.ScaleOut, Row: scaling.RowShortage, Reason: `job "etl" waits for 2 slots`,
			CurrentWorkers: &from, RecommendedWorkers: &to, MetricsValid: true,
			TriggerConditions: []scaling.Condition{}, BlockingConditions: []scaling.Condition{}, MetricsSnapshot: map[string]scaling.Measurement{},
			ObservedAt: at, Timestamp: at, Since: at, ValidUntil: at.Add(time.Minute),
		},
	}
}

// platform plays an existing scaling system that verifies signatures.
type platform struct {
	*httptest.Server
	key []byte

	mu      sync.Mutex
	desired int
	epoch   uint64
	// released is the key of the last release.
	released string
	// status answers in place of anything else, lose makes the next reply get
	// lost, stalled holds every request up.
	status  int
	lose    bool
	stalled chan struct{}
}

func newPlatform(t *testing.T, key string) *platform {
	p := &platform{key: []byte(key)}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *platform) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if err != nil || signature.Verify(p.key, r.Header.Get(signature.Header), b, time.Now(), signature.DefaultTolerance) != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	p.mu.Lock()
	stalled := p.stalled
	p.mu.Unlock()
	if stalled != nil {
		<-stalled
		panic(http.ErrAbortHandler)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var q request.Request
	switch err := json.Unmarshal(b, &q); {
	case p.status != 0:
		w.WriteHeader(p.status)
		return
	case err != nil || !wellFormed(&q, r.Header.Get("Idempotency-Key")):
		w.WriteHeader(http.StatusBadRequest)
		return
	case q.MasterEpoch < p.epoch:
		w.WriteHeader(http.StatusConflict)
		return
	}
	p.epoch = q.MasterEpoch
	switch {
	case q.Verb == request.Scale:
		p.desired = *q.Want
	case p.released != q.ActionID:
		p.desired, p.released = p.desired-1, q.ActionID
	}
	if p.lose {
		p.lose = false
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(http.StatusAccepted)
}

func wellFormed(q *request.Request, key string) bool {
	if q.Verb == request.Release {
		return q.Want == nil && len(q.Workers) == 1 && key == q.ActionID
	}
	return q.Verb == request.Scale && q.Want != nil && q.Workers == nil && key == q.RecommendationID
}

func (p *platform) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func secretFile(t *testing.T, key string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(path, []byte(key+"\n"), 0o600))
	return path
}

func TestConformance(t *testing.T) {
	for name, workers := range map[string][]string{"without names": nil, "with names": {"a", "b", "c"}} {
		t.Run(name, func(t *testing.T) {
			actuatortest.RunConformance(t, func(t *testing.T) actuatortest.Fixture { return conforming(t, workers) })
		})
	}
}

func conforming(t *testing.T, workers []string) actuatortest.Fixture {
	t.Helper()
	p := newPlatform(t, "a shared key")
	o := options(p.URL)
	o.SecretFile, o.Workers = secretFile(t, "a shared key"), workers
	return actuatortest.Fixture{
		Actuator: newActuator(t, o),
		Target:   target(),
		Desired: func(*testing.T) (n int) {
			p.set(func() { n = p.desired })
			return n
		},
		Stall: func(*testing.T) func() {
			stalled := make(chan struct{})
			p.set(func() { p.stalled = stalled })
			return func() {
				close(stalled)
				p.set(func() { p.stalled = nil })
			}
		},
		LoseReply: func(*testing.T) { p.set(func() { p.lose = true }) },
		Refuse:    func(*testing.T) { p.set(func() { p.status = http.StatusForbidden }) },
		Fail:      func(*testing.T) { p.set(func() { p.status = http.StatusServiceUnavailable }) },
	}
}

func TestStatuses(t *testing.T) {
	for status, want := range map[int]string{
		200: "done", 201: "done", 202: "done", 204: "done",
		301: "refused", 302: "refused", 307: "refused", 308: "refused",
		400: "refused", 401: "refused", 403: "refused", 404: "refused", 405: "refused", 413: "refused", 422: "refused",
		408: "plain", 425: "plain", 429: "plain", 500: "plain", 501: "plain", 502: "plain", 503: "plain",
		409: "stale", 504: "unknown",
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests++
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(status)
			}))
			defer server.Close()
			o := options(server.URL)
			o.Workers = []string{"w1"}
			a := newActuator(t, o)
			require.Equal(t, want, actuatortest.Kind(a.Scale(t.Context(), target(), 4, fence())))
			require.Equal(t, 1, requests, "asked once, and no redirect is followed")
			require.Equal(t, want, actuatortest.Kind(a.Release(t.Context(), target(), []actuators.Worker{{Name: "w1"}}, fence())))
			require.Equal(t, 2, requests)
		})
	}
}

func TestNoConnectionIsNotDone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.Equal(t, "plain", actuatortest.Kind(newActuator(t, options("http://"+l.Addr().String())).Scale(t.Context(), target(), 4, fence())))
}

func TestSlowReplyIsUnknown(t *testing.T) {
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stop }))
	defer server.Close()
	defer close(stop)
	o := options(server.URL)
	o.Timeout = 50 * time.Millisecond
	require.Equal(t, "unknown", actuatortest.Kind(newActuator(t, o).Scale(t.Context(), target(), 4, fence())))
}

func TestHugeReplyIsCut(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		for range 1 << 10 {
			if _, err := io.WriteString(w, strings.Repeat("no ", 1<<10)); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	err := newActuator(t, options(server.URL)).Scale(t.Context(), target(), 4, fence())
	require.ErrorIs(t, err, actuators.ErrRefused)
	require.Less(t, len(err.Error()), 1000)
}

func TestWrongKeyIsRefused(t *testing.T) {
	p := newPlatform(t, "a shared key")
	o := options(p.URL)
	o.SecretFile = secretFile(t, "another key")
	require.ErrorIs(t, newActuator(t, o).Scale(t.Context(), target(), 4, fence()), actuators.ErrRefused)
	require.Zero(t, p.desired)
}

// posted returns what the actuator posts to scale, or to release a worker if the
// options have any.
func posted(t *testing.T, o Options, f actuators.Fence) (http.Header, []byte) {
	t.Helper()
	var header http.Header
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		header = r.Header
		body, _ = io.ReadAll(r.Body)
	}))
	defer server.Close()
	o.URL = server.URL
	a := newActuator(t, o)
	if len(o.Workers) > 0 {
		require.NoError(t, a.Release(t.Context(), target(), []actuators.Worker{{Name: o.Workers[0], Address: "10.0.0.7:5801"}}, f))
	} else {
		require.NoError(t, a.Scale(t.Context(), target(), 4, f))
	}
	return header, body
}

func TestBodies(t *testing.T) {
	without := fence()
	without.From, without.Recommendation = nil, scaling.Recommendation{}
	byHand := fence()
	byHand.RecommendationID, byHand.Recommendation = "", scaling.Recommendation{}
	for _, test := range []struct {
		golden, template, contentType string
		workers                       []string
		fence                         actuators.Fence
	}{
		{"request.json", "", "application/json", nil, fence()},
		{"request-without-recommendation.json", "", "application/json", nil, without},
		{"template.json", "request.tmpl", "application/json", nil, fence()},
		{"template.txt", "text.tmpl", "text/plain; charset=utf-8", nil, fence()},
		{"release.json", "", "application/json", []string{"w1"}, fence()},
		{"release-by-hand.json", "", "application/json", []string{"w1"}, byHand},
		{"release-template.json", "both.tmpl", "application/json", []string{"w1"}, fence()},
		{"scale-template.json", "both.tmpl", "application/json", nil, fence()},
	} {
		t.Run(test.golden, func(t *testing.T) {
			o := options("")
			o.Workers = test.workers
			if test.template != "" {
				o.TemplateFile = filepath.Join("testdata", test.template)
			}
			header, body := posted(t, o, test.fence)
			require.Equal(t, test.contentType, header.Get("Content-Type"))
			key := "3-9-prod"
			if len(test.workers) > 0 {
				key = "3-8-prod" // one drain releases once
			}
			require.Equal(t, key, header.Get("Idempotency-Key"))
			require.Equal(t, "3", header.Get(EpochHeader))
			require.Empty(t, header.Get(signature.Header), "there is no key")

			golden := filepath.Join("testdata", test.golden)
			if strings.HasSuffix(golden, ".json") {
				var out bytes.Buffer
				require.NoError(t, json.Indent(&out, body, "", "  "))
				body = append(bytes.TrimSpace(out.Bytes()), '\n')
			}
			if *update {
				require.NoError(t, os.WriteFile(golden, body, 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), string(body))
		})
	}
}

// A template that knows only how to scale would ask for no workers at all when
// one is to be released.
func TestATemplateThatCannotRelease(t *testing.T) {
	o := options("http://localhost")
	o.TemplateFile, o.Workers = filepath.Join("testdata", "request.tmpl"), []string{"w1"}
	_, err := New(o)
	require.ErrorContains(t, err, `a request to release has no number; write {{ if eq .Verb "release" }}`)
	require.ErrorContains(t, err, "for the release of a worker")
	o.Workers = nil
	require.NoError(t, func() error { _, err := New(o); return err }())
}

func TestOnlyConfiguredWorkersAreReleased(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
	defer server.Close()
	o := options(server.URL)
	o.Workers = []string{"w2", "w1"}
	a := newActuator(t, o)
	workers, err := a.Workers(t.Context(), target())
	require.NoError(t, err)
	require.Equal(t, []actuators.Worker{{Name: "w2"}, {Name: "w1"}}, workers)
	err = a.Release(t.Context(), target(), []actuators.Worker{{Name: "w3"}}, fence())
	require.ErrorIs(t, err, actuators.ErrRefused)
	require.ErrorContains(t, err, `"w3" is none of the workers that the configuration names`)
	require.Zero(t, requests)
}

// TestTemplateOfThePage posts what the template in the documentation writes.
func TestTemplateOfThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "actuators.md"))
	require.NoError(t, err)
	_, text, found := strings.Cut(string(page), "that templates of Alertmanager have:\n\n```\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "```")
	o := options("")
	o.TemplateFile, o.Labels = filepath.Join(t.TempDir(), "page.tmpl"), []string{"cluster"}
	require.NoError(t, os.WriteFile(o.TemplateFile, []byte(text), 0o600))
	_, body := posted(t, o, fence())
	require.JSONEq(t, `{"group":"prod","size":4,"requestId":"3-9-prod","why":"job \"etl\" waits for 2 slots"}`, string(body))
}

func TestBadTemplates(t *testing.T) {
	for name, want := range map[string]string{
		"syntax": "unexpected", "field": "can't evaluate field Size", "function": `function "want" not defined`,
		"label": `no entry for key "clustre"`, "quotes": "write such values with toJson", "empty": "it writes nothing",
	} {
		t.Run(name, func(t *testing.T) {
			o := options("http://localhost")
			o.TemplateFile, o.Labels = filepath.Join("testdata", "bad", name+".tmpl"), []string{"cluster"}
			_, err := New(o)
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, err, "webhook actuator: template")
		})
	}
	o := options("http://localhost")
	o.TemplateFile = "missing"
	_, err := New(o)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestTemplateThatFailsLater uses a label that no trial could know of.
func TestTemplateThatFailsLater(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
	defer server.Close()
	o := options(server.URL)
	o.TemplateFile = filepath.Join("testdata", "bad", "label.tmpl")
	require.ErrorIs(t, newActuator(t, o).Scale(t.Context(), target(), 4, fence()), actuators.ErrRefused)
	require.Zero(t, requests)
}

func TestOptions(t *testing.T) {
	_, err := New(options("nowhere"))
	require.ErrorContains(t, err, "webhook actuator: url")
	require.Equal(t, actuators.Capabilities{}, newActuator(t, options("http://localhost")).Capabilities())
}
