package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/simulate"
	"github.com/zeta-scaler/zeta-scaler/simulate/peers"
	"github.com/zeta-scaler/zeta-scaler/simulate/workload"
)

// simulateFlags are what the command was told.
type simulateFlags struct {
	packs, files, workloads []string
	peers                   []string
	static                  []int
	noBound                 bool
	min, max, slots         int
	slotMode, strategy      string
	boot                    string
	loss, garbage           float64
	duration, cooldown      string
	html                    string
	past                    *historyFlags
	scrape, flap            string
	o                       simulate.Options
}

func newSimulate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Play a workload on a simulated cluster under rule sets and other controllers",
		Long: `Play a workload on a simulated cluster: how long would jobs have waited, and how
many worker-hours would that have cost? The rule sets act by the real exporter,
PromQL, evaluator and executor, on virtual time. Beside them stand clusters that
nobody scales, models of other controllers, and a bound that knows the future.

A workload is one of those that are built in, all, a file of jobs, or the own past
of a cluster: what Zeta remembers of its jobs, or Prometheus. Workloads:
` + wrapped(workloadNames()) + "\nModels:\n" + wrapped(peerNames()),
		Example: "  zeta-scaler simulate --workload diurnal --peers all\n" +
			"  zeta-scaler simulate --rules.pack zeta-auto --rules.file mine.yaml --workload jobs.csv --max-workers 20 --static 8",
		Args: cobra.NoArgs,
	}
	f := &simulateFlags{}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.packs, "rules.pack", nil, "embedded rule set to play under; can be repeated (default zeta-auto, without --rules.file)")
	flags.StringArrayVar(&f.files, "rules.file", nil, "rule set file to play under; can be repeated")
	flags.StringArrayVar(&f.workloads, "workload", []string{"diurnal"}, "name of a built-in workload, all, or a file of jobs (CSV or JSON lines); can be repeated")
	flags.StringSliceVar(&f.peers, "peers", nil, "models of other controllers to compare with: all, or names")
	flags.IntSliceVar(&f.static, "static", nil, "sizes of clusters that nobody scales, to compare with")
	flags.BoolVar(&f.noBound, "no-bound", false, "leave out the bound that knows the future")
	flags.IntVar(&f.min, "min-workers", 0, "fewest workers (default: the workload's)")
	flags.IntVar(&f.max, "max-workers", 0, "most workers (default: the workload's)")
	flags.IntVar(&f.slots, "slots-per-worker", 0, "slots of a worker (default: the workload's)")
	flags.StringVar(&f.slotMode, "slot-mode", "", "fixed or dynamic (default: the workload's)")
	flags.StringVar(&f.strategy, "strategy", "", "of a job that finds no slots: wait or reject (default: the workload's)")
	flags.StringVar(&f.boot, "boot", "", "how long a worker takes to register, such as 60s or 30s..180s (default: the workload's)")
	flags.Float64Var(&f.loss, "scrape-loss", 0, "part of the scrapes that get no answer, such as 0.01 (default: the workload's)")
	flags.Float64Var(&f.garbage, "heap-garbage", 0, "how far garbage raises the heap between two collections, such as 0.5 (default: the workload's)")
	flags.StringVar(&f.duration, "duration", "", "play only jobs that come within this time, such as 6h (default: the whole workload)")
	flags.StringVar(&f.scrape, "scrape-interval", simulate.DefaultScrapeInterval.String(), "how often the cluster is scraped")
	flags.StringVar(&f.cooldown, "cooldown", "", "pause after a scale-out or a drain (default: that of the service)")
	flags.StringVar(&f.flap, "flap-within", simulate.DefaultFlapWithin.String(), "a step that is undone within this time is a flap")
	flags.BoolVar(&f.o.Drain, "drain", false, "workers are drained as by the service, one at a time; without it idle ones end when they are too many")
	flags.BoolVar(&f.o.KillBusy, "kill-busy", false, "models end the youngest workers whatever runs there, as their platforms do; without it idle ones only")
	flags.Uint64Var(&f.o.Seed, "seed", simulate.DefaultSeed, "chance of the workload and of the cluster; the same seed gives the same report")
	f.past = addHistoryFlags(flags)
	flags.StringVar(&f.html, "html", "", "write a report with plots to this file, one page that needs no network")
	out := addOutputFlag(cmd)
	fixedWords := func(flag string, words ...string) { _ = cmd.RegisterFlagCompletionFunc(flag, fixed(words...)) }
	fixedWords("slot-mode", "fixed", "dynamic")
	fixedWords("strategy", "wait", "reject")
	fixedWords("rules.pack", rules.Packs()...)
	fixedWords("peers", append([]string{"all"}, peerNames()...)...)
	_ = cmd.RegisterFlagCompletionFunc("workload", cobra.FixedCompletions(append([]string{"all"}, workloadNames()...), cobra.ShellCompDirectiveDefault))
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return noneEmpty(cmd.Flags()) }
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return f.run(cmd, out) }
	return cmd
}

func workloadNames() (names []string) {
	for _, b := range workload.Builtins() {
		names = append(names, b.Name)
	}
	return names
}

func peerNames() (names []string) {
	for _, p := range peers.All() {
		names = append(names, p.Name)
	}
	return names
}

// wrapped is a list in lines of a help text.
func wrapped(words []string) string {
	return "  " + strings.Join(wrap(strings.Join(words, ", "), 76), "\n  ")
}

// gcPercent is for a program that makes much that is soon forgotten, and keeps
// little.
const gcPercent = 400

func (f *simulateFlags) run(cmd *cobra.Command, out *output) error {
	own, notes, err := f.past.load(cmd.Context())
	if err != nil {
		return err
	}
	if own != nil {
		f.o.Workloads = append(f.o.Workloads, own)
		if !cmd.Flags().Changed("workload") {
			f.workloads = nil
		}
	}
	if err := f.options(cmd.Flags()); err != nil {
		return err
	}
	if err := writable("--html", f.html); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	}
	var hide func()
	f.o.Progress, hide = progressOn(cmd.ErrOrStderr())
	report, err := simulate.Run(cmd.Context(), f.o)
	hide()
	if report == nil {
		return err
	}
	for i := range notes {
		notes[i] = own.Name + ": " + notes[i]
	}
	report.Notes = append(notes, report.Notes...)
	if f.html != "" {
		err = errors.Join(err, writeFile(f.html, report.WriteHTML))
	}
	return errors.Join(err, out.write(cmd.OutOrStdout(), report, report.WriteText))
}

// options reads what the flags say.
func (f *simulateFlags) options(flags *pflag.FlagSet) error {
	f.o.Bound, f.o.Static, f.o.Details = !f.noBound, f.static, f.html != ""
	var err error
	for _, l := range []struct {
		flag, text string
		into       *time.Duration
	}{{"scrape-interval", f.scrape, &f.o.ScrapeInterval}, {"flap-within", f.flap, &f.o.FlapWithin}} {
		if *l.into, err = lengthOf(l.flag, l.text); err != nil {
			return err
		}
		if *l.into == 0 { // which would be the default
			return usagef("--%s is %q, expected more than 0", l.flag, l.text)
		}
	}
	if f.cooldown != "" {
		d, err := lengthOf("cooldown", f.cooldown)
		if err != nil {
			return err
		}
		f.o.Cooldown = &d
	}
	if err := f.ruleSets(); err != nil {
		return err
	}
	if err := f.models(); err != nil {
		return err
	}
	if err := f.load(flags); err != nil {
		return err
	}
	return f.onlyOnce()
}

// onlyOnce refuses what is named a second time: it would play the same again.
func (f *simulateFlags) onlyOnce() error {
	for _, w := range f.o.Workloads {
		if slices.ContainsFunc(f.o.Workloads, func(other *workload.Workload) bool { return other != w && other.Name == w.Name }) {
			return usagef("--workload: %s is given twice", w.Name)
		}
	}
	seen := map[string]bool{}
	for _, p := range f.o.Peers {
		if seen[p.Name] {
			return usagef("--peers: %s is given twice", p.Name)
		}
		seen[p.Name] = true
	}
	for _, n := range f.o.Static {
		if name := strconv.Itoa(n); seen[name] {
			return usagef("--static: %s is given twice", name)
		}
		seen[strconv.Itoa(n)] = true
	}
	return nil
}

// lengthOf reads a flag's length of time, such as 90s or 1d.
func lengthOf(flag, text string) (time.Duration, error) {
	d, err := model.ParseDuration(text)
	if err != nil {
		return 0, usagef("--%s is %q, expected a length of time such as 15s or 6h", flag, text)
	}
	return time.Duration(d), nil
}

func (f *simulateFlags) ruleSets() error {
	if len(f.packs)+len(f.files) == 0 {
		f.packs = []string{"zeta-auto"}
	}
	for _, name := range f.packs {
		rs, _, err := rules.Pack(name)
		if err != nil {
			return usagef("--rules.pack: %w", err)
		}
		f.o.RuleSets = append(f.o.RuleSets, rs)
	}
	for _, name := range f.files {
		rs, err := rules.ParseFile(name)
		if err != nil {
			return err
		}
		f.o.RuleSets = append(f.o.RuleSets, rs)
	}
	return nil
}

func (f *simulateFlags) models() error {
	all := peers.All()
	for _, name := range f.peers {
		if name == "all" {
			f.o.Peers = all
			return nil
		}
		i := slices.IndexFunc(all, func(p simulate.Peer) bool { return p.Name == name })
		if i < 0 {
			return usagef("--peers: there is no model %q, expected all, or some of %s", name, strings.Join(peerNames(), ", "))
		}
		f.o.Peers = append(f.o.Peers, all[i])
	}
	return nil
}

// load makes the workloads, with what the flags say of their clusters.
func (f *simulateFlags) load(flags *pflag.FlagSet) error {
	for _, name := range f.workloads {
		if name == "all" {
			for _, b := range workload.Builtins() {
				f.o.Workloads = append(f.o.Workloads, b.New(f.o.Seed))
			}
			continue
		}
		w, err := f.workload(name)
		if err != nil {
			return err
		}
		f.o.Workloads = append(f.o.Workloads, w)
	}
	for _, w := range f.o.Workloads {
		if err := f.conditions(flags, w); err != nil {
			return err
		}
	}
	return nil
}

func (f *simulateFlags) workload(name string) (*workload.Workload, error) {
	if b, found := workload.Find(name); found {
		return b.New(f.o.Seed), nil
	}
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, "./\\") {
		return nil, usagef("--workload: there is no workload %q and no such file, expected all, a file, or one of %s", name, strings.Join(workloadNames(), ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("--workload: %w", err)
	}
	defer file.Close()
	return workload.Read(file, name)
}

// conditions lays the flags that were given over a workload's own.
func (f *simulateFlags) conditions(flags *pflag.FlagSet, w *workload.Workload) error {
	c := &w.Conditions
	given := flags.Changed
	if given("min-workers") {
		c.MinWorkers = f.min
	}
	if given("max-workers") {
		c.MaxWorkers = f.max
	}
	if given("slots-per-worker") {
		c.SlotsPerWorker = f.slots
	}
	if given("scrape-loss") {
		c.ScrapeLoss = f.loss
	}
	if given("heap-garbage") {
		c.HeapGarbage = f.garbage
	}
	if given("strategy") {
		c.Strategy = workload.Strategy(f.strategy)
	}
	switch f.slotMode {
	case "":
	case "fixed", "dynamic":
		c.DynamicSlots = f.slotMode == "dynamic"
	default:
		return usagef("--slot-mode is %q, expected fixed or dynamic", f.slotMode)
	}
	if f.boot != "" {
		low, high, ranged := strings.Cut(f.boot, "..")
		if !ranged {
			high = low
		}
		var err error
		if c.BootMin, err = lengthOf("boot", low); err != nil {
			return err
		}
		if c.BootMax, err = lengthOf("boot", high); err != nil {
			return err
		}
	}
	if f.duration != "" {
		d, err := lengthOf("duration", f.duration)
		if err != nil {
			return err
		}
		if d <= 0 {
			return usagef("--duration is %s, expected more than 0", strconv.Quote(f.duration))
		}
		w.Length = min(w.Length, d)
		w.Jobs = slices.DeleteFunc(w.Jobs, func(j workload.Job) bool { return j.At >= w.Length })
	}
	if err := w.Check(); err != nil {
		return usageError{err}
	}
	return nil
}
