package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func newActions() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "actions",
		Short: "Show what was carried out, actions under way first",
		Long: `Show the actions that recommendations have led to: those that wait or are under
way first, then those that are over, newest first. -o json has every transition.`,
		Example: "  zeta-scaler actions --scope prod\n  zeta-scaler actions --state FAILED --limit 10 -o json",
		Args:    noArgs("scope"),
	}
	out := addOutputFlag(cmd)
	asked := addPastFlags(cmd, "actions", "state", scaling.ActionStates())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		q, err := asked()
		if err != nil {
			return err
		}
		page, err := q.client.Actions(cmd.Context(), api.GetActionsParams{Scope: q.scope, State: q.word, Limit: q.limit})
		if err != nil {
			return err
		}
		if len(page.Actions) == 0 {
			if err := known(cmd.Context(), q.client, q.scope); err != nil {
				return err
			}
		}
		return out.print(cmd.OutOrStdout(), page, func(s screen) string { return actionsText(page, s) })
	}
	return cmd
}

func actionsText(page api.ActionsPage, s screen) string {
	if len(page.Actions) == 0 {
		return "No action matches.\n"
	}
	t := textTable{header: []string{"SINCE", "SCOPE", "STATE", "WORKERS", "BY", "ACTION", "WHY"}}
	for i := range page.Actions {
		x := &page.Actions[i]
		var last scaling.Transition
		if n := len(x.Transitions); n > 0 {
			last = x.Transitions[n-1]
		}
		from := "unknown"
		if x.From != nil {
			from = fmt.Sprint(*x.From)
		}
		t.add(last.At.Format(time.RFC3339), scaling.ShownKey(x.Scope), string(x.State), fmt.Sprintf("%s → %d", from, x.Target), x.Actuator, x.ID,
			cmp.Or(x.Error, last.Reason, x.Condition, "row "+string(x.Row)))
	}
	return t.text(s)
}
