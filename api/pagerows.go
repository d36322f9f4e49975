package api

import (
	"fmt"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// rowView is one row of the decision table and what became of it.
type rowView struct {
	scaling.Row
	Matched bool
	// Why says why a row that was tried did not match.
	Why string
	// Triggers are the conditions that asked for what the row decided.
	Triggers []string
}

// split sorts the rows of the decision table by what became of them.
func (v *scopeView) split(rows []scaling.RowVerdict, r *scaling.Recommendation) {
	for _, x := range rows {
		row := rowView{Row: x.Row, Matched: x.Verdict == scaling.RowMatched, Why: strings.Join(x.Because, "; ")}
		switch conditions := 1 + strings.Count(x.When, " ∧ "); {
		case x.Verdict == scaling.RowNotTried:
			v.Below = append(v.Below, row)
		case row.Matched:
			row.Triggers = triggers(r)
			v.Decided = &row
		case len(x.Because) == 1 && conditions > 1:
			v.Nearly = append(v.Nearly, row)
		default:
			v.Tried = append(v.Tried, row)
		}
	}
}

// triggers are the conditions that asked for a recommendation, in words.
func triggers(r *scaling.Recommendation) []string {
	var out []string
	for i := range r.TriggerConditions {
		c := &r.TriggerConditions[i]
		if c.Value == nil || c.Threshold == nil || c.HeldSeconds == nil || c.WindowSeconds == nil {
			out = append(out, c.Name)
			continue
		}
		out = append(out, fmt.Sprintf("%s %s %s %s for %s of %s", strings.ReplaceAll(c.Name, "_", " "), worth(c.Value), c.Comparison,
			number(*c.Threshold), span(*c.HeldSeconds), span(*c.WindowSeconds)))
	}
	return out
}

// queryView is a query with a link to where people ask it, empty for nowhere.
type queryView struct {
	ExplainedQuery
	URL string
}

// asked leaves out what no query is known of.
func (s *server) asked(queries []ExplainedQuery, at time.Time) []queryView {
	var out []queryView
	for _, q := range queries {
		if q.Promql != "" {
			out = append(out, queryView{q, s.askURL(q.Promql, at)})
		}
	}
	return out
}
