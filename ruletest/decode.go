package ruletest

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// What a test file may hold: bytes, and values once the series are expanded,
// for a few bytes stand for many values.
const (
	maxFileBytes = 16 << 20
	maxValues    = 5_000_000
)

// Parse decodes a test file strictly. With any problem the file is nil; all
// problems are returned at once. Path is used in problems and to find the rule
// files.
func Parse(path string, content []byte) (*File, []rules.Diagnostic) {
	f, problems := parse(path, content)
	if len(problems) > 0 {
		return nil, problems
	}
	return f, nil
}

// parse is Parse, but keeps what could be decoded, so that the rule sets of a
// bad file can be judged, too.
func parse(path string, content []byte) (*File, []rules.Diagnostic) {
	d := newDecoder(path, content)
	f := &File{Path: path, source: d}
	if len(content) > maxFileBytes {
		d.failf(&yaml.Node{}, "more than %d bytes, which is the most that is read", maxFileBytes)
		return f, d.problems
	}
	if root := d.root(content); root != nil && len(d.problems) == 0 {
		d.decodeFile(root, f)
	}
	return f, d.problems
}

func (d *decoder) decodeFile(n *yaml.Node, f *File) {
	seen := d.mapping(
		n, "the file",
		field{name: "rule_files", decode: func(v *yaml.Node) { f.RuleFiles = d.references(v, "rule_files") }},
		field{name: "packs", decode: func(v *yaml.Node) { f.Packs = d.references(v, "packs") }},
		field{name: "evaluation_interval", decode: func(v *yaml.Node) {
			f.EvaluationInterval = d.interval(v, "evaluation_interval")
		}},
		field{name: "tests", required: true, decode: func(v *yaml.Node) {
			d.list(v, "tests", func(e *yaml.Node) { f.Tests = append(f.Tests, d.decodeTest(e, len(f.Tests))) })
			if v.Kind == yaml.SequenceNode && len(v.Content) == 0 {
				d.failf(v, "tests is empty")
			}
		}},
	)
	if n.Kind == yaml.MappingNode && !seen["rule_files"] && !seen["packs"] {
		d.failf(n, "the file names no rule set, expected rule_files or packs")
	}
}

func (d *decoder) references(n *yaml.Node, what string) []Reference {
	var refs []Reference
	d.list(n, what, func(e *yaml.Node) {
		if s, ok := d.text(e, "an entry of "+what); ok {
			refs = append(refs, Reference{Name: s, Pos: d.pos(e)})
		}
	})
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		d.failf(n, "%s is empty", what)
	}
	return refs
}

func (d *decoder) decodeTest(n *yaml.Node, index int) Test {
	t := Test{Pos: d.pos(n)}
	seen := d.mapping(
		n, "a test",
		field{name: "name", decode: func(v *yaml.Node) { t.Name, _ = d.text(v, "name") }},
		field{name: "rule_set", decode: func(v *yaml.Node) {
			t.RuleSet.Name, _ = d.text(v, "rule_set")
			t.RuleSet.Pos = d.pos(v)
		}},
		field{name: "interval", decode: func(v *yaml.Node) { t.Interval = d.interval(v, "interval") }},
		field{name: "input_series", decode: func(v *yaml.Node) {
			d.list(v, "input_series", func(e *yaml.Node) { t.Series = append(t.Series, d.decodeSeries(e)) })
		}},
		field{name: "limits", decode: func(v *yaml.Node) { t.Limits = d.decodeLimits(v) }},
		field{name: "decision_test", decode: func(v *yaml.Node) {
			d.list(v, "decision_test", func(e *yaml.Node) { t.Decisions = append(t.Decisions, d.decodeDecision(e)) })
		}},
		field{name: "promql_expr_test", decode: func(v *yaml.Node) {
			d.list(v, "promql_expr_test", func(e *yaml.Node) { t.PromQL = append(t.PromQL, d.decodePromQL(e)) })
		}},
	)
	if t.Name == "" {
		t.Name = fmt.Sprintf("unnamed#%d", index)
	}
	if n.Kind == yaml.MappingNode && !seen["decision_test"] && !seen["promql_expr_test"] {
		d.failf(n, "a test expects nothing, expected decision_test or promql_expr_test")
	}
	return t
}

// decodeSeries tries the notation with a spacing of its own: the real one may
// come from the rule set and never makes a series wrong.
func (d *decoder) decodeSeries(n *yaml.Node) InputSeries {
	var s InputSeries
	var series, values *yaml.Node
	d.mapping(
		n, "an input series",
		field{name: "series", required: true, decode: func(v *yaml.Node) {
			s.Series, _ = d.text(v, "series")
			s.SeriesPos, series = d.pos(v), v
		}},
		field{name: "values", required: true, decode: func(v *yaml.Node) {
			s.Values, _ = d.text(v, "values")
			s.ValuesPos, values = d.pos(v), v
		}},
	)
	if s.Series == "" || s.Values == "" {
		return s
	}
	if _, err := source.ParseNotation(source.Notation{Series: s.Series, Values: "0"}, time.Unix(0, 0), time.Second); err != nil {
		d.failf(series, "%v", err)
		return s
	}
	if d.values > maxValues {
		return s // said already
	}
	parsed, err := source.ParseNotation(s.Notation, time.Unix(0, 0), time.Second)
	if err != nil {
		d.failf(values, "%v", err)
	}
	if d.values += len(parsed.Points); d.values > maxValues {
		d.failf(values, "the file has more than %d values", maxValues)
	}
	return s
}

func (d *decoder) decodeLimits(n *yaml.Node) Limits {
	var l Limits
	count := func(to **int, what string, least int) func(*yaml.Node) {
		return func(v *yaml.Node) {
			if k, ok := d.integer(v, what, least); ok {
				*to = &k
			}
		}
	}
	d.mapping(
		n, "limits",
		field{name: "min_workers", decode: count(&l.MinWorkers, "min_workers", 0)},
		field{name: "max_workers", decode: count(&l.MaxWorkers, "max_workers", 1)},
		field{name: "floor_delay", decode: func(v *yaml.Node) {
			if delay, ok := d.duration(v, "floor_delay"); ok {
				l.FloorDelay = &delay
			}
		}},
	)
	if l.MinWorkers != nil && l.MaxWorkers != nil && *l.MinWorkers > *l.MaxWorkers {
		d.failf(n, "min_workers %d is greater than max_workers %d", *l.MinWorkers, *l.MaxWorkers)
	}
	return l
}

func (d *decoder) decodeDecision(n *yaml.Node) DecisionTest {
	t := DecisionTest{Pos: d.pos(n)}
	seen := d.mapping(
		n, "a decision test",
		field{name: "eval_time", required: true, decode: func(v *yaml.Node) { t.EvalTime, _ = d.duration(v, "eval_time") }},
		field{name: "scope", decode: func(v *yaml.Node) { t.Scope = d.optionalText(v, "scope") }},
		field{name: "row", decode: func(v *yaml.Node) {
			if id, ok := word(d, v, "row", rowIDs()); ok {
				t.Row = &id
			}
		}},
		field{name: "action", decode: func(v *yaml.Node) {
			if a, ok := word(d, v, "action", scaling.Actions()); ok {
				t.Action = &a
			}
		}},
		field{name: "recommended_workers", decode: d.count(&t.RecommendedWorkers, "recommended_workers")},
		field{name: "current_workers", decode: d.count(&t.CurrentWorkers, "current_workers")},
		field{name: "metrics_valid", decode: func(v *yaml.Node) {
			if b, ok := d.boolean(v, "metrics_valid"); ok {
				t.MetricsValid = &b
			}
		}},
		field{name: "stale_workers", decode: d.count(&t.StaleWorkers, "stale_workers")},
		field{name: "triggers", decode: func(v *yaml.Node) { t.Triggers = d.set(v, "triggers") }},
		field{name: "blockers", decode: func(v *yaml.Node) { t.Blockers = d.set(v, "blockers") }},
		field{name: "reason", decode: func(v *yaml.Node) { t.Reason = d.optionalText(v, "reason") }},
	)
	delete(seen, "eval_time")
	delete(seen, "scope")
	if n.Kind == yaml.MappingNode && len(seen) == 0 {
		d.failf(n, "a decision test expects nothing, expected at least one of row, action, recommended_workers, "+
			"current_workers, metrics_valid, stale_workers, triggers, blockers or reason")
	}
	return t
}

func (d *decoder) optionalText(n *yaml.Node, what string) *string {
	if s, ok := d.text(n, what); ok {
		return &s
	}
	return nil
}

// count decodes a number of workers or null.
func (d *decoder) count(to **Count, what string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if isNull(n) {
			*to = &Count{}
		} else if k, ok := d.integer(n, what, 0); ok {
			*to = &Count{Known: true, N: k}
		}
	}
}

// set decodes a list of names; [] is a set, too.
func (d *decoder) set(n *yaml.Node, what string) *[]string {
	names := []string{}
	d.list(n, what, func(e *yaml.Node) {
		if s, ok := d.text(e, "an entry of "+what); ok {
			names = append(names, s)
		}
	})
	return &names
}

func (d *decoder) decodePromQL(n *yaml.Node) PromQLTest {
	t := PromQLTest{Pos: d.pos(n)}
	p := parser.NewParser(parser.Options{})
	d.mapping(
		n, "a PromQL test",
		field{name: "expr", required: true, decode: func(v *yaml.Node) {
			t.Expr, _ = d.text(v, "expr")
			e, err := p.ParseExpr(t.Expr)
			switch {
			case err != nil:
				d.failf(v, "expr %q: %v", t.Expr, err)
			case e.Type() != parser.ValueTypeVector && e.Type() != parser.ValueTypeScalar:
				d.failf(v, "expr %q gives a %s, expected an instant vector or a scalar", t.Expr, e.Type())
			}
		}},
		field{name: "eval_time", required: true, decode: func(v *yaml.Node) { t.EvalTime, _ = d.duration(v, "eval_time") }},
		field{name: "exp_samples", decode: func(v *yaml.Node) {
			d.list(v, "exp_samples", func(e *yaml.Node) { t.Samples = append(t.Samples, d.decodeSample(e, p)) })
		}},
	)
	return t
}

func (d *decoder) decodeSample(n *yaml.Node, p parser.Parser) ExpectedSample {
	var s ExpectedSample
	d.mapping(
		n, "an expected sample",
		field{name: "labels", decode: func(v *yaml.Node) {
			text, ok := d.text(v, "labels")
			if !ok {
				return
			}
			l, err := p.ParseMetric(text)
			if err != nil {
				d.failf(v, "labels %q: %v", text, err)
			}
			s.Labels = l
		}},
		field{name: "value", required: true, decode: func(v *yaml.Node) { s.Value = d.float(v, "value") }},
	)
	return s
}

// rowIDs are the rows that a test can name.
func rowIDs() []scaling.RowID {
	table := evaluator.Table()
	ids := make([]scaling.RowID, len(table))
	for i, r := range table {
		ids[i] = r.ID
	}
	return ids
}

// resolve makes a rule file's name relative to the test file's folder.
func (f *File) resolve(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(f.Path), name)
}
