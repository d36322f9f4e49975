package main

import (
	"cmp"
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
		Short:   "Show recorded decisions, and what people have set, newest first",
		Example: "  zeta-scaler history --scope prod --limit 20\n  zeta-scaler history --action SCALE_OUT -o json",
		Args:    noArgs("scope"),
	}
	out := addOutputFlag(cmd)
	flags := addClientFlags(cmd)
	scope := flags.addScopeFlag(cmd)
	action := cmd.Flags().String("action", "", "only this action: "+actionNames())
	_ = cmd.RegisterFlagCompletionFunc("action", fixed(actionWords()...))
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
		if len(page.Entries)+len(page.Changes) == 0 {
			if err := known(cmd.Context(), client, *scope); err != nil {
				return err
			}
		}
		if *out == outputJSON {
			return printJSON(cmd.OutOrStdout(), page)
		}
		if len(page.Entries)+len(page.Changes) == 0 {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "No recorded decision matches.")
			return err
		}
		t := historyTable(&page)
		_, err = io.WriteString(cmd.OutOrStdout(), t.text(screenOf(cmd.OutOrStdout())))
		return err
	}
	return cmd
}

// historyTable has decisions and what people have set, in the order of time.
func historyTable(page *api.HistoryPage) textTable {
	t := textTable{header: []string{"TIME", "SCOPE", "WORKERS", "ACTION", "ROW", "REASON"}}
	changes := page.Changes
	change := func() {
		c := &changes[0]
		changes = changes[1:]
		t.add(c.At.Format(time.RFC3339), cmp.Or(scaling.ShownKey(c.Scope), "(service)"), "-", c.What, "-",
			strings.TrimPrefix(prefixed("by ", c.Who)+when(c.Until != nil, " "+untilText(c.Until))+prefixed(": ", c.Reason), ": "))
	}
	for i := range page.Entries {
		e := &page.Entries[i]
		for len(changes) > 0 && changes[0].Id > e.ID {
			change()
		}
		r := &e.Recommendation
		t.add(e.At.Format(time.RFC3339), scaling.ShownKey(e.Scope), workers(r), string(r.Action), string(r.Row), r.Reason)
	}
	for len(changes) > 0 {
		change()
	}
	return t
}
