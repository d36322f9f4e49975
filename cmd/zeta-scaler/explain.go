package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func newExplain() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [SCOPE]",
		Short: "Say why a decision was taken, or print the decision table",
		Long: `Say why the latest decision of a scope was taken, a recorded one, or that of any
past time that Prometheus still holds: the row that decided, why each row above
it did not, every signal with its conditions, and commands that show the same
numbers. With --table, print the decision table: its rows are tried from top to
bottom, and the first one that matches decides.`,
		Example: "  zeta-scaler explain prod\n  zeta-scaler explain prod --at 2026-03-14T09:26:30Z\n  zeta-scaler explain --table -o json",
		Args:    cobra.MaximumNArgs(1),
	}
	out := addOutputFlag(cmd)
	flags := addClientFlags(cmd)
	cmd.ValidArgsFunction = flags.completeScopes
	table := cmd.Flags().Bool("table", false, "print the decision table")
	id := cmd.Flags().Int64("id", 0, "explain a recorded decision: the id of its entry in history -o json")
	at := cmd.Flags().String("at", "", "explain the decision at this time, such as 2026-03-14T09:26:30Z: computed again, or as it was recorded")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *table {
			if len(args) > 0 || *id != 0 || *at != "" {
				return usagef("--table stands alone: it is the same for every scope")
			}
			return printTable(cmd, out)
		}
		if len(args) == 0 || args[0] == "" {
			return usagef("nothing to explain: give a SCOPE, or --table")
		}
		if *id < 1 && cmd.Flags().Changed("id") {
			return usagef("--id is %d, expected the id of an entry of the history", *id)
		}
		params, err := explainParams(args[0], *id, *at)
		if err != nil {
			return err
		}
		client, err := flags.client()
		if err != nil {
			return err
		}
		reply, err := client.Explain(cmd.Context(), params)
		if err != nil {
			return err
		}
		return out.print(cmd.OutOrStdout(), reply, func(s screen) string { return explainText(&reply, s) })
	}
	return cmd
}

func printTable(cmd *cobra.Command, out *output) error {
	rows := evaluator.Table()
	t := textTable{header: []string{"ROW", "ACTION", "TARGET", "WHEN"}}
	for _, r := range rows {
		t.add(string(r.ID), string(r.Action), r.Target, r.When)
	}
	return out.print(cmd.OutOrStdout(), rows, t.text)
}

func explainParams(scope string, id int64, at string) (api.GetExplainParams, error) {
	p := api.GetExplainParams{Scope: scope}
	switch {
	case id != 0 && at != "":
		return p, usagef("give --id or --at, not both")
	case id > 0:
		p.Id = strconv.FormatInt(id, 10)
	case at != "":
		t, err := time.Parse(time.RFC3339, at)
		if err != nil {
			return p, usagef("--at is %q, expected a time such as 2026-03-14T09:26:30Z", at)
		}
		p.At = t
	}
	return p, nil
}

// explainText tells a decision from its outcome down to its inputs.
func explainText(x *api.Explanation, s screen) string {
	r := &x.Recommendation
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s workers, by row %s\n", plain(scaling.ShownKey(x.Scope)), s.paint(string(r.Action)), workers(r), r.Row)
	para := func(text string) {
		lines := []string{plain(text)}
		if s.width > 0 {
			lines = wrap(lines[0], max(minWrap, s.width))
		}
		fmt.Fprintln(&b, strings.Join(lines, "\n"))
	}
	para(r.Reason)
	limits := fmt.Sprintf("%d or more", x.MinWorkers)
	if x.MaxWorkers != nil {
		limits = fmt.Sprintf("%d to %d", x.MinWorkers, *x.MaxWorkers)
	}
	para(fmt.Sprintf("Decided at %s by %s %s; workers allowed: %s; booting: %d; mode %s.",
		r.ObservedAt.Format(time.RFC3339), r.RuleSet.Name, r.RuleSet.Version, limits, x.Booting, x.Mode))
	if x.FirstInQueue != nil {
		para("First in the queue: " + x.FirstInQueue.String() + ".")
	}
	for i := range x.TimedBounds {
		para(x.TimedBounds[i].String() + ".")
	}
	for _, n := range x.Notes {
		para(n)
	}
	b.WriteString("\n" + rowsText(x.Rows, s) + "\n" + signalsText(x.Inputs, s))
	queries := queriesText(x.Queries)
	if queries != "" {
		b.WriteString("\nThe same numbers from Prometheus (one sample for each scope):\n" + queries)
	}
	return b.String()
}

func rowsText(rows []scaling.RowVerdict, s screen) string {
	t := textTable{header: []string{"ROW", "RESULT", "WHY"}}
	untried := 0
	for _, v := range rows {
		switch v.Verdict {
		case scaling.RowMatched:
			t.add(string(v.ID), "decided", v.When)
		case scaling.RowNotTried:
			untried++
		case scaling.RowUndetermined:
			t.add(string(v.ID), "unknown", v.When)
		default:
			t.add(string(v.ID), "no", strings.Join(v.Because, "; "))
		}
	}
	text := t.text(s)
	if untried > 0 {
		text += fmt.Sprintf("Rows below, not tried: %d.\n", untried)
	}
	return text
}

func signalsText(inputs []scaling.Input, s screen) string {
	if len(inputs) == 0 {
		return "No signals were recorded.\n"
	}
	t := textTable{header: []string{"SIGNAL", "CLASS", "VALUE", "NOW", "CONDITION"}}
	for i := range inputs {
		in := &inputs[i]
		value := valueText(in.Value, in.Unit, in.Reason)
		switch {
		case !in.Applies:
			t.add(in.Name, string(in.Class), value, "-", "does not apply here")
			continue
		case len(in.Windows) == 0:
			t.add(in.Name, string(in.Class), value, "-", "none")
		}
		for j := range in.Windows {
			w := &in.Windows[j]
			now := w.Truth
			if w.Sustained {
				now = "sustained"
			}
			t.add(in.Name, string(in.Class), value, now, windowText(w))
		}
	}
	return t.text(s)
}

// windowText says what a condition is and how far its window is filled.
func windowText(w *scaling.Window) string {
	threshold := "max_workers (unbounded)"
	if w.Threshold != nil {
		threshold = numberText(*w.Threshold)
	}
	direction := "scale out"
	if w.Direction == scaling.In {
		direction = "scale in"
	}
	held := secondsText(w.HeldSeconds)
	if w.AtLeast {
		held = "at least " + held
	}
	text := fmt.Sprintf("%s if %s %s, held %s of %s", direction, w.Comparison, threshold, held, secondsText(w.WindowSeconds))
	if !w.SustainedAt.IsZero() {
		text += fmt.Sprintf(", counts at %s if nothing changes", w.SustainedAt.Format(time.RFC3339))
	}
	return text
}

func valueText(v scaling.Value, unit, reason string) string {
	switch {
	case !v.Known && reason != "":
		return "unknown (" + reason + ")"
	case !v.Known:
		return "unknown"
	}
	return scaling.Quantity(numberText(v.Number), unit)
}

func numberText(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// secondsText shows seconds as people say them: 45s, 5m, 1h30m.
func secondsText(v float64) string {
	return scaling.Span(time.Duration(v * float64(time.Second)).Round(time.Second))
}

// queriesText has one command for each input that can be asked for. The
// commands are meant for a shell, so they are not wrapped.
func queriesText(queries []api.ExplainedQuery) string {
	var b strings.Builder
	for i := range queries {
		q := &queries[i]
		command := q.Curl
		if command == "" {
			command = q.Promql
		}
		if command != "" {
			fmt.Fprintf(&b, "# %s is %s\n%s\n", plain(q.Name), plain(valueText(q.Value, q.Unit, q.Reason)), document.Printable(command, "\n\t"))
		}
	}
	return b.String()
}
