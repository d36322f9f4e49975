// Command quality plays every built-in workload under the shipped rule sets and
// under the models of other controllers, and prints the tables of
// docs/choosing-a-pack.md: what each made of them, and on how many workloads a rule
// set has both less waiting and fewer worker-hours than another controller.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/simulate"
	"github.com/zeta-scaler/zeta-scaler/simulate/peers"
	"github.com/zeta-scaler/zeta-scaler/simulate/workload"
)

// defaultPacks are those for any Zeta, each with the cooldown that its documentation
// says.
const defaultPacks = "zeta-auto,zeta-ample@1m,zeta-responsive@1m,zeta-thrifty@0s"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "quality:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	packs := flag.String("packs", defaultPacks, "rule sets to play under, packs or files, with the cooldown of their scope")
	workloads := flag.String("workloads", "all", "built-in workloads to play")
	seed := flag.Uint64("seed", simulate.DefaultSeed, "chance of the workloads and of the cluster")
	scrape := flag.Duration("scrape-interval", simulate.DefaultScrapeInterval, "how often the cluster is scraped")
	alone := flag.Bool("alone", false, "rule sets only, no other controllers")
	html := flag.String("html", "", "write the report with plots to this file")
	out := flag.String("save", "", "write the report as JSON to this file")
	with := flag.String("with", "", "outcomes of an earlier run, saved as JSON: only rule sets are played anew")
	flag.Parse()

	o := simulate.Options{Seed: *seed, ScrapeInterval: *scrape, Details: *html != ""}
	var err error
	if o.Workloads, err = built(*workloads, *seed); err != nil {
		return err
	}
	var report *simulate.Report
	if *with != "" {
		if report, err = load(*with); err != nil {
			return err
		}
	}
	began := time.Now()
	add := func(o simulate.Options) error {
		played, err := simulate.Run(ctx, o)
		if played == nil || report == nil {
			report = played
			return err
		}
		return errors.Join(err, join(report, played))
	}
	if !*alone && *with == "" {
		others := o
		others.Bound, others.Peers = true, peers.All()
		if err := add(others); err != nil {
			return err
		}
	}
	for name := range strings.SplitSeq(*packs, ",") {
		if name == "" {
			continue // other controllers only
		}
		ours := o
		if ours.RuleSets, ours.Cooldown, err = ruleSet(name); err != nil {
			return err
		}
		if err = add(ours); err != nil {
			break // what was played is shown
		}
	}
	if report == nil {
		return errors.Join(err, errors.New("nothing was played"))
	}
	fmt.Fprintf(os.Stderr, "played in %s\n", time.Since(began).Round(time.Second))
	err = errors.Join(err, report.WriteText(os.Stdout))
	write(os.Stdout, report)
	if *out != "" {
		err = errors.Join(err, save(*out, func(w io.Writer) error { return json.NewEncoder(w).Encode(report) }))
	}
	if *html != "" {
		err = errors.Join(err, save(*html, report.WriteHTML))
	}
	return err
}

func save(name string, write func(io.Writer) error) error {
	file, err := os.Create(name) //nolint:gosec // the user's own file
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// ruleSet reads a pack or a file, with the cooldown after an @.
func ruleSet(text string) ([]*rules.RuleSet, *time.Duration, error) {
	name, pause, paused := strings.Cut(text, "@")
	var cooldown *time.Duration
	if paused {
		d, err := time.ParseDuration(pause)
		if err != nil {
			return nil, nil, fmt.Errorf("the cooldown of %s: %w", name, err)
		}
		cooldown = &d
	}
	rs, _, err := rules.Pack(name)
	if strings.ContainsAny(name, "./") {
		rs, err = rules.ParseFile(name)
	}
	if err != nil {
		return nil, nil, err
	}
	return []*rules.RuleSet{rs}, cooldown, nil
}

func built(names string, seed uint64) ([]*workload.Workload, error) {
	var out []*workload.Workload
	for _, b := range workload.Builtins() {
		if names == "all" || strings.Contains(","+names+",", ","+b.Name+",") {
			out = append(out, b.New(seed))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no workload of %q is built in", names)
	}
	return out, nil
}
