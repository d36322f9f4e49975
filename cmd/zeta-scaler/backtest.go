package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/backtest"
	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// The values of -o that only a backtest has.
const (
	outputLines outputFormat = "jsonl"
	outputCSV   outputFormat = "csv"
)

// backtestFlags are what the command was told.
type backtestFlags struct {
	config, url, folder, file string
	start, end, limits        string
	scopes                    []string
	every                     string
	html, checkpoint          string
}

func newBacktest() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backtest RULES [RULES]",
		Short: "Replay one or two rule sets over the past",
		Long: `Replay a rule set over the past: what would it have decided at every tick, for
every scope that was there? Give two, and they are compared. A rule set is the
name of an embedded one, or a file. The past comes from a Prometheus API, from
the TSDB folder of a Prometheus (which is only read, also while it runs), or
from an OpenMetrics file. The workers are those that there were, whatever the
rules would have done about them.`,
		Example: "  zeta-scaler backtest zeta-auto --prometheus.url http://localhost:9090 --start 30d --html report.html\n" +
			"  zeta-scaler backtest rules-1.yaml rules-2.yaml --tsdb /var/lib/prometheus -o csv --every tick > ticks.csv",
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: completePacks,
	}
	f := &backtestFlags{}
	flags := cmd.Flags()
	flags.StringVar(&f.url, "prometheus.url", "", "URL of a Prometheus-compatible API")
	flags.StringVar(&f.folder, "tsdb", "", "TSDB folder of a Prometheus")
	flags.StringVar(&f.file, "openmetrics", "", "OpenMetrics file with timestamps")
	flags.StringVar(&f.config, "config.file", "", "configuration of the service: its Prometheus, with credentials")
	flags.StringVar(&f.start, "start", "24h", "begin at this time, such as 2026-03-14T09:00:00Z, or so long before the end")
	flags.StringVar(&f.end, "end", "now", "end at this time, or so long ago; of a folder or file, now is its newest sample")
	flags.StringVar(&f.limits, "limits", "", "what scopes had to keep to: MIN..MAX workers, or a file of changes")
	flags.StringArrayVar(&f.scopes, "scope", nil, "report only this scope; can be repeated")
	flags.StringVar(&f.every, "every", "change", "for -o jsonl and csv: a line for every change or every tick")
	flags.StringVar(&f.html, "html", "", "write a report with plots to this file, one page that needs no network")
	flags.StringVar(&f.checkpoint, "checkpoint", "", "file to go on from after an interruption")
	out := addOutputFlag(cmd, outputLines, outputCSV)
	_ = cmd.RegisterFlagCompletionFunc("every", fixed("change", "tick"))
	_ = cmd.MarkFlagDirname("tsdb")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return noneEmpty(cmd.Flags()) }
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return f.run(cmd, args, out) }
	return cmd
}

func (f *backtestFlags) run(cmd *cobra.Command, args []string, out *output) (err error) {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	if f.every != "change" && f.every != "tick" {
		return usagef("--every is %q, expected change or tick", f.every)
	}
	o := backtest.Options{Now: time.Now(), Scopes: spelledKeys(f.scopes), Checkpoint: f.checkpoint, Plots: f.html != "", Period: f.start + " to " + f.end}
	for _, arg := range args {
		rs, err := packOrFile(arg)
		if err != nil {
			return err
		}
		o.RuleSets = append(o.RuleSets, rs)
	}
	place, err := f.place()
	if err != nil {
		return err
	}
	if o.Start, o.End, err = periodOf(f.start, f.end, o.Now); err != nil {
		return err
	}
	for _, flag := range []struct{ name, path string }{{"--html", f.html}, {"--checkpoint", f.checkpoint}} {
		if err := writable(flag.name, flag.path); err != nil {
			return err
		}
	}
	if f.limits != "" {
		if o.Limits, err = backtest.ReadLimits(f.limits); err != nil {
			return fmt.Errorf("--limits: %w", err)
		}
	}
	// How long before the newest sample the end lies is not known yet, so all
	// samples are opened.
	opened, err := place.Open(ctx, o.Now, slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	if !opened.Newest.IsZero() && opened.Newest.Before(o.Now) {
		if o.Start, o.End, err = periodOf(f.start, f.end, opened.Newest); err != nil {
			return err
		}
	}
	o.Source, o.SourceName = opened, opened.Name
	o.Lines = f.lines(cmd.OutOrStdout(), out.format, o.RuleSets)
	var hide func()
	o.Progress, hide = progressOn(stderr)
	report, err := backtest.Run(ctx, o)
	hide()
	if report == nil {
		return err
	}
	if f.html != "" {
		err = errors.Join(err, writeFile(f.html, report.WriteHTML))
	}
	if err := errors.Join(err, f.write(cmd, report, out)); err != nil {
		return err
	}
	return noneMissing(o.Scopes, report)
}

// nearScopes is how many scopes are named at most that may be meant.
const nearScopes = 3

// noneMissing refuses scopes that were asked for and are not in a report: a slip
// is no quiet past.
func noneMissing(keys []string, report *backtest.Report) error {
	for _, key := range keys {
		if !slices.ContainsFunc(report.Scopes, func(s *backtest.Scope) bool { return s.Scope.Key == key }) {
			return fmt.Errorf("there is no scope %q in the period; %s", scaling.ShownKey(key), otherScopes(key, report))
		}
	}
	return nil
}

// otherScopes says which scopes of the period may be meant.
func otherScopes(key string, report *backtest.Report) string {
	var names []string
	for _, s := range report.Scopes {
		names = append(names, s.Scope.Shown())
	}
	for _, other := range report.Others() {
		names = append(names, scaling.ShownKey(other))
	}
	near := document.Meant(scaling.ShownKey(key), names, nearScopes)
	if len(near) == 0 {
		return "without --scope every scope is reported"
	}
	for i := range near {
		near[i] = strconv.Quote(near[i])
	}
	return "did you mean " + document.OneOf(near) + "?"
}

// writable says before a long run, and not after it, that what it is to write has no
// folder, or is one.
func writable(flag, path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s %s: that is a folder, expected the name of a file", flag, path)
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return fmt.Errorf("%s %s: its folder: %w", flag, path, err)
	}
	return nil
}

// place is where the samples come from.
func (f *backtestFlags) place() (backtest.Place, error) {
	if given(f.url, f.folder, f.file, f.config) != 1 {
		return backtest.Place{}, usagef("give one of --prometheus.url, --tsdb, --openmetrics and --config.file")
	}
	if f.url != "" {
		return placeAt(f.url), nil
	}
	if f.config == "" {
		return backtest.Place{Folder: f.folder, File: f.file}, nil
	}
	cfg, err := readConfiguration(f.config)
	if err != nil {
		return backtest.Place{}, err
	}
	if cfg.Embedded != nil {
		return backtest.Place{Folder: cfg.Embedded.Path}, nil
	}
	remote := cfg.RemoteOptions()
	return backtest.Place{API: &remote}, nil
}

// given counts the flags that have a value.
func given(flags ...string) (n int) {
	for _, flag := range flags {
		if flag != "" {
			n++
		}
	}
	return n
}

// placeAt is a Prometheus API that needs no credentials.
func placeAt(url string) backtest.Place {
	return backtest.Place{API: &source.RemoteOptions{URLs: []string{url}, LookbackDelta: source.DefaultLookbackDelta}}
}

// periodOf reads --start and --end; what is said as a length lies before the end, or
// before now.
func periodOf(start, end string, now time.Time) (from, to time.Time, err error) {
	if to, err = instantOf(end, now); err != nil {
		return from, to, usagef("--end: %w", err)
	}
	if from, err = instantOf(start, to); err != nil {
		return from, to, usagef("--start: %w", err)
	}
	return from, to, nil
}

// instantOf reads a time, or how long it lies before another.
func instantOf(text string, before time.Time) (time.Time, error) {
	if text == "now" {
		return before, nil
	}
	if d, err := model.ParseDuration(text); err == nil {
		return before.Add(-time.Duration(d)), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is neither a time such as 2026-03-14T09:00:00Z or 2026-03-14 nor a length such as 12h or 30d", text)
}

// lines are what is written tick by tick, nil for the formats of whole reports.
func (f *backtestFlags) lines(w io.Writer, out outputFormat, sets []*rules.RuleSet) backtest.Lines {
	changes := f.every == "change"
	switch out {
	case outputLines:
		return backtest.JSONLines(w, changes)
	case outputCSV:
		_, err := os.Stat(f.checkpoint)
		return backtest.CSV(w, signalsOf(sets), changes, f.checkpoint == "" || err != nil)
	default:
		return nil
	}
}

// signalsOf are the names of all signals, each once.
func signalsOf(sets []*rules.RuleSet) []string {
	var names []string
	for _, rs := range sets {
		for i := range rs.Signals {
			if name := rs.Signals[i].Name; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// write writes the report as a whole. With lines on the standard output, what
// people have to know goes to the other one.
func (f *backtestFlags) write(cmd *cobra.Command, report *backtest.Report, out *output) error {
	if out.format == outputText || out.format == outputJSON {
		return out.write(cmd.OutOrStdout(), report, report.WriteText)
	}
	var b strings.Builder
	for _, n := range report.Notes {
		b.WriteString("note: " + plain(n) + "\n")
	}
	for _, x := range report.Failures {
		fmt.Fprintf(&b, "note: unknown at %s: %s: %s\n", scaling.Counted(x.Ticks, "tick"), plain(x.Expr), plain(x.Error))
	}
	_, err := io.WriteString(cmd.ErrOrStderr(), b.String())
	return err
}
