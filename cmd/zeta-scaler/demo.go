package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/demo"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/metrics"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

const demoListen = "127.0.0.1:9880"

func newDemo() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a simulated cluster on an embedded Prometheus",
		Long: `Run everything in one process: a simulated Zeta cluster with real metrics and
REST replies, the exporter's collector, a time series database, PromQL, the
evaluator, API and page. No other program is needed. Time is virtual.

Scenarios: ` + strings.Join(demo.ScenarioNames(), ", ") + ".",
		Example: "  zeta-scaler demo\n  zeta-scaler demo --scenario reject-storm --speed 60\n  zeta-scaler demo --once --scenario burst --follow -o json",
		Args:    cobra.NoArgs,
	}
	out := addOutputFlag(cmd)
	var o demo.Options
	cmd.Flags().StringVar(&o.Scenario, "scenario", demo.DefaultScenario, "one of "+strings.Join(demo.ScenarioNames(), ", "))
	cmd.Flags().Float64Var(&o.Speed, "speed", demo.DefaultSpeed, "virtual seconds per second")
	cmd.Flags().BoolVar(&o.Once, "once", false, "run the scenario to its end as fast as possible, print the decisions, exit")
	cmd.Flags().BoolVar(&o.Follow, "follow", false, "what is recommended is carried out: alert, webhook, executor, simulated platform")
	cmd.Flags().Uint64Var(&o.Seed, "seed", demo.DefaultSeed, "chance of the simulation; the same seed gives the same run")
	address := cmd.Flags().String("web.listen-address", demoListen, "address to listen on, unless --once")
	_ = cmd.RegisterFlagCompletionFunc("scenario", cobra.FixedCompletions(demo.ScenarioNames(), cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !slices.Contains(demo.ScenarioNames(), o.Scenario) {
			return usagef("--scenario is %q, expected one of %s", o.Scenario, strings.Join(demo.ScenarioNames(), ", "))
		}
		if !(o.Speed > 0 && o.Speed <= demo.MaxSpeed) {
			return usagef("--speed is %v, expected more than 0 and at most %v", o.Speed, demo.MaxSpeed)
		}
		o.Output, o.Writer = demo.Output(*out), cmd.OutOrStdout()
		if o.Once {
			return demo.Run(cmd.Context(), o)
		}
		return serveDemo(cmd, o, *address)
	}
	return cmd
}

// serveDemo runs a scenario again and again behind the real API and page.
func serveDemo(cmd *cobra.Command, o demo.Options, address string) error {
	logger, _, err := newLogger(cmd.ErrOrStderr(), config.Log{Level: "info", Format: "logfmt"})
	if err != nil {
		return err
	}
	reg := newRegistry()
	process := metrics.NewProcess(reg)
	process.Leads(true)
	board := evaluator.NewBoard(1)
	store := memory.New()
	o.Store, o.Epoch, o.Logger, o.Registerer, o.Instruments = store, 1, logger, reg, metrics.NewLoop(reg)
	var d *demo.Demo
	virtual := func() time.Time { return d.Clock().Now() }
	collector := metrics.New(metrics.Options{PerSignal: true, Clock: virtual})
	o.Publishers = []evaluator.Publisher{board, collector}
	if d, err = demo.New(o); err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // a temporary folder; the run's error matters
	reg.MustRegister(collector)
	handler, err := api.New(api.Options{
		Board: board, History: store, Store: store, Table: evaluator.Table(), Ready: store.Check, Logger: logger, Now: virtual,
		Queries: d.Queries, Stopping: cmd.Context().Done(),
		Metrics: promhttp.HandlerFor(reg, promhttp.HandlerOpts{
			EnableOpenMetrics: true, ErrorLog: scrapeLog{logger},
		}),
	})
	if err != nil {
		return err
	}
	server, err := listen(cmd.Context(), config.Web{ListenAddress: address, OpenReads: true}, logger)
	if err != nil {
		return err
	}
	base := "http://" + server.Addr().String()
	fmt.Fprintf(cmd.ErrOrStderr(), "page: %s/   API: %s/autoscaler/status   metrics: %s/metrics\n", base, base, base)
	eg, ctx := errgroup.WithContext(cmd.Context())
	eg.Go(func() error { return server.Serve(ctx, handler) })
	eg.Go(func() error { return ignoreCancel(ctx, d.Run(ctx)) })
	return eg.Wait()
}

// ignoreCancel drops the error of a run that was asked to stop.
func ignoreCancel(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
