package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
)

func newExplain() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain --table",
		Short: "Print the decision table",
		Long: `Print the decision table: its rows are tried from top to bottom, and the first
one that matches decides. "zeta-scaler status" shows which row decided for a
scope, and the sentence that says why.`,
		Example: "  zeta-scaler explain --table\n  zeta-scaler explain --table -o json",
		Args:    cobra.NoArgs,
	}
	out := addOutputFlag(cmd)
	table := cmd.Flags().Bool("table", false, "print the decision table")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !*table {
			return usagef("nothing to explain: give --table")
		}
		rows := evaluator.Table()
		if *out == outputJSON {
			return printJSON(cmd.OutOrStdout(), rows)
		}
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "ROW\tACTION\tTARGET\tWHEN")
		for _, r := range rows {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.ID, r.Action, r.Target, r.When)
		}
		return w.Flush()
	}
	return cmd
}
