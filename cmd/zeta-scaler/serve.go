package main

import (
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/app"
	"github.com/zeta-scaler/zeta-scaler/config"
)

func newServe(hup <-chan os.Signal) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Evaluate rule sets and publish recommendations",
		Long: `Evaluate rule sets against Prometheus, or against an embedded one, and publish
one recommendation per scope as metrics, REST API and page. SIGHUP and
POST /-/reload read the configuration again, all of it or nothing.`,
		Example: "  zeta-scaler serve --prometheus.url=http://localhost:9090\n  zeta-scaler serve --config.file=zeta-scaler.yml",
		Args:    noArgs("config.file"), Annotations: map[string]string{reloads: "yes"},
	}
	flags := addConfigFlags(cmd, config.DefaultListenAddress)
	flags.addServeFlags()
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		tuneCollector()
		return app.Serve(cmd.Context(), app.Options{Hangup: hup, Log: cmd.ErrOrStderr(), Load: func() (*config.Config, error) {
			o := flags.options("")
			o.Local = true
			return config.Load(o)
		}})
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
