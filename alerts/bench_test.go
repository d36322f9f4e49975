package alerts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/alerts"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// BenchmarkActiveAlerts is one tick of 10 000 active alerts over loopback, each
// of which is due again. MB-live is what the notifier holds meanwhile, beside
// the evaluations and the store, for one Alertmanager that takes all and one
// that hangs, whose queue is full.
func BenchmarkActiveAlerts(b *testing.B) {
	const n = 10_000
	var taken, requests, greatest atomic.Int64
	takes := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var batch []json.RawMessage
		if json.NewDecoder(r.Body).Decode(&batch) != nil {
			return
		}
		requests.Add(1)
		greatest.Store(max(greatest.Load(), int64(len(batch)))) // one request at a time
		taken.Add(int64(len(batch)))
	}))
	b.Cleanup(takes.Close)
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then is it told that the client has gone
		<-r.Context().Done()
	}))
	b.Cleanup(hangs.Close)

	evaluations := make([]scaling.Evaluation, n)
	for i := range evaluations {
		evaluations[i] = scaleOut(2, scaling.Label{Name: "cluster", Value: fmt.Sprintf("cluster-%05d", i)}, scaling.Label{Name: "env", Value: "production"})
	}
	at := func(s *httptest.Server) alerts.Endpoint {
		return alerts.Endpoint{URL: s.URL, HTTPClientConfig: promconfig.DefaultHTTPClientConfig}
	}
	before := heap()
	notifier, err := alerts.New(b.Context(), alerts.Options{
		Settings: alerts.Settings{Alertmanagers: []alerts.Endpoint{at(takes), at(hangs)}, ExternalURL: "https://scaler.example/"},
		Store:    forgetful{memory.New()}, Epoch: 7, Logger: slog.New(slog.DiscardHandler), DrainTimeout: time.Millisecond,
	})
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- notifier.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		require.NoError(b, <-done)
	})
	now := time.Now()
	tick := func() {
		now = now.Add(alerts.DefaultResendDelay)
		for i := range evaluations {
			ev := &evaluations[i]
			ev.Tick, ev.Recommendation.ObservedAt, ev.Recommendation.ValidUntil = now, now, now.Add(3*interval)
		}
		want := taken.Load() + n
		notifier.Publish(b.Context(), evaluations, nil)
		require.Eventually(b, func() bool { return taken.Load() >= want }, time.Minute, time.Millisecond)
	}
	tick() // the first one stores all of them
	requests.Store(0)
	taken.Store(0)
	b.ReportAllocs()
	for b.Loop() {
		tick()
	}
	live := int64(heap()) - int64(before)
	require.Positive(b, live)
	b.ReportMetric(float64(live)/1e6, "MB-live")
	b.ReportMetric(float64(requests.Load())/float64(b.N), "requests/op")
	b.ReportMetric(float64(greatest.Load()), "alerts/request")
	runtime.KeepAlive(evaluations)
}
