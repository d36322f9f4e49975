package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/app"
	"github.com/zeta-scaler/zeta-scaler/config"
)

const exporterListen = ":9881"

func newExporter(hup <-chan os.Signal) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "exporter",
		Short: "Turn Zeta's REST API into the metrics that Zeta does not export",
		Long: `Serve the state of Zeta clusters as metrics: those of the configuration's
clusters at /metrics, and any other at /probe?target=URL[&cluster=NAME], as the
blackbox exporter does.`,
		Example: "  zeta-scaler exporter --config.file=zeta-scaler.yml\n  curl 'http://127.0.0.1:9881/probe?target=http://master:8080&cluster=prod'",
		Args:    noArgs("config.file"), Annotations: map[string]string{reloads: "yes"},
	}
	flags := addConfigFlags(cmd, exporterListen)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return app.Export(cmd.Context(), app.Options{Hangup: hup, Log: cmd.ErrOrStderr(), Load: func() (*config.Config, error) {
			return config.Load(flags.options(exporterListen))
		}})
	}
	return cmd
}
