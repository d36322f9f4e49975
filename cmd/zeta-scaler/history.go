package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
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
	limited := addLimitFlag(cmd, "entries")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		client, err := flags.client()
		if err != nil {
			return err
		}
		if a := scaling.Action(*action); a != "" && !slices.Contains(scaling.Actions(), a) {
			return usagef("--action is %q, expected one of %s", a, actionNames())
		}
		limit, err := limited()
		if err != nil {
			return err
		}
		page, err := client.History(cmd.Context(), api.GetHistoryParams{Scope: *scope, Action: scaling.Action(*action), Limit: limit})
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
		t := textTable{header: []string{"TIME", "SCOPE", "WORKERS", "ACTION", "ROW", "REASON"}}
		for i := range page.Entries {
			e := &page.Entries[i]
			r := &e.Recommendation
			t.add(e.At.Format(time.RFC3339), e.Scope, workers(r), string(r.Action), string(r.Row), r.Reason)
		}
		_, err = io.WriteString(cmd.OutOrStdout(), t.text(screenOf(cmd.OutOrStdout())))
		return err
	}
	return cmd
}
