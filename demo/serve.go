package demo

import (
	"context"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/app"
	"github.com/zeta-scaler/zeta-scaler/metrics"
	"github.com/zeta-scaler/zeta-scaler/web"
)

// Serve plays a scenario again and again behind the real API and page, which
// listen on address, until ctx ends. Where they are is told to say.
func Serve(ctx context.Context, o Options, address string, say io.Writer) error {
	registry := app.NewRegistry()
	process := metrics.NewProcess(registry)
	process.Leads(true)
	d, err := newSimulation(ctx, o, registry)
	if err != nil {
		return err
	}
	defer func() { _ = d.close() }() // a temporary folder; the run's error matters
	server, err := web.Listen(ctx, web.Options{ListenAddress: address, OpenReads: true, Logger: d.o.Logger})
	if err != nil {
		return err
	}
	base := "http://" + server.Addr().String()
	process.PageAt(base)
	fmt.Fprintf(say, "page: %s/   API: %s/autoscaler/status   metrics: %s/metrics\n", base, base, base)
	eg, ctx := errgroup.WithContext(ctx)
	eg.Go(func() error { return server.Serve(ctx, d.handler) })
	eg.Go(func() error { return d.run(ctx) })
	return eg.Wait()
}
