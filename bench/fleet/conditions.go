package fleet

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/zeta-scaler/zeta-scaler/rules"
)

// Condition is what others have instead of a condition of a rule set: an alerting
// rule.
type Condition struct {
	Name               string
	Expr               parser.Expr
	For, KeepFiringFor time.Duration
}

// Conditions are the conditions of a rule set as alerting rules of one cluster,
// with its label in every selector; of all clusters at once for "".
func Conditions(rs *rules.RuleSet, cluster string) ([]Condition, error) {
	var all []Condition
	for i := range rs.Signals {
		s := &rs.Signals[i]
		for _, c := range []struct {
			way string
			*rules.Condition
		}{{"_out", s.Out}, {"_in", s.In}} {
			if c.Condition == nil {
				continue
			}
			expr, err := Only("("+s.Expr.Text+") "+operator(c.Comparison)+" "+limit(c.Condition), cluster)
			if err != nil {
				return nil, err
			}
			all = append(all, Condition{s.Name + c.way, expr, c.For, s.KeepFiringFor})
		}
	}
	return all, nil
}

// Only reads an expression and has all its selectors select one cluster; for ""
// it changes nothing.
func Only(text, cluster string) (parser.Expr, error) {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", text, err)
	}
	if cluster == "" {
		return expr, nil
	}
	only := labels.MustNewMatcher(labels.MatchEqual, "cluster", cluster)
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if v, ok := node.(*parser.VectorSelector); ok {
			v.LabelMatchers = append(slices.Clone(v.LabelMatchers), only)
		}
		return nil
	})
	return expr, nil
}

func operator(c rules.Comparison) string {
	return map[rules.Comparison]string{rules.Above: ">", rules.AtLeast: ">=", rules.Below: "<", rules.AtMost: "<="}[c]
}

// limit is the threshold; max_workers is what bounds give by default.
func limit(c *rules.Condition) string {
	v := c.Threshold
	if c.MaxWorkers {
		v = 10
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
