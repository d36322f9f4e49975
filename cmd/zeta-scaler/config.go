package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Show the configuration of a running service, and change bounds and mode",
		Example: "  zeta-scaler config show\n  zeta-scaler config set --scope prod --max-workers 20 --until 6h --reason quarter-end",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigShow(), newConfigSet())
	return cmd
}

func newConfigShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show", Short: "Print the effective configuration, each value with where it comes from",
		Example: "  zeta-scaler config show\n  zeta-scaler config show --scope prod",
		Args:    noArgs("scope"),
	}
	out := addOutputFlag(cmd)
	flags := addClientFlags(cmd)
	scope := flags.addScopeFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		client, err := flags.client()
		if err != nil {
			return err
		}
		reply, err := client.Config(cmd.Context(), *scope)
		if err != nil {
			return err
		}
		return printConfig(cmd, out, &reply)
	}
	return cmd
}

// configured is the word that takes an override away.
const configured = "configured"

// configChange are the flags of config set.
type configChange struct{ scope, least, most, mode, until, reason string }

func newConfigSet() *cobra.Command {
	cmd := &cobra.Command{
		Use: "set", Short: "Change bounds and mode of a scope until a time, or until somebody changes them again",
		Long: `Change bounds and mode of a scope at run time; they count from the next tick on
and survive a restart. With --until, bounds end by themselves, like a silence.
The word ` + configured + ` takes away what was set. Nothing is changed if somebody else
changes something at the same time. The service needs a credential for this: see
--token-file.`,
		Example: "  zeta-scaler config set --scope prod --max-workers 20 --until 6h --reason quarter-end\n" +
			"  zeta-scaler config set --scope prod --max-workers " + configured,
		Args: noArgs("scope"),
	}
	out := addOutputFlag(cmd)
	flags := addClientFlags(cmd)
	f := &configChange{}
	scope := flags.addScopeFlag(cmd)
	cmd.Flags().Lookup("scope").Usage = "the scope to change; required"
	cmd.Flags().StringVar(&f.least, "min-workers", "", "least number of workers, or "+configured)
	cmd.Flags().StringVar(&f.most, "max-workers", "", "greatest number of workers, or "+configured)
	cmd.Flags().StringVar(&f.mode, "mode", "", "advisory, webhook, direct or "+configured)
	cmd.Flags().StringVar(&f.until, "until", "", "when the bounds end by themselves: a time such as 2026-03-14T18:00:00Z, or how long from now, such as 6h")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for those who wonder")
	_ = cmd.RegisterFlagCompletionFunc("mode", fixed(string(scaling.Advisory), string(scaling.Webhook), string(scaling.Direct), configured))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		client, err := flags.client()
		if err != nil {
			return err
		}
		f.scope = *scope
		change, err := f.change(time.Now())
		if err != nil {
			return err
		}
		_, tag, err := client.ConfigTag(cmd.Context(), f.scope)
		if err != nil {
			return err
		}
		reply, err := client.SetConfig(cmd.Context(), []api.ScopeChange{change}, tag)
		if err != nil {
			return err
		}
		return printConfig(cmd, out, &reply)
	}
	return cmd
}

// change is what the flags ask for.
func (f *configChange) change(now time.Time) (change api.ScopeChange, err error) {
	change = api.ScopeChange{Scope: f.scope, Reason: f.reason}
	switch {
	case f.scope == "":
		return change, usagef("--scope is missing: say which scope is to be changed")
	case f.least == "" && f.most == "" && f.mode == "":
		return change, usagef("give --min-workers, --max-workers or --mode")
	}
	if change.MinWorkers, err = boundFlag("min-workers", f.least); err != nil {
		return change, err
	}
	if change.MaxWorkers, err = boundFlag("max-workers", f.most); err != nil {
		return change, err
	}
	switch f.mode {
	case "":
	case configured:
		change.Mode = api.Optional[scaling.Mode]{Set: true}
	default:
		change.Mode = api.Some(scaling.Mode(f.mode))
	}
	if f.until != "" {
		if change.Until, err = untilFlag(f.until, now); err != nil {
			return change, err
		}
	}
	return change, nil
}

func boundFlag(name, value string) (api.Optional[int], error) {
	switch n, err := strconv.Atoi(value); {
	case value == "":
		return api.Optional[int]{}, nil
	case value == configured:
		return api.Optional[int]{Set: true}, nil
	case err != nil:
		return api.Optional[int]{}, usagef("--%s is %q, expected a number or the word %s", name, value, configured)
	default:
		return api.Some(n), nil
	}
}

// untilFlag is a time, or a duration from now.
func untilFlag(value string, now time.Time) (api.Optional[time.Time], error) {
	if t, err := time.Parse(time.RFC3339, value); err == nil {
		return api.Some(t), nil
	}
	d, err := model.ParseDuration(value)
	if err != nil || d <= 0 {
		return api.Optional[time.Time]{}, usagef("--until is %q, expected a time such as 2026-03-14T18:00:00Z, or a duration such as 6h", value)
	}
	return api.Some(now.Add(time.Duration(d)).UTC().Truncate(time.Second)), nil
}

func printConfig(cmd *cobra.Command, out *output, reply *api.EffectiveConfig) error {
	return out.print(cmd.OutOrStdout(), reply, func(s screen) string { return configText(reply, s) })
}

// configText is a table of the settings, if there are any, and one of the scopes.
func configText(c *api.EffectiveConfig, s screen) string {
	text := ""
	if len(c.Settings) > 0 {
		t := textTable{header: []string{"KEY", "VALUE", "FROM"}}
		for _, v := range c.Settings {
			value, err := json.Marshal(v.Value)
			if err != nil {
				value = fmt.Append(nil, v.Value)
			}
			t.add(v.Path, string(value), from(v.Origin, v.Source))
		}
		text = t.text(s) + "\n"
	}
	t := textTable{header: []string{"SCOPE", "KEY", "VALUE", "FROM"}}
	for i := range c.Scopes {
		sc := &c.Scopes[i]
		scope := scaling.ShownKey(sc.Scope)
		t.add(scope, string(scaling.MinWorkers), countText(sc.MinWorkers.Value), from(sc.MinWorkers.Origin, sc.MinWorkers.Source))
		t.add(scope, string(scaling.MaxWorkers), countText(sc.MaxWorkers.Value), from(sc.MaxWorkers.Origin, sc.MaxWorkers.Source))
		t.add(scope, "mode", string(sc.Mode.Value), from(sc.Mode.Origin, sc.Mode.Source))
	}
	text += t.text(s)
	for i := range c.Scopes {
		for _, why := range c.Scopes[i].Conflicts {
			text += plain(fmt.Sprintf("%s: does not count: %s", c.Scopes[i].Scope, why)) + "\n"
		}
	}
	return text
}

func countText(n *int) string {
	if n == nil {
		return "unbounded"
	}
	return strconv.Itoa(*n)
}

// from says where a value comes from: its place if it has one.
func from(origin api.Origin, source string) string {
	if origin == api.FromRuntime {
		return "set at run time" + prefixed(": ", source)
	}
	return cmp.Or(source, string(origin))
}
