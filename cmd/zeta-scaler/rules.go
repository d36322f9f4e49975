package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/rules"
)

func newRules() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "rules",
		Short:   "List, show and export rule sets",
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
		return out.write(cmd.OutOrStdout(), packs, func(w io.Writer) error {
			table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
			fmt.Fprintln(table, "NAME\tVERSION\tDESCRIPTION")
			for _, p := range packs {
				fmt.Fprintf(table, "%s\t%s\t%s\n", p.Name, p.Version, p.Description)
			}
			return table.Flush()
		})
	}
	return cmd
}

func completePacks(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return rules.Packs(), cobra.ShellCompDirectiveNoFileComp
}

func newRulesShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Print a rule set", Args: cobra.ExactArgs(1),
		Long: `Print an embedded rule set, or the tests that lie beside it. With --config.file,
print a rule set that a configuration loads, by its name: a pack with what the
configuration sets of it is named PACK+set.`,
		Example: "  zeta-scaler rules show zeta-auto > my-rules.yaml\n" +
			"  zeta-scaler rules show zeta-auto --tests > my-rules_test.yaml\n" +
			"  zeta-scaler rules show zeta-auto+set --config.file zeta-scaler.yml",
		ValidArgsFunction: completePacks,
	}
	file := cmd.Flags().String("config.file", "", "configuration that loads the rule set")
	tests := cmd.Flags().Bool("tests", false, "print the tests of the pack")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return noneEmpty(cmd.Flags()) }
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		data, err := shownRules(args[0], *file, *tests)
		if err != nil {
			return err
		}
		_, err = cmd.OutOrStdout().Write(data)
		return err
	}
	return cmd
}

// shownRules is the text of a rule set, or of the tests of a pack.
func shownRules(name, file string, tests bool) ([]byte, error) {
	if tests {
		if file != "" {
			return nil, usagef("--tests prints those of a pack: leave out --config.file")
		}
		if _, _, err := rules.Pack(name); err != nil {
			return nil, usageError{err}
		}
		return rules.PackTest(name)
	}
	if file == "" {
		_, data, err := rules.Pack(name)
		if err != nil {
			return nil, usageError{err}
		}
		return data, nil
	}
	c, err := readConfiguration(file)
	if err != nil {
		return nil, err
	}
	known := make([]string, len(c.Rules))
	for i, rs := range c.Rules {
		if known[i] = rs.Name; rs.Name == name {
			return rs.Source(), nil
		}
	}
	return nil, usagef("%s loads no rule set %q: %s", file, name, document.DidYouMean(name, known))
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
	rs, err := rules.ParseFile(name)
	if err = notOfPack(name, err); errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; the embedded rule sets are %s", err, strings.Join(rules.Packs(), ", "))
	}
	return rs, err
}

// notOfPack is the error of reading a file; where its name is that of a pack, it says
// how to get a file of that.
func notOfPack(name string, err error) error {
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case strings.HasSuffix(name, rules.ChangedName("")):
		_, _, err = rules.Pack(name)
		return err
	case slices.Contains(rules.Packs(), name):
		return fmt.Errorf("%s is a pack, which is part of this program, and no file: write it to one with zeta-scaler rules show %s > my-rules.yaml, and give that", name, name)
	}
	return err
}
