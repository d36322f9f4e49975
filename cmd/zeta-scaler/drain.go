package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// drainFlags are what zeta-scaler drain is told beside whom it is about.
type drainFlags struct {
	dryRun, cancel, wait bool
	reason               string
	out                  *output
}

func newDrain() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drain [SCOPE [WORKER]]",
		Short: "Empty a worker and remove it, say what that would do, or list drains",
		Long: `Empty a worker and have the platform remove it: jobs in batch mode are waited for,
jobs in streaming mode are stopped with a savepoint and restored elsewhere.
Without WORKER it is the one that the platform would remove; without SCOPE, drains
are listed. The configuration has to list the scope with a drain; its mode does
not matter. --dry-run says what would happen to each job and changes nothing, and
exits with 1 if something is in the way. --wait shows each step until the drain is
over, and exits with 1 if the worker stays.
All but the list needs a credential: see --token-file.`,
		Example: "  zeta-scaler drain\n  zeta-scaler drain prod --dry-run\n  zeta-scaler drain prod worker-2 --reason upgrade --wait\n  zeta-scaler drain prod --cancel --reason later",
		Args:    cobra.MaximumNArgs(2),
	}
	f := &drainFlags{out: addOutputFlag(cmd)}
	flags := addClientFlags(cmd)
	cmd.ValidArgsFunction = flags.completeScopes
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would happen, and change nothing")
	cmd.Flags().BoolVar(&f.cancel, "cancel", false, "have the open drain of SCOPE go back")
	cmd.Flags().BoolVar(&f.wait, "wait", false, "show each step until the drain is over")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for those who wonder; required unless it is a dry run")
	limited := addLimitFlag(cmd, "drains that are over")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		client, err := flags.client()
		if err != nil {
			return err
		}
		if f.dryRun && (f.cancel || f.wait) {
			return usagef("a dry run changes nothing: --cancel and --wait make no sense with it")
		}
		if len(args) == 0 {
			limit, err := limited()
			if err != nil {
				return err
			}
			return f.list(cmd, client, limit)
		}
		for i, word := range args {
			if word == "" {
				return usagef("%s is empty", []string{"SCOPE", "WORKER"}[i])
			}
		}
		return f.one(cmd, client, args[0], strings.Join(args[1:], ""))
	}
	return cmd
}

func (f *drainFlags) list(cmd *cobra.Command, client *api.Client, limit int) error {
	if f.dryRun || f.cancel || f.wait || f.reason != "" {
		return usagef("SCOPE is missing")
	}
	page, err := client.Drains(cmd.Context(), "", limit)
	if err != nil {
		return err
	}
	return f.out.print(cmd.OutOrStdout(), page, func(s screen) string { return drainsText(page, s) })
}

// one is about one scope.
func (f *drainFlags) one(cmd *cobra.Command, client *api.Client, scope, worker string) error {
	var named api.Optional[string]
	if worker != "" {
		named = api.Some(worker)
	}
	if f.dryRun {
		plan, err := client.PlanDrain(cmd.Context(), api.DrainPlanRequest{Scope: scope, Worker: named})
		if err != nil {
			return err
		}
		if err := f.out.print(cmd.OutOrStdout(), plan, func(s screen) string { return planText(&plan, s) }); err != nil || plan.Against == "" {
			return err
		}
		return errReported
	}
	if strings.TrimSpace(f.reason) == "" {
		return usagef("--reason is missing: say why")
	}
	var d api.Drain
	var err error
	switch {
	case !f.cancel:
		d, err = client.Drain(cmd.Context(), api.DrainRequest{Scope: scope, Worker: named, Reason: f.reason})
	case worker != "":
		return usagef("a cancel takes no WORKER: a scope has one drain at a time")
	default:
		d, err = client.CancelDrain(cmd.Context(), api.DrainCancelRequest{Scope: scope, Reason: f.reason})
	}
	if err != nil {
		return err
	}
	if f.wait {
		return f.follow(cmd, client, d)
	}
	return f.out.print(cmd.OutOrStdout(), d, func(screen) string { return drainText(&d) })
}

// drainEvery is how often a drain that is waited for is looked at.
const drainEvery = 2 * time.Second

// follow shows the steps of a drain until it is over.
func (f *drainFlags) follow(cmd *cobra.Command, client *api.Client, d api.Drain) error {
	ticker := time.NewTicker(drainEvery)
	defer ticker.Stop()
	shown, last := 0, ""
	for {
		if f.out.format == outputText {
			for ; shown < len(d.Transitions); shown++ {
				last = ""
				t := &d.Transitions[shown]
				fmt.Fprintf(cmd.OutOrStdout(), "%s  %-15s  %s\n", t.At.Format(time.RFC3339), t.State, plain(t.Reason))
			}
			if d.Error != "" && d.Error != last && d.State == scaling.DrainPending {
				fmt.Fprintf(cmd.OutOrStdout(), "waits: %s\n", plain(d.Error))
				last = d.Error
			}
		}
		if d.State.Over() {
			break
		}
		select {
		case <-cmd.Context().Done():
			return cmd.Context().Err()
		case <-ticker.C:
		}
		var err error
		if d, err = findDrain(cmd.Context(), client, d); err != nil {
			return err
		}
	}
	if err := f.out.print(cmd.OutOrStdout(), d, func(screen) string { return drainText(&d) }); err != nil || d.State == scaling.DrainDecommissioned {
		return err
	}
	return errReported
}

// findDrain is a drain as it is now.
func findDrain(ctx context.Context, client *api.Client, d api.Drain) (api.Drain, error) {
	page, err := client.Drains(ctx, d.Scope, maxEntries)
	if err != nil {
		return d, err
	}
	for _, now := range page.Drains {
		if now.ID == d.ID {
			return now, nil
		}
	}
	return d, fmt.Errorf("the service knows drain %s no longer", plain(d.ID))
}

// drainText says how a drain stands, with its jobs.
func drainText(d *api.Drain) string {
	worker := cmp.Or(plain(d.Worker), "not chosen yet")
	var b strings.Builder
	fmt.Fprintf(&b, "Drain %s of scope %s is %s; worker: %s.\n", plain(d.ID), plain(scaling.ShownKey(d.Scope)), d.State, worker)
	if why := cmp.Or(d.GivenUp, d.Error); why != "" {
		b.WriteString(plain(why) + "\n")
	}
	for i := range d.Jobs {
		j := &d.Jobs[i]
		fmt.Fprintf(&b, "  job %s (%s): %s%s\n", plain(j.Name), plain(j.ID), j.Step, downtimeText(j))
	}
	return b.String()
}

func downtimeText(j *scaling.DrainJob) string {
	text := ""
	if d := j.Downtime(); d > 0 {
		text = fmt.Sprintf(", did not run for %.1f s", d.Seconds())
	}
	if j.Error != "" {
		text += ": " + plain(j.Error)
	}
	return text
}

func drainsText(page api.DrainsPage, s screen) string {
	if len(page.Drains) == 0 {
		return "No worker was drained.\n"
	}
	t := textTable{header: []string{"SINCE", "SCOPE", "WORKER", "STATE", "JOBS", "DRAIN", "WHY"}}
	for i := range page.Drains {
		d := &page.Drains[i]
		var last scaling.DrainTransition
		if n := len(d.Transitions); n > 0 {
			last = d.Transitions[n-1]
		}
		t.add(last.At.Format(time.RFC3339), scaling.ShownKey(d.Scope), cmp.Or(d.Worker, "-"), string(d.State), fmt.Sprint(len(d.Jobs)), d.ID,
			cmp.Or(d.GivenUp, d.Error, last.Reason))
	}
	return t.text(s)
}

// planText says what a drain would do.
func planText(p *api.DrainPlan, s screen) string {
	var b strings.Builder
	if p.Worker == "" {
		fmt.Fprintf(&b, "Scope %s: no worker can be chosen.\n", plain(scaling.ShownKey(p.Scope)))
	} else {
		fmt.Fprintf(&b, "Worker %s of scope %s would be emptied and removed by %s. %s\n", plain(p.Worker), plain(scaling.ShownKey(p.Scope)), p.Actuator, slotsText(p))
	}
	t := textTable{header: []string{"JOB", "ID", "MODE", "WHAT WOULD HAPPEN"}}
	for i := range p.Jobs {
		j := &p.Jobs[i]
		t.add(j.Name, j.ID, strings.ToLower(j.Mode), fateText(j, p.Hold))
	}
	if len(t.rows) > 0 {
		b.WriteString(t.text(s))
	}
	if p.Against != "" {
		fmt.Fprintf(&b, "In its way: %s\n", plain(p.Against))
	} else {
		b.WriteString("Nothing is in its way.\n")
	}
	return b.String()
}

func slotsText(p *api.DrainPlan) string {
	if p.Slots == 0 {
		return "How many slots it has is not known."
	}
	text := fmt.Sprintf("%d of its %s %s in use", p.Used, scaling.Counted(p.Slots, "slot"), scaling.Plural(p.Used, "is", "are"))
	if p.Hold {
		return text + "; they would be held meanwhile."
	}
	return text + "."
}

func fateText(j *scaling.PlannedJob, hold bool) string {
	switch j.Fate {
	case scaling.FateWait:
		return "waited for"
	case scaling.FateMove:
		if hold {
			return "stopped with a savepoint, restored elsewhere before the worker goes: a small job does not run for 1 s to 4 s"
		}
		return "stopped with a savepoint, restored elsewhere after the worker is gone: it does not run until then"
	}
	return "cannot be moved: " + j.Error
}
