package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/app"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/demo"
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
	_ = cmd.RegisterFlagCompletionFunc("scenario", fixed(demo.ScenarioNames()...))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !slices.Contains(demo.ScenarioNames(), o.Scenario) {
			return usagef("--scenario is %q, expected one of %s", o.Scenario, strings.Join(demo.ScenarioNames(), ", "))
		}
		if !(o.Speed > 0 && o.Speed <= demo.MaxSpeed) {
			return usagef("--speed is %v, expected more than 0 and at most %v", o.Speed, demo.MaxSpeed)
		}
		o.Output, o.Writer = demo.Output(out.format), cmd.OutOrStdout()
		if o.Once {
			return demo.Run(cmd.Context(), o)
		}
		var err error
		if o.Logger, _, err = app.NewLogger(cmd.ErrOrStderr(), config.Log{Level: "info", Format: "logfmt"}); err != nil {
			return err
		}
		return demo.Serve(cmd.Context(), o, *address, cmd.ErrOrStderr())
	}
	return cmd
}
