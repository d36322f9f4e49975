package app

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/chart"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// Signals implements api.Past: one range query for each signal, which gives the
// scope's own series alone.
func (p *past) Signals(ctx context.Context, scope scaling.Scope, axis chart.Axis) (map[string]*chart.Band, error) {
	done, err := p.begin(ctx, turnPatience)
	if err != nil {
		return nil, err
	}
	defer done()
	rs := p.current().ruleSet(scope.Key)
	if rs == nil {
		return nil, errors.New("no rule set is loaded for the scope")
	}
	out := make(map[string]*chart.Band, len(rs.Signals))
	for i := range rs.Signals {
		sig := &rs.Signals[i]
		start := axis.From.Add(-rs.QueryOffset)
		m, err := p.source.Range(ctx, ofScope(sig.Expr.Text, scope.Labels), source.Window{
			Start: start, End: start.Add(time.Duration(axis.Columns-1) * axis.Step), Step: axis.Step,
		})
		if err != nil {
			return nil, fmt.Errorf("signal %s: %w", sig.Name, err)
		}
		band := chart.NewBand(axis.Columns)
		for _, series := range m.Series {
			for _, point := range series.Points {
				if column := int(time.UnixMilli(point.T).Sub(start) / axis.Step); column >= 0 && column < axis.Columns {
					band.Add(column, point.V)
				}
			}
		}
		if !band.Empty() {
			out[sig.Name] = &band
		}
	}
	return out, nil
}

// ofScope is an expression for the series with these labels: what the expressions
// of rule sets give has a series for every scope.
func ofScope(expr string, labels []scaling.Label) string {
	if len(labels) == 0 {
		return expr
	}
	names, only := make([]string, len(labels)), "vector(1)"
	for i, l := range labels {
		names[i] = l.Name
		only = fmt.Sprintf("label_replace(%s, %q, %s, \"\", \"\")", only, l.Name, strconv.Quote(strings.ReplaceAll(l.Value, "$", "$$")))
	}
	return fmt.Sprintf("(%s\n) and on (%s) %s", expr, strings.Join(names, ", "), only)
}
