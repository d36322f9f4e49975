package main

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/web"
	"github.com/zeta-scaler/zeta-scaler/webhook"
)

// handler is everything that is served over HTTP, whether or not this process
// leads. The streams end with ctx.
func (s *service) handler(ctx context.Context) (http.Handler, error) {
	o := api.Options{
		Board: s.board, History: s.store, Table: evaluator.Table(), Store: s.store,
		Webhook: webhook.New(webhook.Options{Acceptor: acceptor{s}, Logger: s.logger, Registerer: s.registry}),
		User:    web.User, Stopping: ctx.Done(),
		Reload: s.reload, Ready: s.store.Check,
		Metrics: promhttp.HandlerFor(s, promhttp.HandlerOpts{
			EnableOpenMetrics: true, ErrorLog: scrapeLog{s.logger}, Registry: s.registry,
		}),
		Logger: s.logger,
	}
	configuredAPI(&o, s.running.Load)
	return api.New(o)
}
