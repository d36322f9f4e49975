package main

import (
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/ruletest"
)

func newTest() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test FILE...",
		Short: "Run unit tests of rule sets",
		Long: `Run unit tests of rule sets: series in Prometheus' own notation, and the
decision that is expected at some time. Exit code 1 if a test fails.
With --config.file, a pack that the configuration changes (set) is tested as it
is then, and not as it is in the binary.`,
		Example: "  zeta-scaler test --config.file zeta-scaler.yml auto_test.yaml\n  zeta-scaler test rules_test.yaml\n  zeta-scaler test --run waits --junit report.xml tests/*.yaml",
		Args:    cobra.MinimumNArgs(1),
	}
	out := addOutputFlag(cmd)
	run := cmd.Flags().String("run", "", "only tests whose name matches this regular expression")
	file := cmd.Flags().String("config.file", "", "configuration whose changes of packs are tested")
	junit := cmd.Flags().String("junit", "", "write a JUnit report to this file")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return noneEmpty(cmd.Flags()) }
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o := ruletest.Options{Files: args}
		if *run != "" {
			re, err := regexp.Compile(*run)
			if err != nil {
				return usagef("--run: %w", err)
			}
			o.Run = re
		}
		if *file != "" {
			c, err := readConfiguration(*file)
			if err != nil {
				return err
			}
			o.Packs = changedPacks(c)
		}
		report, err := ruletest.Run(cmd.Context(), o)
		if err != nil {
			return err
		}
		if *junit != "" {
			if err := writeFile(*junit, report.WriteJUnit); err != nil {
				return err
			}
		}
		if err := out.write(cmd.OutOrStdout(), report, report.WriteText); err != nil {
			return err
		}
		if !report.Passed() {
			return errReported
		}
		if tests, _ := report.Counts(); tests == 0 && *run != "" {
			return fmt.Errorf("no test matches --run %q", *run)
		}
		return nil
	}
	return cmd
}

// changedPacks are the packs that a configuration changes, by the names of those
// in the binary.
func changedPacks(c *config.Config) map[string]*rules.RuleSet {
	out := map[string]*rules.RuleSet{}
	for _, pack := range rules.Packs() {
		if rs := c.RuleSet(rules.ChangedName(pack)); rs != nil && len(rs.Set) > 0 {
			out[pack] = rs
		}
	}
	return out
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		_ = f.Close() // the first error says more
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return f.Close()
}
