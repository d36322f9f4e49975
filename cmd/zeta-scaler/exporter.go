package main

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/zeta"
)

const exporterListen = ":9881"

func newExporter() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "exporter",
		Short: "Turn Zeta's REST API into the metrics that Zeta does not export",
		Long: `Serve the state of Zeta clusters as metrics: those of the configuration's
clusters at /metrics, and any other at /probe?target=URL[&cluster=NAME], as the
blackbox exporter does.`,
		Example: "  zeta-scaler exporter --config.file=zeta-scaler.yml\n  curl 'http://127.0.0.1:9881/probe?target=http://master:8080&cluster=prod'",
		Args:    cobra.NoArgs,
	}
	flags := addConfigFlags(cmd, exporterListen)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := config.Load(flags.options(exporterListen))
		if err != nil {
			return err
		}
		return runExporter(cmd.Context(), cmd, cfg)
	}
	return cmd
}

func runExporter(ctx context.Context, cmd *cobra.Command, cfg *config.Config) error {
	logger, _, err := newLogger(cmd.ErrOrStderr(), cfg.Log)
	if err != nil {
		return err
	}
	reg := newRegistry()
	reg.MustRegister(versioncollector.NewCollector("zeta_scaler"))
	exporter, err := zeta.NewExporter(zeta.ExporterOptions{
		Clusters: cfg.ClusterConfigs(), Probe: cfg.ProbeConfig(), Process: reg, Logger: logger,
	})
	if err != nil {
		return err
	}
	defer exporter.Close()
	server, err := listen(ctx, cfg.Web, logger)
	if err != nil {
		return err
	}
	logger.Info("exporter starts", "clusters", len(cfg.Clusters), "config_file", flagFile(cmd))
	return server.Serve(ctx, exporter.Handler())
}

// newRegistry is a registry with what every Go process exports.
func newRegistry() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return reg
}

func flagFile(cmd *cobra.Command) string { return cmd.Flag("config.file").Value.String() }
