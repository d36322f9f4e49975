package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zeta-scaler/zeta-scaler/app/kinds"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/document"
)

// defaultConfigFile is read if it is there and no other was named.
const defaultConfigFile = "./zeta-scaler.yml"

// configFlags are the flags of the programs that read a configuration. Their
// values go to package config, which lays them over file and environment.
type configFlags struct {
	file  string
	set   *pflag.FlagSet
	kinds map[string]document.Kinds
}

func addConfigFlags(cmd *cobra.Command, listen string) *configFlags {
	f := &configFlags{set: cmd.Flags(), kinds: kinds.All()}
	f.set.StringVar(&f.file, "config.file", "", "configuration file (default "+defaultConfigFile+", if there)")
	f.set.String("web.listen-address", listen, "address to listen on")
	f.set.String("web.config.file", "", "TLS and basic_auth_users, in the format of the exporter toolkit")
	f.set.String("log.level", "info", "debug, info, warn or error")
	f.set.String("log.format", "logfmt", "logfmt or json")
	_ = cmd.RegisterFlagCompletionFunc("log.level", fixed("debug", "info", "warn", "error"))
	_ = cmd.RegisterFlagCompletionFunc("log.format", fixed("logfmt", "json"))
	return f
}

// addServeFlags adds what only the service has.
func (f *configFlags) addServeFlags() {
	f.set.String("web.external-url", "", "URL under which users reach the service")
	f.set.Bool("web.enable-lifecycle", false, "let /-/reload pass without a credential on a loopback address")
	f.set.StringArray("prometheus.url", nil, "URL of a Prometheus-compatible API; several are replicas")
	f.set.StringArray("rules.file", nil, "rule set file or glob, added to those of the configuration")
	f.set.StringArray("rules.pack", nil, "embedded rule set, added to those of the configuration")
	f.set.String("state.path", "", "state file")
}

// options are what config.Load needs: only flags that were given count.
func (f *configFlags) options(listen string) config.Options {
	o := config.Options{Kinds: f.kinds, File: f.file, FileRequired: f.file != "", Env: os.Environ(), Flags: map[string]any{}, ListenAddress: listen}
	if f.file == "" {
		if _, err := os.Stat(defaultConfigFile); err == nil {
			o.File = defaultConfigFile
		}
	}
	f.set.Visit(func(fl *pflag.Flag) {
		if fl.Name == "config.file" || !strings.Contains(fl.Name, ".") {
			return
		}
		if list, ok := fl.Value.(pflag.SliceValue); ok {
			o.Flags[fl.Name] = list.GetSlice()
			return
		}
		o.Flags[fl.Name] = fl.Value.String()
	})
	return o
}

// readConfiguration reads the configuration of a service that is not to run here: what
// it writes need not be writable.
func readConfiguration(file string) (*config.Config, error) {
	return config.Load(config.Options{Kinds: kinds.All(), File: file, FileRequired: true, Env: os.Environ()})
}
