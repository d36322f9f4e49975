// Command zeta-scaler watches Apache SeaTunnel Zeta clusters through
// Prometheus and publishes one explainable scaling recommendation per worker
// group.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes: 0 is fine, exitBad says that the thing checked is bad or that a
// command failed, exitUsage that it was called wrongly.
const (
	exitBad   = 1
	exitUsage = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// errReported is returned by commands that have printed what is wrong.
var errReported = errors.New("reported")

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root, began := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errReported):
		return exitBad
	}
	fmt.Fprintf(stderr, "zeta-scaler: %v\n", err)
	if *began {
		return exitBad
	}
	fmt.Fprintln(stderr, "Run with --help for usage.")
	return exitUsage
}

// newRoot builds the command tree. began becomes true once flags and
// arguments were accepted: what fails before that is a usage error.
func newRoot() (root *cobra.Command, began *bool) {
	began = new(bool)
	root = &cobra.Command{
		Use:   "zeta-scaler",
		Short: "Autoscaler for Apache SeaTunnel's Zeta engine",
		Long: `zeta-scaler watches Apache SeaTunnel Zeta clusters through Prometheus and
publishes one explainable recommendation per worker group. It is advisory:
nothing acts unless a scope is told so by name.`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRun:  func(*cobra.Command, []string) { *began = true },
		Args:              cobra.NoArgs,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	root.AddCommand(
		newServe(), newExporter(), newDemo(), newCheck(), newTest(), newRules(),
		newExplain(), newStatus(), newHistory(), newVersion(),
	)
	return root, began
}
