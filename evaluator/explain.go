package evaluator

import (
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Decided is what is known of a decision that was taken, from an evaluation or
// from the history.
type Decided struct {
	// Row decided.
	Row scaling.RowID
	// Facts are nil when the record does not hold them.
	Facts *scaling.Facts
	// Current is nil when the worker count was unknown.
	Current *int
	Booting int
	// Min and Max are the tick's bounds; Max is nil without an upper bound.
	Min int
	Max *int
}

// Explain says of every row of the decision table, in order, why it decided or
// did not. Rows behind the one that matched were not tried.
func Explain(d Decided) []scaling.RowVerdict {
	s := d.situation()
	out := make([]scaling.RowVerdict, len(table))
	decided := false
	for i := range table {
		v := &out[i]
		v.Row, v.Because = table[i].described(), []string{}
		switch {
		case decided:
			v.Verdict = scaling.RowNotTried
		case v.ID == d.Row:
			v.Verdict, decided = scaling.RowMatched, true
		case d.Facts == nil:
			v.Verdict = scaling.RowUndetermined
		default:
			v.Verdict, v.Because = scaling.RowNotMatched, table[i].missing(&s)
		}
	}
	return out
}

// situation is what the table looked at.
func (d *Decided) situation() situation {
	s := situation{booting: d.Booting, min: d.Min, max: scaling.Unbounded}
	if d.Facts != nil {
		s.facts = *d.Facts
	}
	if d.Max != nil {
		s.max = *d.Max
	}
	if d.Current != nil {
		s.current = *d.Current
	}
	return s
}

// Queries lists what a rule set asks for by the names that the inputs have in a
// decision: workers.current and the like, and the signals.
func Queries(rs *rules.RuleSet) map[string]Query {
	out := make(map[string]Query, len(rs.Signals)+8)
	add := func(name string, e *rules.Expr) {
		if e != nil {
			out[name] = Query{Expr: e.Text, Offset: rs.QueryOffset}
		}
	}
	add("workers.current", rs.Workers.Current)
	add("workers.reporting", rs.Workers.Reporting)
	add("workers.slots", rs.Workers.Slots)
	add("workers.unsatisfied", rs.Workers.Unsatisfied)
	add("workers.free", rs.Workers.Free)
	add("workers.sources", rs.Workers.Sources)
	add("slot_mode", rs.SlotModeExpr)
	for i := range rs.Signals {
		add(rs.Signals[i].Name, rs.Signals[i].Expr)
	}
	return out
}
