package app

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/source/promapi"
	"github.com/zeta-scaler/zeta-scaler/web"
	"github.com/zeta-scaler/zeta-scaler/webhook"
)

// HandlerOptions are what NewHandler needs beside what it fills in itself.
type HandlerOptions struct {
	// Options are those of the API that only the caller knows: Board, Store and
	// Logger are required.
	api.Options
	// Acceptor is asked for what Alertmanager's notifications say; nil: there is
	// no webhook.
	Acceptor webhook.Acceptor
	// Gatherer has what /metrics shows.
	Gatherer prometheus.Gatherer
	// Registry gets the counters of webhook and metrics page.
	Registry *prometheus.Registry
}

// NewHandler makes everything that is served over HTTP: API, page, webhook and
// metrics.
func NewHandler(o HandlerOptions) (http.Handler, error) {
	a := o.Options
	a.History, a.Table, a.Ready, a.User = a.Store, evaluator.Table(), a.Store.Check, web.User
	served := &site{}
	if o.Acceptor != nil {
		served.webhook = webhook.New(webhook.Options{Acceptor: o.Acceptor, Logger: a.Logger, Registerer: o.Registry})
		a.Webhook = served.webhook
	}
	a.Metrics = promhttp.HandlerFor(o.Gatherer, promhttp.HandlerOpts{
		EnableOpenMetrics: true, ErrorLog: scrapeLog{a.Logger}, Registry: o.Registry,
	})
	var err error
	served.Handler, err = api.New(a)
	return served, err
}

// site is everything that is served, and is told of what does not get to it.
type site struct {
	http.Handler
	webhook *webhook.Receiver // nil: there is none
}

// Refused implements web.Told.
func (s *site) Refused(r *http.Request, status int) {
	if s.webhook != nil && r.URL.Path == api.WebhookPath {
		s.webhook.Refused(r, status)
	}
}

// handler is served whether or not this process leads. The streams end with
// ctx.
func (s *service) handler(ctx context.Context) (http.Handler, error) {
	o := HandlerOptions{
		Options:  api.Options{Board: s.board, Store: s.store, Stopping: ctx.Done(), Reload: s.reload, Logger: s.logger, Health: s.health, Jobs: submitter{s}, Drains: drains{s}},
		Acceptor: acceptor{s}, Gatherer: s, Registry: s.registry,
	}
	if !s.alone {
		client, err := leaderClient(s.running.Load().Web)
		if err != nil {
			return nil, err
		}
		o.Forward = &api.Forward{Self: s.identity, Client: client}
	}
	if s.samples.embedded != nil {
		aside, err := s.samples.embedded.Aside(source.EngineOptions{MaxSamples: promapi.MaxSamples, Timeout: promapi.Patience, Logger: s.logger})
		if err != nil {
			return nil, err
		}
		o.Samples = promapi.New(promapi.Options{Engine: aside, Version: prometheusVersion(), Logger: s.logger})
	}
	configuredAPI(&o.Options, s.running.Load, s.pageURL, s.samples)
	return NewHandler(o)
}

// prometheusVersion is that of the Prometheus whose code is inside: Grafana asks
// for it. The module's v0.316 is Prometheus 3.16.
func prometheusVersion() string {
	const unknown = "3.0.0"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknown
	}
	for _, m := range info.Deps {
		if m.Path != "github.com/prometheus/prometheus" {
			continue
		}
		var minor, patch int
		if _, err := fmt.Sscanf(m.Version, "v0.3%d.%d", &minor, &patch); err == nil {
			return fmt.Sprintf("3.%d.%d", minor, patch)
		}
	}
	return unknown
}
