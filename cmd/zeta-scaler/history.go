package main

import (
	"cmp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func newHistory() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "history",
		Short:   "Show recorded decisions, and what people have set, newest first",
		Example: "  zeta-scaler history --scope prod --limit 20\n  zeta-scaler history --action SCALE_OUT -o json",
		Args:    noArgs("scope"),
	}
	out := addOutputFlag(cmd)
	asked := addPastFlags(cmd, "entries", "action", scaling.Actions())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		q, err := asked()
		if err != nil {
			return err
		}
		page, err := q.client.History(cmd.Context(), api.GetHistoryParams{Scope: q.scope, Action: q.word, Limit: q.limit})
		if err != nil {
			return err
		}
		if len(page.Entries)+len(page.Changes) == 0 {
			if err := known(cmd.Context(), q.client, q.scope); err != nil {
				return err
			}
		}
		return out.print(cmd.OutOrStdout(), page, func(s screen) string { return historyText(&page, s) })
	}
	return cmd
}

// historyText has decisions and what people have set, in the order of time.
func historyText(page *api.HistoryPage, s screen) string {
	if len(page.Entries)+len(page.Changes) == 0 {
		return "No recorded decision matches.\n"
	}
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
	return t.text(s)
}
