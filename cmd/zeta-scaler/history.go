package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// maxEntries is as many as the API gives at once.
const maxEntries = 1000

func actionNames() string {
	names := make([]string, len(scaling.Actions()))
	for i, a := range scaling.Actions() {
		names[i] = string(a)
	}
	return strings.Join(names, ", ")
}

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
	action := cmd.Flags().String("action", "", "only this action: "+actionNames())
	limit := cmd.Flags().Int("limit", 50, fmt.Sprintf("at most so many entries, 1 to %d", maxEntries))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		client, err := flags.client()
		if err != nil {
			return err
		}
		if a := scaling.Action(*action); a != "" && !slices.Contains(scaling.Actions(), a) {
			return usagef("--action is %q, expected one of %s", a, actionNames())
		}
		if *limit < 1 || *limit > maxEntries {
			return usagef("--limit is %d, expected 1 to %d", *limit, maxEntries)
		}
		page, err := client.History(cmd.Context(), api.GetHistoryParams{Scope: *scope, Action: scaling.Action(*action), Limit: *limit})
		if err != nil {
			return err
		}
		if *out == outputJSON {
			return printJSON(cmd.OutOrStdout(), page)
		}
		if len(page.Entries) == 0 {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "No recorded decision matches.")
			return err
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
