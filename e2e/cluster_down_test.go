//go:build e2e && unix

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	promconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/alerts"
	"github.com/zeta-scaler/zeta-scaler/app"
	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/demo/sim"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
	"github.com/zeta-scaler/zeta-scaler/zeta"
)

const (
	// shrink is how many seconds of the story pass in one of the test.
	shrink = 300
	// slack is how much longer than shrunk an alert lives without being sent
	// again: the machine may be busy.
	slack = 5 * time.Second
	// storyScrapes is between two scrapes of the story's cluster.
	storyScrapes = 15 * time.Second
)

// A cluster that is at its maximum dies for two hours. From the first alert on,
// and until it is back, nobody is told that anything is resolved, although the
// scope has no sample for longer than forget_after.
func TestClusterThatDiesForTwoHours(t *testing.T) {
	receiver := newWebhookReceiver(t)
	am := startAlertmanagerFor(t, receiver.URL)
	s := newDowntime(t, am)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.term.Run(ctx) }()
	defer func() {
		cancel()
		require.NoError(t, <-done)
	}()

	s.until(t, 20*time.Minute)
	receiver.wait(t, alerts.AtMaxWorkers, "firing")
	s.kill(true)
	s.until(t, 140*time.Minute)
	receiver.wait(t, alerts.ClusterDown, "firing")
	receiver.wait(t, alerts.MetricsInvalid, "firing")
	require.Empty(t, receiver.all("resolved"), "the cluster is still away")

	s.kill(false)
	s.until(t, 150*time.Minute)
	receiver.wait(t, alerts.ClusterDown, "resolved")
	receiver.wait(t, alerts.MetricsInvalid, "resolved")
}

// all are the names of the alerts of which the receiver was told that status.
func (r *webhookReceiver) all(status string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, a := range r.alerts {
		if a.Status == status {
			out = append(out, a.Labels["alertname"])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func startAlertmanagerFor(t *testing.T, receiver string) string {
	t.Helper()
	address := harness.FreeAddress(t)
	config := filepath.Join(t.TempDir(), "alertmanager.yml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `route: {receiver: r, group_by: [alertname, scope, cluster], group_wait: 0s, group_interval: 1s, repeat_interval: 1h}
receivers: [{name: r, webhook_configs: [{url: %q}]}]
`, receiver), 0o600))
	am := startAlertmanager(t, harness.Command{Name: "alertmanager", Path: lab.Build(t, alertmanagerProgram("alertmanager")), Args: []string{
		"--config.file=" + config, "--storage.path=" + t.TempDir(), "--web.listen-address=" + address,
		"--cluster.listen-address=", "--log.level=warn",
	}}, harness.URL(address))
	t.Cleanup(am.Kill)
	return harness.URL(address)
}

// downtime is the service, but for its clock, over a simulated cluster that can be
// taken away. Its alerts go to a real Alertmanager, whose time is the test's.
type downtime struct {
	term    *app.Term
	cluster *sim.Cluster
	page    *prometheus.Registry
	target  *source.Target
	begin   time.Time // of the story's time
	began   time.Time // of the test's

	mu      sync.Mutex
	now     time.Time
	next    time.Time
	dead    bool
	reached chan struct{} // closed and made anew whenever time passes
}

func newDowntime(t *testing.T, am string) *downtime {
	t.Helper()
	begin := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	s := &downtime{begin: begin, now: begin, next: begin, began: time.Now(), reached: make(chan struct{})}
	var err error
	s.cluster, err = sim.New(sim.Options{Name: "prod", Version: sim.V2313, Start: begin, Seed: 1, Workers: 2, SlotsPerWorker: 4, Strategy: sim.Wait})
	require.NoError(t, err)
	for range 4 {
		s.cluster.Submit(sim.JobSpec{Name: "job", Parallelism: 3, RunTime: 10 * time.Hour, CPUPerSlot: 0.1, HeapPerSlot: 0.08})
	}
	collector, err := zeta.NewCollector(zeta.CollectorOptions{
		Cluster:   zeta.ClusterConfig{Name: "prod", URLs: []string{"http://10.20.0.1:8080"}, EndpointTimeout: time.Minute},
		Transport: s, Timeout: time.Minute, Clock: s.Now,
	})
	require.NoError(t, err)
	t.Cleanup(collector.Close)
	s.page = prometheus.NewRegistry()
	s.page.MustRegister(collector)
	db, err := source.OpenTemporary(t.TempDir(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	s.target = db.Target(labels.FromStrings("job", "zeta-exporter", "instance", "exporter:9881"))
	engine, err := source.NewEngine(source.EngineOptions{}, db)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close()) })
	pack, _, err := rules.Pack("zeta-auto")
	require.NoError(t, err)
	bounded := *pack
	bounded.Bounds = &scaling.Bounds{Min: 1, Max: 2}
	proxy := s.proxy(t, am)
	s.term, err = app.NewTerm(t.Context(), app.Parts{
		Setup: app.Setup{
			Evaluation: evaluator.Config{
				RuleSets: []*rules.RuleSet{&bounded}, Discover: true, DefaultRuleSet: pack.Name, ForgetAfter: time.Hour,
			},
			Alerting: alerts.Settings{Alertmanagers: []alerts.Endpoint{{URL: proxy, HTTPClientConfig: promconfig.DefaultHTTPClientConfig}}},
		},
		Source: engine, Clock: s, Store: memory.New(), Epoch: 1, Board: evaluator.NewBoard(1),
		Clusters: func() []contact.Status { return []contact.Status{collector.Contact()} },
		Stepped:  true, QueryTimeout: time.Minute, Publishers: []evaluator.Publisher{stepper{s, t}},
		Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	})
	require.NoError(t, err)
	return s
}

// stepper sends the alerts of every tick before time goes on.
type stepper struct {
	*downtime
	t *testing.T
}

func (s stepper) Publish(ctx context.Context, _ []scaling.Evaluation, _ []scaling.Scope) {
	if err := s.term.Step(ctx); err != nil && ctx.Err() == nil {
		s.t.Errorf("sending alerts: %v", err)
	}
}

func (s *downtime) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// WaitUntil lets the story go on, shrunk, with a scrape every now and then.
func (s *downtime) WaitUntil(ctx context.Context, t time.Time) error {
	for !s.next.After(t) {
		if err := s.pass(ctx, s.next); err != nil {
			return err
		}
		if err := s.scrape(s.next); err != nil {
			return err
		}
		s.next = s.next.Add(storyScrapes)
	}
	return s.pass(ctx, t)
}

func (s *downtime) pass(ctx context.Context, t time.Time) error {
	timer := time.NewTimer(time.Until(s.began.Add(t.Sub(s.begin) / shrink)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.After(s.now) {
		s.now = t
	}
	close(s.reached)
	s.reached = make(chan struct{})
	return nil
}

// until waits for the story's time.
func (s *downtime) until(t *testing.T, since time.Duration) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		s.mu.Lock()
		reached, there := s.reached, !s.now.Before(s.begin.Add(since))
		s.mu.Unlock()
		if there {
			return
		}
		select {
		case <-reached:
		case <-deadline:
			t.Fatalf("the story has not come to %s", since)
		}
	}
}

func (s *downtime) kill(dead bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead = dead
}

// RoundTrip is the way to the cluster.
func (s *downtime) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	dead := s.dead
	s.mu.Unlock()
	if dead {
		return nil, errors.New("no route to host")
	}
	return s.cluster.Transport().RoundTrip(r)
}

func (s *downtime) scrape(at time.Time) error {
	s.cluster.Advance(at)
	families, err := s.page.Gather()
	if err != nil {
		return err
	}
	var page bytes.Buffer
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	for _, f := range families {
		if err := expfmt.NewEncoder(&page, format).Encode(f); err != nil {
			return err
		}
	}
	_, err = s.target.AppendText(string(format), page.Bytes(), at, time.Millisecond)
	return err
}

// proxy shrinks the time of alerts on their way to Alertmanager.
func (s *downtime) proxy(t *testing.T, am string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var list []map[string]any
		if err := json.NewDecoder(r.Body).Decode(&list); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for _, a := range list {
			a["startsAt"], a["endsAt"] = s.shrunk(a["startsAt"], 0), s.shrunk(a["endsAt"], slack)
		}
		body, err := json.Marshal(list)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, am+r.URL.Path, bytes.NewReader(body))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		req.Header.Set("Content-Type", "application/json")
		reply, err := http.DefaultClient.Do(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer reply.Body.Close()
		w.WriteHeader(reply.StatusCode)
		_, _ = io.Copy(w, reply.Body)
	}))
	t.Cleanup(server.Close)
	return strings.TrimRight(server.URL, "/")
}

// shrunk is a time of the story as one of the test. What lies ahead gets more.
func (s *downtime) shrunk(text any, more time.Duration) string {
	at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(text))
	if err != nil {
		return fmt.Sprint(text)
	}
	now, ahead := time.Now(), at.Sub(s.Now())
	out := now.Add(ahead / shrink)
	if ahead > 0 {
		out = out.Add(more)
	}
	return out.UTC().Format(time.RFC3339Nano)
}
