package rules

import (
	"maps"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// shape is what can be said about the labels of an expression's samples
// without asking a server.
type shape struct {
	// open is true while labels beyond possible may be there, as with a
	// selector that nothing aggregates.
	open     bool
	possible labelSet
	// keyed is true when there is at most one sample for each combination of
	// values of the labels in key.
	keyed bool
	key   labelSet
	// dropped are labels that at least some samples certainly lack.
	dropped labelSet
	// fixed are labels that have one and the same value in all samples.
	fixed map[string]string
	// varying are labels of known series that tell samples apart, and bare is a
	// selector that nothing narrows down; both matter only without a key.
	varying labelSet
	bare    *parser.VectorSelector
}

// shaper walks expressions. It never claims a label that may be missing, nor
// one sample where there may be two, except where that is the habit: then it
// keeps silent.
type shaper struct {
	series []series
	// universe are all label names that matter: those of the scope and those
	// that the expression names.
	universe labelSet
}

// shapeOf is the shape of an expression of a set with these scope labels.
func shapeOf(e parser.Expr, scopeBy []string) shape {
	w := shaper{series: knownSeries(), universe: setOf(scopeBy...)}
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.AggregateExpr:
			w.universe = w.universe.plus(setOf(n.Grouping...))
		case *parser.BinaryExpr:
			if m := n.VectorMatching; m != nil {
				w.universe = w.universe.plus(setOf(m.MatchingLabels...)).plus(setOf(m.Include...))
			}
		case *parser.VectorSelector:
			for _, m := range n.LabelMatchers {
				w.universe = w.universe.plus(setOf(m.Name))
			}
		}
		return nil
	})
	return w.walk(e)
}

// one is the shape of a single sample without labels.
func (w *shaper) one() shape { return shape{keyed: true, dropped: w.universe} }

func (w *shaper) walk(e parser.Expr) shape {
	switch n := e.(type) {
	case *parser.ParenExpr:
		return w.walk(n.Expr)
	case *parser.UnaryExpr:
		return w.walk(n.Expr)
	case *parser.StepInvariantExpr:
		return w.walk(n.Expr)
	case *parser.SubqueryExpr:
		return w.walk(n.Expr)
	case *parser.MatrixSelector:
		return w.walk(n.VectorSelector)
	case *parser.VectorSelector:
		return w.selector(n)
	case *parser.AggregateExpr:
		return w.aggregate(n)
	case *parser.BinaryExpr:
		return w.binary(n)
	case *parser.Call:
		return w.call(n)
	default:
		return w.one() // literals
	}
}

func (w *shaper) selector(n *parser.VectorSelector) shape {
	s := shape{open: true, fixed: map[string]string{}}
	for _, m := range n.LabelMatchers {
		switch {
		case m.Name == model.MetricNameLabel || m.Type != labels.MatchEqual:
		case m.Value == "":
			s.dropped = s.dropped.plus(setOf(m.Name))
		default:
			s.fixed[m.Name] = m.Value
		}
	}
	known := findSeries(w.series, selectorName(n.LabelMatchers))
	switch {
	case known != nil:
		s.varying = setOf(known.labels...).minus(s.fixedNames()).minus(s.dropped)
	case len(s.fixed) == 0 && !recorded(n):
		s.bare = n
	}
	return s
}

// recorded reports whether a selector names a recording rule. Those are named
// level:metric:operation by convention, so they have been aggregated to a level
// that only their rule tells.
func recorded(n *parser.VectorSelector) bool {
	return strings.Contains(selectorName(n.LabelMatchers), ":")
}

func (s *shape) fixedNames() labelSet {
	names := labelSet{}
	for n := range s.fixed {
		names[n] = true
	}
	return names
}

func (w *shaper) aggregate(n *parser.AggregateExpr) shape {
	in, grouping := w.walk(n.Expr), setOf(n.Grouping...)
	switch n.Op {
	case parser.TOPK, parser.BOTTOMK, parser.LIMITK:
		// These keep the samples as they are; with 1 they keep one per group.
		if k, ok := n.Param.(*parser.NumberLiteral); ok && k.Val == 1 && !n.Without {
			in.keyed, in.key = true, grouping.minus(in.fixedNames()).minus(in.dropped)
		}
		return in
	case parser.LIMIT_RATIO:
		return in
	}
	if n.Without {
		return in.withoutLabels(grouping)
	}
	out := in.groupedBy(grouping, w.universe)
	if l, ok := n.Param.(*parser.StringLiteral); ok && n.Op == parser.COUNT_VALUES {
		added := setOf(l.Val)
		out.possible, out.key, out.dropped = out.possible.plus(added), out.key.plus(added), out.dropped.minus(added)
	}
	return out
}

func (s shape) groupedBy(grouping, universe labelSet) shape {
	out := shape{keyed: true, fixed: map[string]string{}}
	out.possible = grouping.minus(s.dropped)
	if !s.open {
		out.possible = grouping.only(s.possible)
	}
	for name, v := range s.fixed {
		if grouping[name] {
			out.fixed[name] = v
		}
	}
	out.key = out.possible.minus(s.fixedNames())
	out.dropped = universe.minus(grouping).plus(s.dropped)
	return out
}

func (s shape) withoutLabels(gone labelSet) shape {
	out := s
	out.possible, out.dropped = s.possible.minus(gone), s.dropped.plus(gone)
	out.varying, out.bare = s.varying.minus(gone), nil
	out.fixed = maps.Clone(s.fixed)
	maps.DeleteFunc(out.fixed, func(name, _ string) bool { return gone[name] })
	out.keyed, out.key = !s.open, out.possible.minus(out.fixedNames())
	return out
}

func (w *shaper) binary(n *parser.BinaryExpr) shape {
	l, r := w.walk(n.LHS), w.walk(n.RHS)
	m := n.VectorMatching
	switch {
	case m == nil && n.LHS.Type() == parser.ValueTypeScalar:
		return r
	case m == nil:
		return l
	}
	matching := setOf(m.MatchingLabels...)
	switch {
	case n.Op == parser.LOR:
		return either(l, r, m.On, matching)
	case n.Op == parser.LAND:
		return l.narrowed(r, m.On, matching)
	case n.Op == parser.LUNLESS:
		return l
	case m.Card == parser.CardManyToOne:
		return l.including(r, m.Include)
	case m.Card == parser.CardOneToMany:
		return r.including(l, m.Include)
	}
	// One to one: the result has the labels that were matched.
	if m.On {
		out := l.groupedBy(matching, w.universe)
		out.dropped = out.dropped.plus(r.dropped)
		if !r.open {
			out.possible, out.key = out.possible.only(r.possible), out.key.only(r.possible)
		}
		out.key = out.key.minus(r.fixedNames())
		return out
	}
	return l.withLabelsOf(r, matching)
}

// withLabelsOf is the shape of matching l and r on all labels but ignored
// ones: a sample can only have what both sides can.
func (s shape) withLabelsOf(r shape, ignored labelSet) shape {
	out, o := s.withoutLabels(ignored), r.withoutLabels(ignored)
	out.bare = s.bare
	if o.bare == nil {
		out.bare = nil
	}
	switch {
	case out.open && !o.open:
		out.open, out.possible = false, o.possible
	case !out.open && !o.open:
		out.possible = out.possible.only(o.possible)
	}
	out.dropped = out.dropped.plus(o.dropped)
	out.varying = out.varying.minus(o.dropped)
	fixed := out.fixedNames().plus(o.fixedNames())
	switch {
	case s.keyed && len(ignored) == 0:
		out.keyed, out.key = true, s.key.minus(fixed).minus(out.dropped)
	case r.keyed && len(ignored) == 0:
		out.keyed, out.key = true, r.key.minus(fixed).minus(out.dropped)
	default:
		out.keyed, out.key = !out.open, out.possible.minus(fixed)
	}
	if !out.open {
		out.key = out.key.only(out.possible)
	}
	return out
}

// narrowed is l and r: the samples of l whose matched labels r has, too.
func (s shape) narrowed(r shape, on bool, matching labelSet) shape {
	if on {
		// A label that r never has is matched only where l lacks it.
		s.dropped = s.dropped.plus(matching.only(r.dropped))
		return s
	}
	both := s.withLabelsOf(r, nil)
	if len(matching) > 0 || s.keyed {
		return s
	}
	both.fixed = s.fixed
	return both
}

// including is the many side of a match with labels of the one side.
func (s shape) including(one shape, include []string) shape {
	added := setOf(include...)
	s.possible, s.dropped = s.possible.plus(added), s.dropped.minus(added).plus(added.only(one.dropped))
	return s
}

// either is l or r: all of l, and what of r matches nothing of l.
func either(l, r shape, on bool, matching labelSet) shape {
	out := shape{
		open: l.open || r.open, possible: l.possible.plus(r.possible),
		dropped: l.dropped.plus(r.dropped), varying: l.varying.plus(r.varying), bare: l.bare,
		fixed: map[string]string{},
	}
	if out.bare == nil {
		out.bare = r.bare
	}
	for name, v := range l.fixed {
		if r.fixed[name] == v {
			out.fixed[name] = v
		}
	}
	compared := out.possible.minus(matching)
	if on {
		compared = matching.only(out.possible)
		if out.open {
			compared = matching
		}
	}
	out.keyed = l.keyed && r.keyed && (on || !out.open)
	out.key = l.key.plus(r.key).plus(compared).minus(out.fixedNames())
	return out
}

func (w *shaper) call(n *parser.Call) shape {
	switch n.Func.Name {
	case "absent", "absent_over_time":
		return w.absent(n.Args[0])
	case "label_replace", "label_join":
		return w.relabelled(n)
	case "histogram_quantile", "histogram_fraction":
		return w.walk(n.Args[len(n.Args)-1]).withoutLabelsKeepingKey(setOf("le"))
	}
	for _, a := range n.Args {
		if t := a.Type(); t == parser.ValueTypeVector || t == parser.ValueTypeMatrix {
			if n.Func.ReturnType == parser.ValueTypeScalar {
				break
			}
			return w.walk(a)
		}
	}
	return w.one()
}

// absent gives one sample with the labels that its selector fixes.
func (w *shaper) absent(arg parser.Expr) shape {
	in, out := w.walk(arg), w.one()
	out.fixed = in.fixed
	out.possible, out.dropped = in.fixedNames(), w.universe.minus(in.fixedNames())
	return out
}

func (w *shaper) relabelled(n *parser.Call) shape {
	s := w.walk(n.Args[0])
	dst, ok := n.Args[1].(*parser.StringLiteral)
	if !ok {
		return s
	}
	added := setOf(dst.Val)
	s.possible, s.dropped = s.possible.plus(added), s.dropped.minus(added)
	s.fixed = maps.Clone(s.fixed)
	delete(s.fixed, dst.Val)
	if src := carried(n); len(src) > 0 && s.keyed && len(s.key.only(src)) == len(src) && !s.key[dst.Val] {
		// Other values stand for the same ones: they still tell the samples apart.
		s.key = s.key.minus(src).plus(added)
		return s
	}
	if s.keyed && s.key[dst.Val] {
		// Its old values may have become one.
		s.keyed, s.key = !s.open, s.possible
	}
	return s
}

func (s shape) withoutLabelsKeepingKey(gone labelSet) shape {
	out := s.withoutLabels(gone)
	if s.keyed {
		out.keyed, out.key = true, s.key.minus(gone)
	}
	return out
}
