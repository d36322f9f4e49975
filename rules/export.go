package rules

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// ExportPrometheus writes a rule set as recording and alerting rules for
// Prometheus: as near to it as Prometheus can come. The notes say where it is
// not equal; they are comments of the file as well.
func ExportPrometheus(rs *RuleSet) (file []byte, notes []string, err error) {
	e := exporter{rs: rs}
	e.inputs()
	e.guards()
	e.scaleOut()
	e.scaleIn()
	e.bounds()
	group := exportGroup{Name: "zeta-scaler/" + rs.Name, Interval: model.Duration(rs.Interval).String(), Rules: e.rules}
	if rs.QueryOffset > 0 {
		group.QueryOffset = model.Duration(rs.QueryOffset).String()
	}
	notes = append(e.commonNotes(), e.notes...)
	var root yaml.Node
	if err := root.Encode(map[string][]exportGroup{"groups": {group}}); err != nil {
		return nil, nil, fmt.Errorf("exporting rule set %s: %w", rs.Name, err)
	}
	root.HeadComment = comment(rs, notes) + "\n" // an empty line keeps it apart
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(&root); err != nil {
		return nil, nil, fmt.Errorf("exporting rule set %s: %w", rs.Name, err)
	}
	return b.Bytes(), notes, nil
}

type exportGroup struct {
	Name        string       `yaml:"name"`
	Interval    string       `yaml:"interval"`
	QueryOffset string       `yaml:"query_offset,omitempty"`
	Rules       []exportRule `yaml:"rules"`
}

type exportRule struct {
	Record        string            `yaml:"record,omitempty"`
	Alert         string            `yaml:"alert,omitempty"`
	Expr          string            `yaml:"expr"`
	For           string            `yaml:"for,omitempty"`
	KeepFiringFor string            `yaml:"keep_firing_for,omitempty"`
	Labels        map[string]string `yaml:"labels,omitempty"`
	Annotations   map[string]string `yaml:"annotations,omitempty"`
}

func comment(rs *RuleSet, notes []string) string {
	lines := []string{
		fmt.Sprintf("Rule set %s %s (%s) as Prometheus rules.", rs.Name, rs.Version, rs.Digest),
		"Written by zeta-scaler rules export --as prometheus. Not equal to the rule set:",
	}
	for _, n := range notes {
		lines = append(lines, " - "+n)
	}
	return strings.Join(lines, "\n")
}

// exporter collects the rules of one group.
type exporter struct {
	rs    *RuleSet
	rules []exportRule
	notes []string
}

func (e *exporter) note(format string, args ...any) {
	e.notes = append(e.notes, fmt.Sprintf(format, args...))
}

// commonNotes are true of every rule set.
func (e *exporter) commonNotes() []string {
	return []string{
		fmt.Sprintf("gaps: for starts again when a value is missing at one evaluation; here up to %s of a blocking signal %s bridged", scaling.Counted(e.rs.GapTolerance, "missing tick"), scaling.Plural(e.rs.GapTolerance, "is", "are")),
		"keep_firing_for: Prometheus resumes an alert that fires again meanwhile; here a true tick begins a new run",
		"guards: while one holds a signal back, the for of that signal's alert begins anew; here its window goes on",
		"min_workers: the for of the scale-in alert fills only above the minimum; here its windows fill there, too",
		"validity: only stale workers hold back scale-in; here any unknown required input does, and restarts its window",
		"no decision: there is no target, step, order of rows, wake of an empty cluster, cooldown or generation; a restart of Prometheus restores for from its own ALERTS_FOR_STATE",
	}
}

// on is the matching clause over the scope's labels.
func (e *exporter) on() string { return "on (" + strings.Join(e.rs.ScopeBy, ", ") + ")" }

func (e *exporter) record(name string) string { return "zeta_scaler:" + name }

// recorded selects what was recorded under a name.
func (e *exporter) recorded(name string) string {
	return fmt.Sprintf("%s{ruleset=%q}", e.record(name), e.rs.Name)
}

func (e *exporter) addRecord(name, expr string) {
	e.rules = append(e.rules, exportRule{Record: e.record(name), Expr: expr, Labels: map[string]string{"ruleset": e.rs.Name}})
}

// inputs records the worker counts and every signal, without values that do
// not count as known.
func (e *exporter) inputs() {
	rs := e.rs
	for _, in := range []struct {
		name string
		expr *Expr
	}{
		{"workers_current", rs.Workers.Current},
		{"workers_reporting", rs.Workers.Reporting},
		{"workers_slots", rs.Workers.Slots},
		{"workers_unsatisfied", rs.Workers.Unsatisfied},
		{"workers_free", rs.Workers.Free},
		{"workers_sources", rs.Workers.Sources},
		{"slot_mode", rs.SlotModeExpr},
	} {
		if in.expr != nil {
			e.addRecord(in.name, vector(in.expr))
		}
	}
	if rs.Workers.Sources != nil {
		e.note("workers.sources: is recorded, but nothing becomes unknown where it is above 1")
	}
	if rs.Workers.Master != nil {
		e.note("workers.master: a change of the Zeta master restarts no window")
	}
	for i := range rs.Signals {
		e.signal(&rs.Signals[i])
	}
}

func (e *exporter) signal(s *Signal) {
	expr := vector(s.Expr)
	if s.Range != nil {
		expr = fmt.Sprintf("(%s) >= %s <= %s", expr, infinite(s.Range[0]), infinite(s.Range[1]))
	}
	if s.Absent == AbsentZero {
		expr = fmt.Sprintf("(%s) or %s 0 * %s", expr, e.on(), e.recorded("workers_current"))
	}
	if !e.applies(s) {
		e.note("signal %s does not apply with slot_mode: %s; it is recorded, but nothing uses it", s.Name, e.rs.SlotMode)
	}
	e.addRecord("signal:"+s.Name, expr)
}

// vector is an expression that can be recorded and compared.
func vector(e *Expr) string {
	text := e.Text
	if strings.Contains(text, "#") {
		text += "\n" // a comment in the last line ends before what comes behind
	}
	if e.Node != nil && e.Node.Type() == parser.ValueTypeScalar {
		return "vector(" + text + ")"
	}
	return text
}

// infinite writes a number as PromQL does.
func infinite(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// applies is false for signals that a set's own slot mode excludes.
func (e *exporter) applies(s *Signal) bool {
	return len(s.SlotModes) == 0 || e.rs.SlotModeExpr != nil || slices.Contains(s.SlotModes, e.rs.SlotMode)
}

// condition is one direction of a signal as PromQL; "" if it cannot be said.
func (e *exporter) condition(s *Signal, c *Condition) string {
	threshold := infinite(c.Threshold)
	if c.MaxWorkers {
		if e.rs.Bounds == nil || e.rs.Bounds.Max == scaling.Unbounded {
			return ""
		}
		threshold = strconv.Itoa(e.rs.Bounds.Max)
	}
	op := map[Comparison]string{Above: ">", AtLeast: ">=", Below: "<", AtMost: "<="}[c.Comparison]
	return e.recorded("signal:"+s.Name) + " " + op + " " + threshold
}

// inMode restricts a condition to the slot modes of its signal.
func (e *exporter) inMode(s *Signal, expr string) string {
	if len(s.SlotModes) == 0 || e.rs.SlotModeExpr == nil {
		return expr
	}
	return fmt.Sprintf("%s and %s (%s)", expr, e.on(), e.modes(s.SlotModes))
}

// modes is true where the slot mode expression has one of these modes.
func (e *exporter) modes(modes []scaling.SlotMode) string {
	mode := e.recorded("slot_mode")
	var parts []string
	for _, m := range modes {
		switch m {
		case scaling.FixedSlots:
			parts = append(parts, mode+" == 0")
		case scaling.DynamicSlots:
			parts = append(parts, mode+" == 1")
		default:
			parts = append(parts, mode+" > 0 < 1")
		}
	}
	return strings.Join(parts, " or ")
}

func (e *exporter) alert(name string, s *Signal, dir scaling.Direction, expr, summary string, c Condition, keep time.Duration) {
	r := exportRule{
		Alert: name, Expr: expr, Annotations: map[string]string{"summary": summary},
		Labels: map[string]string{"ruleset": e.rs.Name, "direction": string(dir)},
	}
	if c.For > 0 {
		r.For = model.Duration(c.For).String()
	}
	if keep > 0 {
		r.KeepFiringFor = model.Duration(keep).String()
	}
	if s != nil {
		r.Labels["signal"], r.Labels["class"] = s.Name, string(s.Class)
	}
	e.rules = append(e.rules, r)
}

// Names of the alerts of an export.
const (
	alertGuard    = "ZetaRulesGuard"
	alertScaleOut = "ZetaRulesScaleOut"
	alertScaleIn  = "ZetaRulesScaleInCandidate"
	alertBelowMin = "ZetaRulesBelowMin"
)

func (e *exporter) guards() {
	for i := range e.rs.Signals {
		s := &e.rs.Signals[i]
		if s.Class != scaling.Guard || s.Out == nil {
			continue
		}
		expr := e.condition(s, s.Out)
		if expr == "" {
			e.note("guard %s compares with max_workers, which the rule set does not name: left out, so it holds nothing back", s.Name)
			continue
		}
		e.alert(alertGuard, s, scaling.Out, e.inMode(s, expr), s.Name+" is {{ $value }}: "+s.Advice, *s.Out, s.KeepFiringFor)
	}
}

// holders are the guards that hold a signal back and are exported.
func (e *exporter) holders(s *Signal) []string {
	var out []string
	for i := range e.rs.Signals {
		g := &e.rs.Signals[i]
		if g.Class == scaling.Guard && g.Out != nil && e.condition(g, g.Out) != "" &&
			slices.Contains(canonicalHolds(e.rs, g), s.Name) {
			out = append(out, g.Name)
		}
	}
	return out
}

func (e *exporter) scaleOut() {
	for i := range e.rs.Signals {
		s := &e.rs.Signals[i]
		if s.Out == nil || s.Class == scaling.Guard || !e.applies(s) {
			continue
		}
		var expr strings.Builder
		expr.WriteString(e.inMode(s, e.condition(s, s.Out)))
		switch s.Class {
		case scaling.Blocking:
			for _, g := range e.holders(s) {
				fmt.Fprintf(&expr, " unless %s ALERTS{alertname=%q, alertstate=\"firing\", ruleset=%q, signal=%q}", e.on(), alertGuard, e.rs.Name, g)
			}
		case scaling.Saturation:
			fmt.Fprintf(&expr, " and %s (%s >= %s * %s)", e.on(), e.recorded("workers_reporting"), infinite(e.rs.MinCoverage), e.recorded("workers_current"))
		case scaling.Capacity:
			demand := e.demand()
			if demand == "" {
				e.note("signal %s: slots alone never scale out, and no signal is the demand: left out", s.Name)
				continue
			}
			fmt.Fprintf(&expr, " and %s (%s > 0)", e.on(), demand)
			e.note("signal %s: only while there is demand, and that for the same window", s.Name)
		}
		e.alert(alertScaleOut, s, scaling.Out, expr.String(), s.Name+" is {{ $value }}, "+s.Out.text(), *s.Out, s.KeepFiringFor)
	}
}

// demand selects the signal that is marked demand.
func (e *exporter) demand() string {
	for i := range e.rs.Signals {
		if e.rs.Signals[i].Demand {
			return e.recorded("signal:" + e.rs.Signals[i].Name)
		}
	}
	return ""
}

func (e *exporter) scaleIn() {
	var parts []string
	var longest Condition
	different := false
	for i := range e.rs.Signals {
		s := &e.rs.Signals[i]
		if s.In == nil || !e.applies(s) {
			continue
		}
		different = different || len(parts) > 0 && s.In.For != longest.For
		longest.For = max(longest.For, s.In.For)
		expr := e.condition(s, s.In)
		if others := otherModes(s.SlotModes); len(others) > 0 && e.rs.SlotModeExpr != nil {
			expr = fmt.Sprintf("(%s or %s (%s))", expr, e.on(), e.modes(others))
		}
		parts = append(parts, expr)
	}
	if len(parts) == 0 {
		return
	}
	if different {
		e.note("scale_in windows differ; all conditions together are held for the longest, %s", model.Duration(longest.For))
	}
	var expr strings.Builder
	fmt.Fprintf(&expr, "(%s >= %s %s)", e.recorded("workers_reporting"), e.on(), e.recorded("workers_current"))
	parts = append(parts, fmt.Sprintf("%s > %d", e.recorded("workers_current"), e.boundsOf().Min))
	for _, p := range parts {
		expr.WriteString(" and " + e.on() + " (" + p + ")")
	}
	fmt.Fprintf(&expr, " unless %s ALERTS{alertname=%q, alertstate=\"firing\", ruleset=%q}", e.on(), alertScaleOut, e.rs.Name)
	e.alert(alertScaleIn, nil, scaling.In, expr.String(), "every scale_in condition holds", longest, 0)
}

// otherModes are the modes in which a signal does not apply.
func otherModes(modes []scaling.SlotMode) []scaling.SlotMode {
	var out []scaling.SlotMode
	if len(modes) == 0 {
		return out
	}
	for _, m := range []scaling.SlotMode{scaling.FixedSlots, scaling.DynamicSlots, scaling.MixedSlots} {
		if !slices.Contains(modes, m) {
			out = append(out, m)
		}
	}
	return out
}

func (e *exporter) bounds() {
	b := e.boundsOf()
	e.note("bounds: those of the rule set; what the configuration of a scope says is not known here")
	if b.Min > 0 {
		e.alert(alertBelowMin, nil, scaling.Out, fmt.Sprintf("%s < %d", e.recorded("workers_current"), b.Min),
			fmt.Sprintf("{{ $value }} workers are fewer than min_workers %d", b.Min), Condition{For: b.FloorDelay}, 0)
	}
}

// boundsOf are the set's own bounds or the default ones.
func (e *exporter) boundsOf() scaling.Bounds {
	if e.rs.Bounds != nil {
		return *e.rs.Bounds
	}
	return scaling.DefaultBounds()
}
