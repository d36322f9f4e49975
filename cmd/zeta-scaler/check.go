package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/app/kinds"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// checkTimeout bounds one question to the server that rules are checked with.
const checkTimeout = 30 * time.Second

func newCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "check",
		Short:   "Check configurations and rule sets",
		Example: "  zeta-scaler check config zeta-scaler.yml\n  zeta-scaler check rules rules/*.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCheckConfig(), newCheckRules())
	return cmd
}

// verdict is what a check says about one file.
type verdict struct {
	File        string                `json:"file"`
	OK          bool                  `json:"ok"`
	Summary     string                `json:"summary"`
	Diagnostics []document.Diagnostic `json:"diagnostics"`
}

// checker runs a check over files and prints the verdicts.
func checker(cmd *cobra.Command, check func(ctx context.Context, file string) verdict) {
	out := addOutputFlag(cmd)
	strict := cmd.Flags().Bool("strict", false, "count warnings as errors")
	cmd.Args = cobra.MinimumNArgs(1)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		bad := false
		verdicts := make([]verdict, 0, len(files))
		for _, f := range files {
			v := check(cmd.Context(), f)
			if *strict && hasWarnings(v.Diagnostics) {
				v.OK = false
			}
			bad = bad || !v.OK
			verdicts = append(verdicts, v)
		}
		if err := out.print(cmd.OutOrStdout(), verdicts, func(screen) string { return verdictsText(verdicts) }); err != nil {
			return err
		}
		if bad {
			return errReported
		}
		return nil
	}
}

func verdictsText(verdicts []verdict) string {
	var b strings.Builder
	for _, v := range verdicts {
		state := "ok"
		if !v.OK {
			state = "FAILED"
		}
		b.WriteString(plain(v.File) + ": " + state)
		if v.Summary != "" {
			b.WriteString(": " + document.Printable(v.Summary, "\n\t"))
		}
		b.WriteString("\n" + document.Render(v.Diagnostics))
	}
	return b.String()
}

func hasWarnings(ds []document.Diagnostic) bool {
	for _, d := range ds {
		if d.Severity == document.SeverityWarning {
			return true
		}
	}
	return false
}

// failed turns an error of a loader into a verdict.
func failed(file string, err error) verdict {
	v := verdict{File: file, Diagnostics: []document.Diagnostic{}}
	if list, ok := errors.AsType[*document.ErrorList](err); ok {
		v.Diagnostics = list.Diagnostics
		v.Summary = scaling.Counted(len(list.Diagnostics), "problem")
		return v
	}
	v.Summary = err.Error()
	return v
}

func newCheckConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use: "config FILE...", Short: "Check configuration files with the rule sets that they name",
		Example: "  zeta-scaler check config zeta-scaler.yml",
	}
	checker(cmd, func(_ context.Context, file string) verdict {
		c, err := config.Load(config.Options{Kinds: kinds.All(), File: file, FileRequired: true, Env: os.Environ(), Local: true})
		if err != nil {
			return failed(file, err)
		}
		return verdict{
			File: file, OK: true, Diagnostics: append([]document.Diagnostic{}, c.Warnings...),
			Summary: contents(c) + changesOf(c),
		}
	})
	return cmd
}

// contents says how much there is in a configuration.
func contents(c *config.Config) string {
	return strings.Join([]string{
		scaling.Counted(len(c.Rules), "rule set"), scaling.Counted(len(c.Scopes), "listed scope"), scaling.Counted(len(c.Clusters), "cluster"),
	}, ", ")
}

// changesOf says what a configuration changes of packs.
func changesOf(c *config.Config) string {
	var b strings.Builder
	for _, rs := range c.Rules {
		if len(rs.Set) > 0 {
			fmt.Fprintf(&b, "; %s %s %s: %s", rs.Name, rs.Version, rs.Digest, strings.Join(rs.Set, ", "))
		}
	}
	return b.String()
}

func newCheckRules() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rules FILE...", Short: "Check rule sets",
		Long: `Check rule sets: everything that is wrong in a file at once, with its place, and
what is worth a look (docs/lints.md). With --prometheus.url the server is asked,
too: does every selector match a series now, how many samples per scope does
each expression give, how long does it take, and is the retention long enough.`,
		Example: "  zeta-scaler check rules --strict rules/*.yaml\n  zeta-scaler check rules --prometheus.url http://localhost:9090 rules.yaml",
	}
	url := cmd.Flags().String("prometheus.url", "", "ask this server about the expressions")
	var q *serverQuerier
	cmd.PreRunE = func(*cobra.Command, []string) (err error) {
		if *url == "" {
			return nil
		}
		if q, err = newServerQuerier(*url); err != nil {
			return usagef("--prometheus.url: %w", err)
		}
		return nil
	}
	checker(cmd, func(ctx context.Context, file string) verdict {
		rs, err := rules.ParseFile(file)
		if err != nil {
			return failed(file, notOfPack(file, err))
		}
		v := verdict{
			File: file, OK: true, Diagnostics: append([]document.Diagnostic{}, rs.Warnings...),
			Summary: fmt.Sprintf("%s %s, %s, %s", rs.Name, rs.Version, scaling.Counted(len(rs.Signals), "signal"), rs.Digest),
		}
		if q == nil {
			return v
		}
		v.Diagnostics = append(v.Diagnostics, rules.CheckServer(ctx, rs, q, rules.ServerOptions{})...)
		for _, d := range v.Diagnostics {
			v.OK = v.OK && d.Severity != document.SeverityError
		}
		return v
	})
	return cmd
}

// serverQuerier asks a Prometheus about a rule set.
type serverQuerier struct {
	remote *source.Remote
	api    promv1.API
}

func newServerQuerier(url string) (*serverQuerier, error) {
	remote, err := source.NewRemote(source.RemoteOptions{URLs: []string{url}, Timeout: checkTimeout})
	if err != nil {
		return nil, err
	}
	client, err := api.NewClient(api.Config{Address: url})
	if err != nil {
		return nil, err
	}
	return &serverQuerier{remote: remote, api: promv1.NewAPI(client)}, nil
}

func (q *serverQuerier) Instant(ctx context.Context, expr string, at time.Time) (rules.Answer, error) {
	v, err := q.remote.Instant(ctx, expr, at)
	if err != nil {
		return rules.Answer{}, err
	}
	a := rules.Answer{Warnings: v.Warnings, Samples: make([]labels.Labels, len(v.Samples))}
	for i := range v.Samples {
		a.Samples[i] = v.Samples[i].Labels
	}
	return a, nil
}

func (q *serverQuerier) Retention(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	info, err := q.api.Runtimeinfo(ctx)
	if err != nil {
		return "", err
	}
	return info.StorageRetention, nil
}
