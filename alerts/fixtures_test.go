package alerts_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/alerts"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// interval is that of the evaluations in the tests.
const interval = 30 * time.Second

// posted is one alert as an Alertmanager got it.
type posted struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL"`

	// at is when the request came.
	at time.Time
}

func (p posted) name() string   { return p.Labels["alertname"] }
func (p posted) resolved() bool { return !p.EndsAt.After(p.at) }

// alertmanager is an API v2 without a network: connections are pipes, so that
// a synctest bubble owns all of it.
type alertmanager struct {
	conns  chan net.Conn
	server *http.Server

	mu      sync.Mutex
	batches [][]posted
	raw     [][]byte
	headers []http.Header
	status  int
	hang    bool
	// elsewhere, if there is one, is where requests are sent on to.
	elsewhere string
}

func newAlertmanager() *alertmanager {
	am := &alertmanager{conns: make(chan net.Conn), status: http.StatusOK}
	am.server = &http.Server{Handler: am} //nolint:gosec // a pipe has no slow clients
	go func() { _ = am.server.Serve(am) }()
	return am
}

func (am *alertmanager) Accept() (net.Conn, error) {
	c, ok := <-am.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (am *alertmanager) Close() error   { return nil }
func (am *alertmanager) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (am *alertmanager) stop() {
	close(am.conns)
	_ = am.server.Close()
}

func (am *alertmanager) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	am.mu.Lock()
	status, hang, elsewhere := am.status, am.hang, am.elsewhere
	if elsewhere != "" && r.URL.Path != "/moved" {
		am.mu.Unlock()
		http.Redirect(w, r, elsewhere, status)
		return
	}
	if r.URL.Path == "/moved" {
		status, r.URL.Path = http.StatusOK, "/am/api/v2/alerts"
		if r.Method == http.MethodGet { // which reads alerts
			am.mu.Unlock()
			return
		}
	}
	if status/100 == 2 && !hang {
		var batch []posted
		if r.Method != http.MethodPost || r.URL.Path != "/am/api/v2/alerts" || json.Unmarshal(body, &batch) != nil {
			status = http.StatusBadRequest
		}
		for i := range batch {
			batch[i].at = time.Now()
		}
		am.batches, am.raw, am.headers = append(am.batches, batch), append(am.raw, body), append(am.headers, r.Header)
	}
	am.mu.Unlock()
	if hang {
		<-r.Context().Done()
		return
	}
	if status == http.StatusTooEarly {
		w.Header().Set("Retry-After", "20")
	}
	w.WriteHeader(status)
	if status/100 != 2 {
		_, _ = io.WriteString(w, "not for "+r.Header.Get("Authorization"))
	}
}

func (am *alertmanager) answer(status int, hang bool) {
	am.mu.Lock()
	defer am.mu.Unlock()
	am.status, am.hang = status, hang
}

// take returns what came since the last call.
func (am *alertmanager) take() []posted {
	am.mu.Lock()
	defer am.mu.Unlock()
	var out []posted
	for _, b := range am.batches {
		out = append(out, b...)
	}
	am.batches = nil
	return out
}

// world is a notifier with its surroundings, inside a synctest bubble.
type world struct {
	t       *testing.T
	n       *alerts.Notifier
	ams     map[string]*alertmanager
	store   state.Store
	reg     *prometheus.Registry
	log     *output
	options alerts.Options
	stop    func() error
}

// output is a log that can be read beside its writers.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// build starts a notifier with an Alertmanager for each name.
func build(t *testing.T, names []string, change func(o *alerts.Options)) *world {
	t.Helper()
	w := &world{t: t, ams: map[string]*alertmanager{}, log: &output{}, store: memory.New()}
	for _, name := range names {
		w.ams[name] = newAlertmanager()
	}
	w.options = alerts.Options{
		Settings: alerts.Settings{Alertmanagers: endpoints(names...), ExternalURL: "https://scaler.example/"},
		Store:    w.store, Epoch: 7, Logger: slog.New(slog.NewTextHandler(w.log, nil)),
		HTTPOptions: []promconfig.HTTPClientOption{promconfig.WithDialContextFunc(w.dial)},
	}
	if change != nil {
		change(&w.options)
	}
	w.store = w.options.Store
	w.start()
	t.Cleanup(func() {
		for _, am := range w.ams {
			am.stop()
		}
	})
	return w
}

func endpoints(names ...string) []alerts.Endpoint {
	var out []alerts.Endpoint
	for _, name := range names {
		out = append(out, alerts.Endpoint{URL: "http://" + name + "/am/", HTTPClientConfig: promconfig.DefaultHTTPClientConfig})
	}
	return out
}

func (w *world) start() {
	w.reg = prometheus.NewPedanticRegistry()
	w.options.Registerer = w.reg
	n, err := alerts.New(w.t.Context(), w.options)
	require.NoError(w.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	w.n = n
	w.stop = func() error {
		cancel()
		return <-done
	}
}

func (w *world) dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	am := w.ams[host]
	if am == nil {
		return nil, net.UnknownNetworkError(host)
	}
	client, server := net.Pipe()
	select {
	case am.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// end stops everything, so that the bubble is empty.
func (w *world) end() {
	w.t.Helper()
	require.NoError(w.t, w.stop())
}

// tick publishes evaluations at this moment.
func (w *world) tick(evaluations ...scaling.Evaluation) {
	w.t.Helper()
	now := time.Now()
	for i := range evaluations {
		evaluations[i].Tick = now
		evaluations[i].Recommendation.ObservedAt = now
		evaluations[i].Recommendation.ValidUntil = now.Add(3 * interval)
	}
	w.n.Publish(w.t.Context(), evaluations, nil)
	synctest.Wait()
}

// ticks publishes an evaluation at once and then every interval, n times in
// all, and sleeps one interval more.
func (w *world) ticks(n int, ev scaling.Evaluation) {
	w.t.Helper()
	for range n {
		w.tick(ev)
		time.Sleep(interval)
	}
}

func (w *world) value(name string) float64 {
	w.t.Helper()
	list, err := w.reg.Gather()
	require.NoError(w.t, err)
	total := 0.0
	for _, f := range list {
		if f.GetName() == "zeta_scaler_notifications_"+name {
			for _, m := range f.GetMetric() {
				total += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return total
}

// one requires exactly one alert and returns it.
func one(t *testing.T, list []posted) posted {
	t.Helper()
	require.Len(t, list, 1)
	return list[0]
}

// steady is a scope in which nothing is to do.
func steady(labels ...scaling.Label) scaling.Evaluation {
	if labels == nil {
		labels = []scaling.Label{{Name: "cluster", Value: "prod"}}
	}
	scope := scaling.NewScope(labels)
	return scaling.Evaluation{
		Scope: scope, SlotMode: scaling.FixedSlots, Mode: scaling.Advisory, Deployment: scaling.Session,
		MinWorkers: 1, MaxWorkers: new(10), Interval: interval.Seconds(),
		Recommendation: scaling.Recommendation{
			Scope: scope.Key, MasterEpoch: 7, Generation: 1, RecommendationID: scaling.RecommendationID(7, 1, scope.Key),
			Action: scaling.NoAction, Row: scaling.RowSteady, Reason: "nothing to do: no condition is sustained",
			CurrentWorkers: new(4), RecommendedWorkers: new(4), MetricsValid: true,
			RuleSet: scaling.RuleSetRef{Name: "zeta-auto", Version: "1.0.0"},
			MetricsSnapshot: map[string]scaling.Measurement{
				"avg_cpu": {Value: scaling.Known(0.91), Unit: "ratio"}, "blocked_jobs": {Reason: "no_sample"},
			},
		},
	}
}

// scaleOut asks for 5 workers in that generation.
func scaleOut(generation uint64, labels ...scaling.Label) scaling.Evaluation {
	ev := steady(labels...)
	r := &ev.Recommendation
	r.Generation, r.RecommendationID = generation, scaling.RecommendationID(7, generation, ev.Scope.Key)
	r.Action, r.Row, r.RecommendedWorkers = scaling.ScaleOut, scaling.RowShortage, new(5)
	r.Reason = "blocked jobs 2 > 0 for 5m30s (window 5m); 4 → 5 workers"
	r.TriggerConditions = []scaling.Condition{blocking()}
	ev.Facts = scaling.FactCurrentKnown | scaling.FactShortage | scaling.FactShortagePresent
	return ev
}

func blocking() scaling.Condition {
	v, threshold := scaling.Known(2), 0.0
	return scaling.Condition{
		Name: "blocked_jobs", Signal: "blocked_jobs", Class: scaling.Blocking, Direction: scaling.Out,
		Value: &v, Comparison: "above", Threshold: &threshold,
	}
}

// invalid lacks metrics; with a shortage it says so.
func invalid(shortage bool) scaling.Evaluation {
	ev := steady()
	r := &ev.Recommendation
	r.MetricsValid, r.Row = false, scaling.RowBlind
	if shortage {
		r.Row, r.TriggerConditions = scaling.RowShortageBlind, []scaling.Condition{blocking()}
		ev.Facts = scaling.FactShortage | scaling.FactShortagePresent
	}
	return ev
}
