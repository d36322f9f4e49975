// Command zeta-scaler watches Apache SeaTunnel Zeta clusters through
// Prometheus and publishes one explainable scaling recommendation per worker
// group.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// Exit codes: 0 is fine, exitBad says that the thing checked is bad or that a
// command failed, exitUsage that it was called wrongly.
const (
	exitBad   = 1
	exitUsage = 2
)

func main() {
	hup := make(chan os.Signal, 1)
	// First of all: to a service, a hangup is a reload, and not its end.
	signal.Notify(hup, syscall.SIGHUP)
	nameVersion()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends what does not listen, such as opening a pipe
	code := run(ctx, hup, os.Args[1:], os.Stdout, os.Stderr)
	os.Exit(code)
}

// errReported is returned by commands that have printed what is wrong.
var errReported = errors.New("reported")

// usageError says that a flag or an argument has a value that makes no sense:
// what cobra does not find by itself.
type usageError struct{ error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, hup chan os.Signal, args []string, stdout, stderr io.Writer) int {
	// Libraries' own lines are no output of a command; a service redirects them.
	log.SetOutput(io.Discard)
	root, began := newRoot(hup)
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
	fmt.Fprintf(stderr, "zeta-scaler: %s\n", document.Printable(err.Error(), "\n\t"))
	if _, usage := errors.AsType[usageError](err); *began && !usage {
		return exitBad
	}
	fmt.Fprintln(stderr, "Run with --help for usage.")
	return exitUsage
}

// newRoot builds the command tree. began becomes true once flags and
// arguments were accepted: what fails before that is a usage error.
func newRoot(hup chan os.Signal) (root *cobra.Command, began *bool) {
	began = new(bool)
	root = &cobra.Command{
		Use:   "zeta-scaler",
		Short: "Autoscaler for Apache SeaTunnel's Zeta engine",
		Long: `zeta-scaler watches Apache SeaTunnel Zeta clusters through Prometheus and
publishes one explainable recommendation per worker group. It is advisory:
nothing acts unless a scope is told so by name.`,
		Example:       "  zeta-scaler demo\n  zeta-scaler serve --prometheus.url=http://localhost:9090\n  zeta-scaler status",
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			*began = true
			if cmd.Annotations[reloads] == "" {
				letHangupsEnd(hup)
			}
		},
		Args:              cobra.NoArgs,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	root.AddCommand(
		newServe(hup), newExporter(hup), newDemo(), newCheck(), newTest(), newBacktest(), newSimulate(), newRules(), newConfig(),
		newDoctor(), newExplain(), newStatus(), newHistory(), newActions(), newPause(), newResume(), newDrain(), newSubmit(), newVersion(),
	)
	root.SetHelpCommand(newHelp())
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil {
		// Without it, an unknown shell is answered with help and exit code 0.
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		c.Example = "  zeta-scaler completion bash > /etc/bash_completion.d/zeta-scaler"
	}
	return root, began
}

// reloads marks the commands to which a hangup is a reload.
const reloads = "reloads"

// letHangupsEnd gives a hangup its usual meaning again, also one that has come.
func letHangupsEnd(hup chan os.Signal) {
	signal.Reset(syscall.SIGHUP)
	select {
	case sig := <-hup:
		if p, err := os.FindProcess(os.Getpid()); err == nil {
			_ = p.Signal(sig) // nothing is left to do about it
		}
	default:
	}
}

// newHelp is cobra's help command, which calls an unknown command no error.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about any command",
		Example: "  zeta-scaler help check rules",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil {
				return usageError{err}
			}
			if len(rest) > 0 {
				return usagef("unknown command %q for %q", rest[0], found.CommandPath())
			}
			return found.Help()
		},
	}
}
