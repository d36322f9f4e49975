package main

import (
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/config"
)

func newServe() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Evaluate rule sets and publish recommendations",
		Long: `Evaluate rule sets against Prometheus, or against an embedded one, and publish
one recommendation per scope as metrics, REST API and page. SIGHUP and
POST /-/reload read the configuration again, all of it or nothing.`,
		Example: "  zeta-scaler serve --prometheus.url=http://localhost:9090\n  zeta-scaler serve --config.file=zeta-scaler.yml",
		Args:    cobra.NoArgs,
	}
	flags := addConfigFlags(cmd, config.DefaultListenAddress)
	flags.addServeFlags()
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		tuneCollector()
		s, err := newService(cmd.Context(), cmd.ErrOrStderr(), func() (*config.Config, error) {
			return config.Load(flags.options(""))
		})
		if err != nil {
			return ignoreCancel(cmd.Context(), err)
		}
		return s.run(cmd.Context())
	}
	return cmd
}

// collectorPercent is Go's GOGC for the service: what a tick renders is garbage
// one tick later, so a smaller heap costs little time.
const collectorPercent = 50

// tuneCollector sets it unless the environment does.
func tuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectorPercent)
	}
}
