package rules

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Limits on what is read at all: rule sets are written by people.
const (
	maxFileBytes = 1 << 20
	maxDepth     = 32
	maxExprBytes = 16 << 10
	maxSignals   = 64 // the evaluator keeps a bit per signal
)

// decoder decodes one file.
type decoder struct {
	*document.Decoder
	places document.Places
}

// Parse decodes one rule set strictly; file is only used to name places. With
// any error the rule set is nil and the error is a *document.ErrorList of
// everything that is wrong with the file. Warnings are kept in the rule set.
func Parse(file string, data []byte) (*RuleSet, error) {
	report, root := document.Parse(file, data, document.ParseOptions{MaxBytes: maxFileBytes, MaxDepth: maxDepth})
	d := &decoder{places: document.Places{}}
	d.Decoder = &document.Decoder{Report: report, Schema: d.schema(), Name: file, Note: func(path string, n *yaml.Node) {
		d.places[path] = report.Pos(n)
	}}
	rs := &RuleSet{File: file, places: d.places, text: report.Text()}
	switch {
	case root != nil && d.checkFormat(root):
		d.ruleSet(root, rs)
		report.Errors = append(report.Errors, run(errorLints(), rs)...)
	case root == nil && len(report.Errors) == 0:
		d.Fail(&yaml.Node{Line: 1, Column: 1}, document.CheckYAML, "start with the line format: "+Format,
			"the file is empty, expected a rule set")
	}
	if len(report.Errors) > 0 {
		document.Sort(report.Errors)
		return nil, &document.ErrorList{Diagnostics: report.Errors}
	}
	rs.Digest = digest(rs)
	rs.Warnings = Lint(rs)
	return rs, nil
}

// ParseFile reads and decodes a file.
func ParseFile(path string) (*RuleSet, error) {
	data, err := document.ReadFile(path, maxFileBytes)
	if err != nil {
		return nil, fmt.Errorf("reading a rule set: %w", err)
	}
	return Parse(path, data)
}

// checkFormat refuses a format of another major version at once: by the
// rules of this one, its other keys would only make noise.
func (d *decoder) checkFormat(root *yaml.Node) bool {
	if root.Kind != yaml.MappingNode {
		return true
	}
	if !slices.ContainsFunc(root.Content, func(n *yaml.Node) bool { return slices.Contains(setKeys(), n.Value) }) {
		hint := "a rule set begins with the line format: " + Format
		if slices.ContainsFunc(root.Content, func(n *yaml.Node) bool { return n.Value == "rule_files" || n.Value == "packs" }) {
			hint = "it looks like a rule test: zeta-scaler test FILE runs those"
		}
		d.Fail(root, CheckFormat, hint, "the file is no rule set: none of its keys is one of a rule set")
		return false
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		v := root.Content[i+1]
		if root.Content[i].Value != "format" || v.Kind != yaml.ScalarNode || v.Value == Format {
			continue
		}
		hint := "write format: " + Format
		if strings.HasPrefix(v.Value, "zeta-scaler/v") {
			hint = "this file may be for another version of zeta-scaler"
		}
		d.Fail(v, CheckFormat, hint, "format is %q, known: %s", v.Value, Format)
		return false
	}
	return true
}

// setKeys are the keys that tell a rule set from other YAML.
func setKeys() []string { return []string{"format", "ruleset", "version", "workers", "signals"} }

// ruleSet decodes a file into its form and fills in the rule set from that.
func (d *decoder) ruleSet(root *yaml.Node, rs *RuleSet) {
	f := &setForm{}
	f.SetDefaults()
	d.Decode(root, f, "the rule set")
	rs.Name, rs.Version, rs.Description = f.Name, string(f.Version), f.Description
	rs.Interval, rs.QueryOffset = f.Interval, f.QueryOffset
	rs.SlotMode, rs.SlotModeExpr = f.SlotMode.Mode, f.SlotMode.Expr
	rs.MinCoverage, rs.GapTolerance, rs.Step = f.MinCoverage, f.GapTolerance, f.Step
	w := &f.Workers
	rs.Workers = Workers{
		Current: w.Current.Expr, Reporting: w.Reporting.Expr, Master: w.Master.Expr, MasterLabel: w.Master.Label,
		Slots: w.Slots.Expr, Unsatisfied: w.Unsatisfied.Expr, Free: w.Free.Expr, Sources: w.Sources.Expr,
	}
	if b := f.Bounds; b != nil {
		rs.Bounds = &scaling.Bounds{Min: b.MinWorkers, Max: b.MaxWorkers, FloorDelay: b.FloorDelay}
	}
	for i, label := range f.ScopeBy {
		switch {
		case label == "": // was not one
		case slices.Contains(rs.ScopeBy, label):
			d.Add(document.SeverityError, d.places[document.Index("scope_by", i)], document.CheckValue, "", "scope_by has %q twice", label)
		default:
			rs.ScopeBy = append(rs.ScopeBy, label)
		}
	}
	rs.signalsUnread = !hasList(root, "signals")
	for i := range f.Signals {
		rs.Signals = append(rs.Signals, d.signal(&f.Signals[i], document.Index("signals", i)))
	}
	d.checkSignals(rs)
	d.checkBounds(rs)
}

// hasList reports whether a mapping has a list under a key.
func hasList(n *yaml.Node, key string) bool {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1].Kind == yaml.SequenceNode
		}
	}
	return false
}

// schema is what rule sets are made of.
func (d *decoder) schema() *document.Schema {
	return &document.Schema{
		Types: map[reflect.Type]document.DecodeFunc{
			reflect.TypeFor[Expr]():       d.expr,
			reflect.TypeFor[version]():    decodeVersion,
			reflect.TypeFor[slotMode]():   decodeSlotMode,
			reflect.TypeFor[export]():     decodeExport,
			reflect.TypeFor[valueRange](): decodeRange,
			reflect.TypeFor[Condition]():  d.decodeCondition,
			reflect.TypeFor[threshold]():  decodeThreshold,
		},
		Words:       map[string]document.WordFunc{"name": checkName, "scopelabel": checkScopeLabel, "template": checkTemplate},
		UnknownHint: unknownHint,
		MissingHint: missingHint,
	}
}

// signalLevel are the keys that people look for inside of scale_out.
var signalLevel = []string{"keep_firing_for", "absent", "required", "holds", "advice", "summary", "export"}

func unknownHint(_ document.Path, key string) string {
	if slices.Contains(signalLevel, key) {
		return key + " stands at the level of the signal, beside scale_out"
	}
	return ""
}

func missingHint(section document.Path, key string) string {
	switch {
	case section.Full == "workers" && key == "reporting":
		return "reporting counts the workers whose samples are fresh; without it nothing could tell a dead sample from an idle worker, so it must be given together with current"
	case section.Full == "workers" || key == "workers":
		return "workers.current and workers.reporting must both be given: how many workers are registered, and how many of them report"
	case key == "format":
		return "add the line format: " + Format
	}
	return ""
}

// Names end up in labels, file names and URLs.
var (
	setName    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$`)
	signalName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,127}$`)
	labelName  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

func checkName(d *document.Decoder, n *yaml.Node, s, of string, p document.Path) (string, bool) {
	pattern := map[string]*regexp.Regexp{"set": setName, "signal": signalName, "label": labelName}[of]
	if !pattern.MatchString(s) {
		d.Fail(n, document.CheckValue, "", "%s is %q, expected a name matching %s", p.Subject, s, pattern)
	}
	return s, true
}

func checkScopeLabel(d *document.Decoder, n *yaml.Node, s, _ string, _ document.Path) (string, bool) {
	switch {
	case !labelName.MatchString(s) || strings.HasPrefix(s, "__"):
		d.Fail(n, document.CheckValue, "a name of letters, digits and _: relabel it in the scrape configuration, or rename it with label_replace in every expression",
			"scope_by has %q, expected the name of a label", s)
	case slices.Contains(ownLabels(), s):
		d.Fail(n, CheckScopeLabel, "relabel it in the scrape configuration, for example to zeta_"+s,
			"scope_by has %q, a label that zeta-scaler's own metrics use", s)
	default:
		return s, true
	}
	return "", false
}

// ownLabels are the labels of seatunnel_autoscaler_* (spec 3.2): a scope's
// labels are added to them.
func ownLabels() []string {
	return []string{
		"scope", "action", "status", "signal", "class", "direction", "bound",
		"ruleset", "version", "digest", "slot_mode", "reason",
	}
}

func decodeVersion(d *document.Decoder, n *yaml.Node, _ document.Field, p document.Path) (any, bool) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() != "!!str" {
		d.Fail(n, document.CheckType, "a version has three numbers", "version is %s, expected a semantic version such as 1.0.0", d.KindOf(n, p))
		return nil, false
	}
	s, ok := d.Text(n, p)
	if _, err := semver.StrictNewVersion(s); ok && err != nil {
		d.Fail(n, document.CheckValue, "", "version is %q, expected a semantic version such as 1.0.0", s)
	}
	return version(s), ok
}

func decodeSlotMode(d *document.Decoder, n *yaml.Node, _ document.Field, p document.Path) (any, bool) {
	if n.Kind == yaml.MappingNode {
		f := &exprForm{}
		d.Into(n, f, p)
		return slotMode{Expr: f.Expr}, true
	}
	if m := scaling.SlotMode(n.Value); n.Kind == yaml.ScalarNode && (m == scaling.FixedSlots || m == scaling.DynamicSlots) {
		return slotMode{Mode: m}, true
	}
	d.Fail(n, document.CheckValue, "", "slot_mode is %s, expected fixed, dynamic or {expr: …}", d.KindOf(n, p))
	return nil, false
}
