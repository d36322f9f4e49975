package main

import (
	"runtime/debug"

	"github.com/prometheus/common/version"
	"github.com/spf13/cobra"
)

// nameVersion takes the version of the module where the build set none: go
// install knows no flags of ours.
func nameVersion() {
	if version.Version != "" {
		return
	}
	version.Version = "unknown"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version.Version = info.Main.Version
	}
}

func newVersion() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  zeta-scaler version -o json",
		Args:    cobra.NoArgs,
	}
	out := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return out.print(cmd.OutOrStdout(), map[string]string{
			"version": version.Version, "revision": version.GetRevision(),
			"goVersion": version.GoVersion, "platform": version.GoOS + "/" + version.GoArch,
		}, func(screen) string { return version.Print("zeta-scaler") + "\n" })
	}
	return cmd
}
