package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func newHistory() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "history",
		Short:   "Show recorded decisions, newest first",
		Example: "  zeta-scaler history --scope prod --limit 20\n  zeta-scaler history --action SCALE_OUT -o json",
		Args:    cobra.NoArgs,
	}
	out := addOutputFlag(cmd)
	flags := addClientFlags(cmd)
	scope := cmd.Flags().String("scope", "", "only this scope")
	action := cmd.Flags().String("action", "", "only this action, such as SCALE_OUT")
	limit := cmd.Flags().Int("limit", 50, "at most so many entries, 1 to 1000")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		client, err := flags.client()
		if err != nil {
			return err
		}
		page, err := client.History(cmd.Context(), api.GetHistoryParams{Scope: *scope, Action: scaling.Action(*action), Limit: *limit})
		if err != nil {
			return err
		}
		if *out == outputJSON {
			return printJSON(cmd.OutOrStdout(), page)
		}
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "TIME\tSCOPE\tWORKERS\tACTION\tROW\tREASON")
		for _, e := range page.Entries {
			r := &e.Recommendation
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", e.At.Format(time.RFC3339), e.Scope, workers(r), r.Action, r.Row, r.Reason)
		}
		return w.Flush()
	}
	return cmd
}
