package ruletest

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// check is the name of the check that all problems of test files belong to.
const check = "rule-test"

// What a test file may hold: bytes, and values once the series are expanded,
// for a few bytes stand for many values.
const (
	maxFileBytes = 16 << 20
	maxDepth     = 32
	maxValues    = 5_000_000
)

// decoder decodes one test file.
type decoder struct {
	*document.Decoder
	places document.Places
	// values counts those of all series.
	values int
}

// parse decodes a test file strictly and returns all problems at once. Path is
// used in problems and to find the rule files. What could be decoded is there
// even then, so that the rule sets of a bad file can be checked, too.
func parse(path string, content []byte) (*File, []document.Diagnostic) {
	report, root := document.Parse(path, content, document.ParseOptions{MaxBytes: maxFileBytes, MaxDepth: maxDepth, Check: check})
	d := &decoder{places: document.Places{}}
	d.Decoder = &document.Decoder{
		Report: report, Schema: schema(), Name: path, LooseTexts: true,
		Note: func(path string, n *yaml.Node) { d.places[path] = report.Pos(n) },
	}
	f := &File{Path: path, source: report}
	switch {
	case root != nil:
		d.Decode(root, f, "the file")
		d.checkFile(root, f)
	case len(d.Errors) == 0:
		d.Fail(&yaml.Node{Line: 1, Column: 1}, check, "", "the file is empty, expected rule_files or packs, and tests")
	}
	document.Sort(report.Errors)
	return f, report.Errors
}

// schema is what test files are made of.
func schema() *document.Schema {
	return &document.Schema{
		Types: map[reflect.Type]document.DecodeFunc{
			reflect.TypeFor[Reference]():      decodeReference,
			reflect.TypeFor[Count]():          decodeCount,
			reflect.TypeFor[float64]():        decodeFloat,
			reflect.TypeFor[labels.Labels]():  decodeLabels,
			reflect.TypeFor[scaling.RowID]():  decodeRow,
			reflect.TypeFor[scaling.Action](): decodeAction,
		},
		Words: map[string]document.WordFunc{"promql": checkPromQL},
	}
}

// fail adds a problem at a path.
func (d *decoder) fail(path, format string, args ...any) {
	d.Add(document.SeverityError, d.places[path], check, "", format, args...)
}

// has reports whether any of the keys stands below a path.
func (d *decoder) has(path string, keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		_, ok := d.places[document.Join(path, key)]
		return ok
	})
}

// checkFile checks what no value can be judged by alone.
func (d *decoder) checkFile(root *yaml.Node, f *File) {
	if root.Kind == yaml.MappingNode && !d.has("", "rule_files", "packs") {
		d.Fail(root, check, "", "the file names no rule set, expected rule_files or packs")
	}
	for _, list := range []struct {
		key   string
		empty bool
	}{
		{"rule_files", f.RuleFiles != nil && len(f.RuleFiles) == 0},
		{"packs", f.Packs != nil && len(f.Packs) == 0},
		{"tests", f.Tests != nil && len(f.Tests) == 0},
	} {
		if list.empty {
			d.fail(list.key, "%s is empty", list.key)
		}
	}
	for i := range f.Tests {
		t, path := &f.Tests[i], document.Index("tests", i)
		if t.Name == "" {
			t.Name = fmt.Sprintf("unnamed#%d", i)
		}
		if t.Pos.Line > 0 && !d.has(path, "decision_test", "promql_expr_test") {
			d.fail(path, "a test expects nothing, expected decision_test or promql_expr_test")
		}
		if l := t.Limits; l.MinWorkers != nil && l.MaxWorkers != nil && *l.MinWorkers > *l.MaxWorkers {
			d.fail(document.Join(path, "limits"), "min_workers %d is greater than max_workers %d", *l.MinWorkers, *l.MaxWorkers)
		}
		for j := range t.Series {
			d.checkSeries(&t.Series[j], document.Index(document.Join(path, "input_series"), j))
		}
		d.checkDecisions(t, document.Join(path, "decision_test"))
	}
}

func (d *decoder) checkDecisions(t *Test, path string) {
	expectations := []string{
		"row", "action", "recommended_workers", "current_workers", "metrics_valid", "stale_workers", "triggers", "blockers", "reason",
	}
	for i := range t.Decisions {
		if at := document.Index(path, i); t.Decisions[i].Pos.Line > 0 && !d.has(at, expectations...) {
			d.fail(at, "a decision test expects nothing, expected at least one of %s", document.OneOf(expectations))
		}
	}
}

// checkSeries tries the notation with a spacing of its own: the real one may
// come from the rule set and never makes a series wrong.
func (d *decoder) checkSeries(s *InputSeries, path string) {
	if s.Series == "" || s.Values == "" {
		return
	}
	if _, err := source.ParseNotation(source.Notation{Series: s.Series, Values: "0"}, time.Unix(0, 0), time.Second); err != nil {
		d.fail(document.Join(path, "series"), "%v", err)
		return
	}
	if d.values > maxValues {
		return // said already
	}
	parsed, err := source.ParseNotation(s.Notation, time.Unix(0, 0), time.Second)
	if err != nil {
		d.fail(document.Join(path, "values"), "%v", err)
	}
	if d.values += len(parsed.Points); d.values > maxValues {
		d.fail(document.Join(path, "values"), "the file has more than %d values", maxValues)
	}
}

func decodeReference(d *document.Decoder, n *yaml.Node, _ document.Field, p document.Path) (any, bool) {
	s, ok := d.Text(n, p)
	return Reference{Name: s, Pos: d.Pos(n)}, ok
}

// decodeCount decodes a number of workers or null.
func decodeCount(d *document.Decoder, n *yaml.Node, _ document.Field, p document.Path) (any, bool) {
	if document.IsNull(n) {
		return Count{}, true
	}
	v, ok := d.Integer(n, document.Checks{"least": "0"}, p)
	return Count{Known: true, N: v}, ok
}

// decodeFloat decodes a number as promtool does: NaN and Inf are numbers, too.
func decodeFloat(d *document.Decoder, n *yaml.Node, _ document.Field, p document.Path) (any, bool) {
	v, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || err != nil {
		if n.Kind == yaml.ScalarNode && !document.IsNull(n) && n.Decode(&v) == nil {
			return v, true // .nan, .inf
		}
		d.Fail(n, check, "", "%s is %s, expected a number", p.Subject, d.KindOf(n, p))
		return nil, false
	}
	return v, true
}

func decodeLabels(d *document.Decoder, n *yaml.Node, _ document.Field, p document.Path) (any, bool) {
	s, ok := d.Text(n, p)
	if !ok {
		return nil, false
	}
	l, err := parser.NewParser(parser.Options{}).ParseMetric(s)
	if err != nil {
		d.Fail(n, check, "", "%s %q: %v", p.Subject, s, err)
	}
	return l, err == nil
}

func decodeRow(d *document.Decoder, n *yaml.Node, _ document.Field, p document.Path) (any, bool) {
	var ids []string
	for _, r := range evaluator.Table() {
		ids = append(ids, string(r.ID))
	}
	s, ok := d.OneOf(n, ids, p)
	return scaling.RowID(s), ok
}

func decodeAction(d *document.Decoder, n *yaml.Node, _ document.Field, p document.Path) (any, bool) {
	s, ok := d.OneOf(n, scaling.Names(scaling.Actions()), p)
	return scaling.Action(s), ok
}

func checkPromQL(d *document.Decoder, n *yaml.Node, s, _ string, p document.Path) (string, bool) {
	e, err := parser.NewParser(parser.Options{}).ParseExpr(s)
	switch {
	case err != nil:
		d.Fail(n, check, "", "%s %q: %v", p.Subject, s, err)
	case e.Type() != parser.ValueTypeVector && e.Type() != parser.ValueTypeScalar:
		d.Fail(n, check, "", "%s %q gives a %s, expected an instant vector or a scalar", p.Subject, s, e.Type())
	}
	return s, true
}

// resolve makes a rule file's name relative to the test file's folder.
func (f *File) resolve(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(f.Path), name)
}
