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

func stateNames() string {
	names := make([]string, len(scaling.ActionStates()))
	for i, s := range scaling.ActionStates() {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

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
	flags := addClientFlags(cmd)
	scope := flags.addScopeFlag(cmd)
	state := cmd.Flags().String("state", "", "only this state: "+stateNames())
	limited := addLimitFlag(cmd, "actions")
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(strings.Split(stateNames(), ", "), cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		client, err := flags.client()
		if err != nil {
			return err
		}
		if s := scaling.ActionState(*state); s != "" && !slices.Contains(scaling.ActionStates(), s) {
			return usagef("--state is %q, expected one of %s", s, stateNames())
		}
		limit, err := limited()
		if err != nil {
			return err
		}
		page, err := client.Actions(cmd.Context(), api.GetActionsParams{Scope: *scope, State: scaling.ActionState(*state), Limit: limit})
		if err != nil {
			return err
		}
		if len(page.Actions) == 0 {
			if err := known(cmd.Context(), client, *scope); err != nil {
				return err
			}
		}
		if *out == outputJSON {
			return printJSON(cmd.OutOrStdout(), page)
		}
		_, err = io.WriteString(cmd.OutOrStdout(), actionsText(page, screenOf(cmd.OutOrStdout())))
		return err
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
