package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// noScopes is for a service that has nothing to decide about.
const noScopes = `No scopes yet. One appears when the rule set's workers.current has a sample for
it, or is listed in the configuration: see the service's log for failing
queries, and whether its Prometheus has the metrics of zeta-scaler exporter.`

// watchEvery is how often --watch asks.
const watchEvery = 2 * time.Second

func newStatus() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the newest recommendation of every scope",
		Long: `Show the newest recommendation of every scope. With --watch, ask every two
seconds until interrupted: a terminal is redrawn, anything else gets a new
status whenever it has changed.`,
		Example: "  zeta-scaler status\n  zeta-scaler status --scope prod -o json\n  zeta-scaler status --watch",
		Args:    cobra.NoArgs,
	}
	out := addOutputFlag(cmd)
	flags := addClientFlags(cmd)
	scope := cmd.Flags().String("scope", "", "only this scope")
	watching := cmd.Flags().Bool("watch", false, "go on showing it until interrupted")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		client, err := flags.client()
		if err != nil {
			return err
		}
		w := watch{out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr(), screen: screenOf(cmd.OutOrStdout())}
		w.ask = func(ctx context.Context) (string, error) {
			status, err := client.Status(ctx, *scope)
			if err != nil {
				return "", err
			}
			return statusText(status, *out, w.screen)
		}
		if *watching {
			return w.run(cmd.Context())
		}
		text, err := w.ask(cmd.Context())
		if err != nil {
			return err
		}
		_, err = io.WriteString(w.out, text)
		return err
	}
	return cmd
}

// statusText is the whole output for one status.
func statusText(status api.Status, out outputFormat, s screen) (string, error) {
	if out == outputJSON {
		return jsonText(status)
	}
	if len(status.Scopes) == 0 {
		return noScopes + "\n", nil
	}
	t := textTable{header: []string{"SCOPE", "WORKERS", "ACTION", "ROW", "INTENT SINCE", "REASON"}}
	for i := range status.Scopes {
		st := &status.Scopes[i]
		r := &st.Recommendation
		t.add(st.Scope, workers(r), string(r.Action), string(r.Row), r.Since.Format(time.RFC3339), r.Reason)
	}
	return t.text(s), nil
}

// watch shows something again and again.
type watch struct {
	out, errs io.Writer
	screen    screen
	ask       func(context.Context) (string, error)
}

// run ends without an error when ctx does. A service that does not answer at
// first is an error, later it is only said.
func (w *watch) run(ctx context.Context) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	last := ""
	for first := true; ; first = false {
		text, err := w.ask(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return err
		case err != nil:
			text = fmt.Sprintf("zeta-scaler: %v\n", err)
		}
		if err := w.show(text, last, err != nil); err != nil {
			return err
		}
		last = text
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// show redraws a terminal, and adds to anything else what is new.
func (w *watch) show(text, last string, failed bool) error {
	var err error
	switch {
	case w.screen.terminal:
		_, err = io.WriteString(w.out, "\x1b[H\x1b[2J"+text)
	case text == last:
	case failed:
		_, err = io.WriteString(w.errs, text)
	case last != "":
		_, err = io.WriteString(w.out, "\n"+text)
	default:
		_, err = io.WriteString(w.out, text)
	}
	return err
}

// workers writes "3 → 4", or one number where both are the same.
func workers(r *scaling.Recommendation) string {
	count := func(n *int) string {
		if n == nil {
			return "unknown"
		}
		return fmt.Sprint(*n)
	}
	from, to := count(r.CurrentWorkers), count(r.RecommendedWorkers)
	if from == to {
		return from
	}
	return from + " → " + to
}
