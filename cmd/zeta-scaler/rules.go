package main

import (
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/rules"
)

func newRules() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "rules",
		Short:   "List, show and export the embedded rule sets",
		Example: "  zeta-scaler rules list\n  zeta-scaler rules show zeta-auto",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRulesList(), newRulesShow(), newRulesExport())
	return cmd
}

func newRulesList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the embedded rule sets", Args: cobra.NoArgs,
		Example: "  zeta-scaler rules list -o json",
	}
	out := addOutputFlag(cmd)
	type pack struct {
		Name        string `json:"name"`
		Version     string `json:"version"`
		Digest      string `json:"digest"`
		Description string `json:"description"`
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var packs []pack
		for _, name := range rules.Packs() {
			rs, _, err := rules.Pack(name)
			if err != nil {
				return err
			}
			packs = append(packs, pack{rs.Name, rs.Version, rs.Digest, rs.Description})
		}
		if *out == outputJSON {
			return printJSON(cmd.OutOrStdout(), packs)
		}
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tVERSION\tDESCRIPTION")
		for _, p := range packs {
			fmt.Fprintf(w, "%s\t%s\t%s\n", p.Name, p.Version, p.Description)
		}
		return w.Flush()
	}
	return cmd
}

func completePacks(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return rules.Packs(), cobra.ShellCompDirectiveNoFileComp
}

func newRulesShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Print an embedded rule set", Args: cobra.ExactArgs(1),
		Example:           "  zeta-scaler rules show zeta-auto > my-rules.yaml",
		ValidArgsFunction: completePacks,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, data, err := rules.Pack(args[0])
			if err != nil {
				return usageError{err}
			}
			_, err = cmd.OutOrStdout().Write(data)
			return err
		},
	}
}

func newRulesExport() *cobra.Command {
	cmd := &cobra.Command{
		Use: "export NAME|FILE", Short: "Write a rule set as Prometheus rules, as near as those can be", Args: cobra.ExactArgs(1),
		Long: `Write recording and alerting rules that are as near to a rule set as Prometheus
can be. Comments in the output say where they differ: gaps, keep_firing_for and
validity.`,
		Example:           "  zeta-scaler rules export --as prometheus zeta-fixed-slot",
		ValidArgsFunction: completePacks,
	}
	as := cmd.Flags().String("as", "prometheus", "format: prometheus")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *as != "prometheus" {
			return usagef("--as is %q, expected prometheus", *as)
		}
		rs, err := packOrFile(args[0])
		if err != nil {
			return err
		}
		data, notes, err := rules.ExportPrometheus(rs)
		if err != nil {
			return err
		}
		for _, n := range notes {
			fmt.Fprintln(cmd.ErrOrStderr(), "note:", n)
		}
		_, err = cmd.OutOrStdout().Write(data)
		return err
	}
	return cmd
}

// packOrFile reads an embedded rule set by name, or a file by path.
func packOrFile(name string) (*rules.RuleSet, error) {
	if slices.Contains(rules.Packs(), name) {
		rs, _, err := rules.Pack(name)
		return rs, err
	}
	return rules.ParseFile(name)
}
