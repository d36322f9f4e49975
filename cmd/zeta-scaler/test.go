package main

import (
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/ruletest"
)

func newTest() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test FILE...",
		Short: "Run unit tests of rule sets",
		Long: `Run unit tests of rule sets: series in Prometheus' own notation, and the
decision that is expected at some time. Exit code 1 if a test fails.`,
		Example: "  zeta-scaler test rules_test.yaml\n  zeta-scaler test --run waits --junit report.xml tests/*.yaml",
		Args:    cobra.MinimumNArgs(1),
	}
	out := addOutputFlag(cmd)
	run := cmd.Flags().String("run", "", "only tests whose name matches this regular expression")
	junit := cmd.Flags().String("junit", "", "write a JUnit report to this file")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o := ruletest.Options{Files: args}
		if *run != "" {
			re, err := regexp.Compile(*run)
			if err != nil {
				return usagef("--run: %w", err)
			}
			o.Run = re
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
		write := report.WriteText
		if *out == outputJSON {
			write = report.WriteJSON
		}
		if err := write(cmd.OutOrStdout()); err != nil {
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
