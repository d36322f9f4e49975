package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zeta-scaler/zeta-scaler/config"
)

func serveHTTP(ctx context.Context, cfg *config.Config, h http.Handler, logger *slog.Logger, _ prometheus.Registerer) error {
	l, err := net.Listen("tcp", cfg.Web.ListenAddress)
	if err != nil {
		return err
	}
	logger.Info("listening", "address", l.Addr().String())
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = srv.Close()
	}()
	if err := srv.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}
