package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func newPause() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pause [SCOPE]",
		Short: "Pause a scope, or all of them",
		Long: `Pause a scope, or the whole service without SCOPE. A paused scope is still
evaluated, but nothing begins until it is resumed or the pause ends by itself.
The service needs a credential for this: see --token-file.`,
		Example: "  zeta-scaler pause prod --reason upgrade --for 2h\n  zeta-scaler pause --reason maintenance --until 2026-03-14T18:00:00Z",
		Args:    cobra.MaximumNArgs(1),
	}
	out := addOutputFlag(cmd)
	flags := addClientFlags(cmd)
	cmd.ValidArgsFunction = flags.completeScopes
	reason := cmd.Flags().String("reason", "", "why, for those who wonder; required")
	until := cmd.Flags().String("until", "", "when the pause ends by itself, such as 2026-03-14T18:00:00Z")
	length := cmd.Flags().String("for", "", "how long the pause lasts, such as 30m, 2h or 1d")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		client, err := flags.client()
		if err != nil {
			return err
		}
		if strings.TrimSpace(*reason) == "" {
			return usagef("--reason is missing: say why")
		}
		scope, err := scopeArgument(args)
		if err != nil {
			return err
		}
		req := api.PauseRequest{Scope: scope, Reason: *reason}
		if req.Until, err = pauseEnd(*until, *length, time.Now()); err != nil {
			return err
		}
		reply, err := client.Pause(cmd.Context(), req)
		if err != nil {
			return err
		}
		return printControl(cmd, out, &reply)
	}
	return cmd
}

// scopeArgument is the scope that is meant; none is the whole service, but an
// empty word is a slip.
func scopeArgument(args []string) (api.Optional[string], error) {
	switch {
	case len(args) == 0:
		return api.Optional[string]{}, nil
	case args[0] == "":
		return api.Optional[string]{}, usagef("SCOPE is empty; leave it out to mean the whole service")
	}
	return api.Some(args[0]), nil
}

// pauseEnd is when a pause ends by itself; not set for never.
func pauseEnd(until, length string, now time.Time) (api.Optional[time.Time], error) {
	var end api.Optional[time.Time]
	switch {
	case until != "" && length != "":
		return end, usagef("give --until or --for, not both")
	case until != "":
		t, err := time.Parse(time.RFC3339, until)
		if err != nil {
			return end, usagef("--until is %q, expected a time such as 2026-03-14T18:00:00Z", until)
		}
		end = api.Some(t)
	case length != "":
		d, err := model.ParseDuration(length)
		if err != nil || d <= 0 {
			return end, usagef("--for is %q, expected a duration such as 30m, 2h or 1d", length)
		}
		end = api.Some(now.Add(time.Duration(d)).UTC().Truncate(time.Second))
	}
	return end, nil
}

func printControl(cmd *cobra.Command, out *output, reply *api.ControlState) error {
	return out.print(cmd.OutOrStdout(), reply, func(screen) string { return controlText(reply) })
}

// controlText says what holds now.
func controlText(reply *api.ControlState) string {
	subject := "The service"
	if reply.Scope != nil {
		subject = "Scope " + plain(scaling.ShownKey(*reply.Scope))
	}
	c := &reply.Control
	if !c.Paused {
		text := subject + " is not paused.\n"
		if reply.Scope != nil && reply.ServicePaused {
			text += "The whole service still is: resume it without SCOPE.\n"
		}
		if reply.Scope == nil && len(reply.PausedScopes) > 0 {
			text += "Paused by themselves: " + plain(strings.Join(shownKeys(reply.PausedScopes), ", ")) + "\n"
		}
		return text
	}
	end := "until it is resumed"
	if c.Until != nil {
		end = "until " + c.Until.Format(time.RFC3339)
	}
	return fmt.Sprintf("%s is paused %s: %s\n", subject, end, plain(c.Reason))
}
