package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// noScopes is for a service that has nothing to decide about.
const noScopes = `No scopes yet. One appears when the rule set's workers.current has a sample for
it, or is listed in the configuration: see the service's log for failing
queries, and whether its Prometheus has the metrics of zeta-scaler exporter.`

// watchEvery is how often --watch asks.
const watchEvery = 2 * time.Second

func newStatus() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the newest recommendation of every scope",
		Long: `Show the newest recommendation of every scope. With --watch, ask every two
seconds until interrupted: a terminal is redrawn, anything else gets a new
status whenever it has changed.`,
		Example: "  zeta-scaler status\n  zeta-scaler status --scope prod -o json\n  zeta-scaler status --watch",
		Args:    noArgs("scope"),
	}
	out := addOutputFlag(cmd)
	flags := addClientFlags(cmd)
	scope := flags.addScopeFlag(cmd)
	watching := cmd.Flags().Bool("watch", false, "go on showing it until interrupted")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		client, err := flags.client()
		if err != nil {
			return err
		}
		w := watch{out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr(), screen: screenOf(cmd.OutOrStdout())}
		w.ask = func(ctx context.Context) (string, error) {
			status, err := client.Status(ctx, *scope)
			if err != nil {
				return "", err
			}
			var b strings.Builder
			err = out.write(&b, status, func(to io.Writer) error {
				_, err := io.WriteString(to, statusText(&status, w.screen))
				return err
			})
			return b.String(), err
		}
		if *watching {
			return w.run(cmd.Context())
		}
		text, err := w.ask(cmd.Context())
		if err != nil {
			return err
		}
		_, err = io.WriteString(w.out, text)
		return err
	}
	return cmd
}

// statusText is the whole text for one status.
func statusText(status *api.Status, s screen) string {
	return troubles(status) + scopesText(status, s) + contactsText(status, s)
}

// troubles are what has to be known first, a paragraph of lines.
func troubles(status *api.Status) string {
	h := status.Health()
	var b strings.Builder
	lines := h.Troubles()
	if status.LeaderError != "" {
		lines = append([]string{status.LeaderError}, lines...)
	}
	for _, line := range lines {
		b.WriteString("! " + plain(line) + "\n")
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

func scopesText(status *api.Status, s screen) string {
	if !status.Leader && status.LeaderName != "" {
		follower := *status
		follower.LeaderName = ""
		return "This replica does not lead; " + plain(status.LeaderName) + " decides.\n" + scopesText(&follower, s)
	}
	if status.LeaderError != "" || !status.Leader && len(status.Scopes) == 0 {
		return "No scopes are shown: only the leader knows them.\n"
	}
	if len(status.Scopes) == 0 {
		if status.NextTick != nil {
			return noScopes + "\nThe next evaluation is due at " + status.NextTick.Format(time.RFC3339) + ".\n"
		}
		return noScopes + "\n"
	}
	t := textTable{header: []string{"SCOPE", "WORKERS", "ACTION", "ROW", "INTENT SINCE", "MODE", "UNDER WAY", "REASON"}}
	for i := range status.Scopes {
		st := &status.Scopes[i]
		r := &st.Recommendation
		t.add(scaling.ShownKey(st.Scope), workers(r), string(r.Action), string(r.Row), r.Since.Format(time.RFC3339), string(st.Mode), underWay(st), reasonOf(st))
	}
	return t.text(s) + needsText(status.Scopes)
}

// underWay is what is being done about a scope, or keeps anybody from it.
func underWay(st *api.ScopeStatus) string {
	x, d := st.Action, st.Drain
	switch {
	case st.Paused:
		return "paused"
	case st.Failure != nil:
		return fmt.Sprintf("%s → %d", st.Failure.State, st.Failure.Target)
	case x != nil && !x.State.Final():
		return fmt.Sprintf("%s → %d", x.State, x.Target)
	case drainFailed(st):
		return "drain failed: " + d.Worker
	case d != nil && !d.State.Over():
		return strings.TrimSuffix(fmt.Sprintf("drain %s: %s", d.State, d.Worker), ": ")
	default:
		return "-"
	}
}

// reasonOf is the sentence of a decision, with the end of what holds it back.
func reasonOf(st *api.ScopeStatus) string {
	text := st.Recommendation.Reason
	for _, c := range st.Recommendation.BlockingConditions {
		if c.Until == nil {
			continue
		}
		end := c.Name + " until " + c.Until.Format(time.RFC3339)
		if at := strings.LastIndex(text, c.Name); at >= 0 {
			text = text[:at] + end + text[at+len(c.Name):]
		} else {
			text += ", " + end
		}
	}
	return text
}

// needsText says below the table what a person has to know of pauses and
// failures.
func needsText(scopes []api.ScopeStatus) string {
	var b strings.Builder
	say := func(format string, args ...any) { b.WriteString(plain(fmt.Sprintf(format, args...)) + "\n") }
	for i := range scopes {
		st := &scopes[i]
		scope := scaling.ShownKey(st.Scope)
		for _, p := range st.Pauses {
			say("%s: paused%s since %s%s, %s%s", scope, when(p.Whole, " with the whole service"), p.Since.Format(time.RFC3339),
				prefixed(" by ", p.By), untilText(p.Until), prefixed(": ", p.Reason))
		}
		if o := st.Unpaused; o != nil && st.Paused {
			r := st.Recommendation
			r.RecommendedWorkers = o.RecommendedWorkers
			say("%s: without the pause %s, workers %s: %s", scope, o.Action, workers(&r), o.Reason)
		}
		for i := range st.TimedBounds {
			say("%s: %s", scope, st.TimedBounds[i].String())
		}
		for _, c := range st.Conflicts {
			say("%s: does not count: %s", st.Scope, c)
		}
		if n := st.Next; n != nil {
			r := st.Recommendation
			r.RecommendedWorkers = n.RecommendedWorkers
			say("%s: if nothing changes %s, workers %s, at %s", scope, n.Action, workers(&r), n.At.Format(time.RFC3339))
		}
		if h := st.FirstInQueue; h != nil {
			say("%s: first in the queue: %s", st.Scope, h)
		}
		if f := st.Failure; f != nil {
			say("%s: an action to bring %s by %s has failed at %s: %s", scope, scaling.Counted(f.Target, "worker"), f.Actuator, f.At.Format(time.RFC3339), f.Error)
			say("%s: %s%s", scope, f.Next, nextAttempt(f.RetryAt))
		}
		if d := st.Drain; drainFailed(st) {
			say("%s: the drain of %s has failed at %s: %s", scope, cmp.Or(d.Worker, "a worker"), d.EnteredAt().Format(time.RFC3339), cmp.Or(d.Error, d.GivenUp))
			say("%s: zeta-scaler drain %s -o json has each job and step, the runbook what to do (ZetaDrainFailed, ZetaJobRestoreFailed)", scope, scope)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n" + b.String()
}

// drainFailed reports whether a scope's latest drain failed not long ago, or a job
// that it has stopped does not run.
func drainFailed(st *api.ScopeStatus) bool {
	d, at := st.Drain, st.Recommendation.ObservedAt
	return d != nil && (d.FailureIsNews(at) || len(d.Stopped(at)) > 0)
}

func when(holds bool, text string) string {
	if !holds {
		return ""
	}
	return text
}

func prefixed(prefix, text string) string { return when(text != "", prefix+text) }

func untilText(t *time.Time) string {
	if t == nil {
		return "until resumed"
	}
	return "until " + t.Format(time.RFC3339)
}

func nextAttempt(t *time.Time) string {
	if t == nil {
		return ""
	}
	return " Next attempt at " + t.Format(time.RFC3339) + "."
}

// contactsText is a table of those that the service depends on, without a
// heading, or nothing.
func contactsText(status *api.Status, s screen) string {
	t := textTable{header: []string{"DEPENDS ON", "WHICH", "STATE", "LAST ANSWER", "ERROR"}}
	add := func(what string, all ...contact.Status) {
		for i := range all {
			c := &all[i]
			which, last := strings.TrimSpace(c.Name+" "+c.Version), "never"
			if c.URL != "" && what != "cluster" {
				which = c.URL
			}
			if c.LastAnswer != nil {
				last = c.LastAnswer.Format(time.RFC3339)
			}
			t.add(what, which, string(c.State), last, cmp.Or(c.Error, "-"))
		}
	}
	add("cluster", status.Clusters...)
	add("Prometheus", status.Sources...)
	if status.Store != nil {
		add("state", *status.Store)
	}
	add("Alertmanager", status.Alertmanagers...)
	if len(t.rows) == 0 {
		return ""
	}
	return "\n" + t.text(s)
}

// watch shows something again and again.
type watch struct {
	out, errs io.Writer
	screen    screen
	ask       func(context.Context) (string, error)
}

// run ends without an error when ctx does. A service that does not answer at
// first is an error, later it is only said.
func (w *watch) run(ctx context.Context) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	last := ""
	for first := true; ; first = false {
		text, err := w.ask(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return err
		case err != nil:
			text = fmt.Sprintf("zeta-scaler: %v\n", err)
		}
		if err := w.show(text, last, err != nil); err != nil {
			return err
		}
		last = text
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// show redraws a terminal, and adds to anything else what is new.
func (w *watch) show(text, last string, failed bool) error {
	var err error
	switch {
	case w.screen.terminal:
		_, err = io.WriteString(w.out, "\x1b[H\x1b[2J"+text)
	case text == last:
	case failed:
		_, err = io.WriteString(w.errs, text)
	case last != "":
		_, err = io.WriteString(w.out, "\n"+text)
	default:
		_, err = io.WriteString(w.out, text)
	}
	return err
}

// workers writes "3 → 4", or one number where both are the same.
func workers(r *scaling.Recommendation) string {
	count := func(n *int) string {
		if n == nil {
			return "unknown"
		}
		return fmt.Sprint(*n)
	}
	from, to := count(r.CurrentWorkers), count(r.RecommendedWorkers)
	if from == to {
		return from
	}
	return from + " → " + to
}
