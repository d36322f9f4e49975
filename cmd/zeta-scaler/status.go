package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// noScopes is for a service that has nothing to decide about.
const noScopes = `No scopes yet. One appears when the rule set's workers.current has a sample for
it, or is listed in the configuration: see the service's log for failing
queries, and whether its Prometheus has the metrics of zeta-scaler exporter.`

func newStatus() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show the newest recommendation of every scope",
		Example: "  zeta-scaler status\n  zeta-scaler status --scope prod -o json",
		Args:    cobra.NoArgs,
	}
	out := addOutputFlag(cmd)
	flags := addClientFlags(cmd)
	scope := cmd.Flags().String("scope", "", "only this scope")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		client, err := flags.client()
		if err != nil {
			return err
		}
		status, err := client.Status(cmd.Context(), *scope)
		if err != nil {
			return err
		}
		if *out == outputJSON {
			return printJSON(cmd.OutOrStdout(), status)
		}
		if len(status.Scopes) == 0 {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), noScopes)
			return err
		}
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "SCOPE\tWORKERS\tACTION\tROW\tINTENT SINCE\tREASON")
		for _, s := range status.Scopes {
			r := &s.Recommendation
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", s.Scope, workers(r), r.Action, r.Row, r.Since.Format(time.RFC3339), r.Reason)
		}
		return w.Flush()
	}
	return cmd
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
