package rules

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Parse decodes one rule set strictly; file is only used to name places. With
// any error the rule set is nil and the error is an *ErrorList of everything
// that is wrong with the file. Warnings are kept in the rule set.
func Parse(file string, data []byte) (*RuleSet, error) {
	d := &decoder{file: file, text: newText(data)}
	rs := &RuleSet{File: file, keys: map[string]Position{}, text: d.text}
	if root := d.root(data); root != nil && d.checkFormat(root) {
		d.ruleSet(root, rs)
		d.ds = append(d.ds, run(errorLints(), rs)...)
	}
	if len(d.ds) > 0 {
		sortDiagnostics(d.ds)
		return nil, &ErrorList{Diagnostics: d.ds}
	}
	rs.Digest = digest(rs)
	rs.Warnings = Lint(rs)
	return rs, nil
}

// ParseFile reads and decodes a file.
func ParseFile(path string) (*RuleSet, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading a rule set: %w", err)
	}
	defer f.Close()
	data, err := readLimited(f)
	if err != nil {
		return nil, fmt.Errorf("reading rule set %s: %w", path, err)
	}
	return Parse(path, data)
}

// checkFormat refuses a format of another major version at once: judged by the
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
		d.failf(root, CheckFormat, hint, "the file is no rule set: none of its keys is one of a rule set")
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
		d.failf(v, CheckFormat, hint, "format is %q, known: %s", v.Value, Format)
		return false
	}
	return true
}

// setKeys are the keys that tell a rule set from other YAML.
func setKeys() []string { return []string{"format", "ruleset", "version", "workers", "signals"} }

// Names end up in labels, file names and URLs.
var (
	setName    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	signalName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,127}$`)
	labelName  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

func (d *decoder) ruleSet(root *yaml.Node, rs *RuleSet) {
	rs.Interval, rs.SlotMode = DefaultInterval, scaling.FixedSlots
	rs.MinCoverage, rs.GapTolerance = DefaultMinCoverage, DefaultGapTolerance
	rs.Step = defaultStep()
	d.mapping(
		root, "the rule set", "", rs.keys,
		field{name: "format", required: true, decode: func(n *yaml.Node) { d.str(n, "format") }},
		field{name: "ruleset", required: true, decode: func(n *yaml.Node) { rs.Name = d.name(n, "ruleset", setName) }},
		field{name: "version", required: true, decode: func(n *yaml.Node) { rs.Version = d.version(n) }},
		field{name: "description", decode: func(n *yaml.Node) { rs.Description, _ = d.str(n, "description") }},
		field{name: "interval", decode: func(n *yaml.Node) { set(&rs.Interval)(d.duration(n, "interval", time.Second, maxInterval)) }},
		field{name: "query_offset", decode: func(n *yaml.Node) { set(&rs.QueryOffset)(d.duration(n, "query_offset", 0, maxDuration)) }},
		field{name: "scope_by", decode: func(n *yaml.Node) { d.scopeBy(n, rs) }},
		field{name: "slot_mode", decode: func(n *yaml.Node) { d.slotMode(n, rs) }},
		field{name: "min_coverage", decode: func(n *yaml.Node) { d.minCoverage(n, rs) }},
		field{name: "gap_tolerance", decode: func(n *yaml.Node) {
			set(&rs.GapTolerance)(d.integer(n, "gap_tolerance", 0, 1000))
		}},
		field{name: "workers", required: true, decode: func(n *yaml.Node) { d.workers(n, rs) }},
		field{name: "bounds", decode: func(n *yaml.Node) { d.bounds(n, rs) }},
		field{name: "step", decode: func(n *yaml.Node) { d.step(n, rs) }},
		field{name: "signals", required: true, decode: func(n *yaml.Node) { d.signals(n, rs) }},
	)
	d.checkBounds(rs)
}

// set stores a decoded value if decoding succeeded.
func set[T any](to *T) func(T, bool) {
	return func(v T, ok bool) {
		if ok {
			*to = v
		}
	}
}

func (d *decoder) name(n *yaml.Node, what string, pattern *regexp.Regexp) string {
	s, ok := d.str(n, what)
	if ok && !pattern.MatchString(s) {
		d.failf(n, CheckValue, "", "%s is %q, expected a name matching %s", what, s, pattern)
	}
	return s
}

func (d *decoder) version(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode && n.ShortTag() != "!!str" {
		d.failf(n, CheckType, "a version has three numbers", "version is %s, expected a semantic version such as 1.0.0", kindOf(n))
		return ""
	}
	s, ok := d.str(n, "version")
	if _, err := semver.StrictNewVersion(s); ok && err != nil {
		d.failf(n, CheckValue, "", "version is %q, expected a semantic version such as 1.0.0", s)
	}
	return s
}

func (d *decoder) scopeBy(n *yaml.Node, rs *RuleSet) {
	d.list(n, "scope_by", func(e *yaml.Node) {
		s, ok := d.str(e, "a label of scope_by")
		switch {
		case !ok:
		case !labelName.MatchString(s) || strings.HasPrefix(s, "__"):
			d.failf(e, CheckValue, "a name of letters, digits and _: relabel it in the scrape configuration, or rename it with label_replace in every expression",
				"scope_by has %q, expected the name of a label", s)
		case slices.Contains(rs.ScopeBy, s):
			d.failf(e, CheckValue, "", "scope_by has %q twice", s)
		case slices.Contains(ownLabels(), s):
			d.failf(e, CheckScopeLabel, "relabel it in the scrape configuration, for example to zeta_"+s,
				"scope_by has %q, a label that zeta-scaler's own metrics use", s)
		default:
			rs.ScopeBy = append(rs.ScopeBy, s)
		}
	})
}

// ownLabels are the labels of seatunnel_autoscaler_* (spec 3.2): a scope's
// labels are added to them.
func ownLabels() []string {
	return []string{
		"scope", "action", "status", "signal", "class", "direction", "bound",
		"ruleset", "version", "digest", "slot_mode", "reason",
	}
}

func (d *decoder) slotMode(n *yaml.Node, rs *RuleSet) {
	if n.Kind != yaml.MappingNode {
		if m := scaling.SlotMode(n.Value); n.Kind == yaml.ScalarNode && (m == scaling.FixedSlots || m == scaling.DynamicSlots) {
			rs.SlotMode = m
			return
		}
		d.failf(n, CheckValue, "", "slot_mode is %s, expected fixed, dynamic or {expr: …}", kindOf(n))
		return
	}
	rs.SlotMode = ""
	d.mapping(n, "slot_mode", "slot_mode.", rs.keys, field{name: "expr", required: true, decode: func(v *yaml.Node) {
		rs.SlotModeExpr = d.expr(v, "slot_mode.expr")
	}})
}

func (d *decoder) minCoverage(n *yaml.Node, rs *RuleSet) {
	v, ok := d.finite(n, "min_coverage")
	if ok && (v < 0 || v > 1) {
		d.failf(n, CheckValue, "", "min_coverage is %v, expected a ratio from 0 to 1", v)
		return
	}
	set(&rs.MinCoverage)(v, ok)
}

func (d *decoder) workers(n *yaml.Node, rs *RuleSet) {
	w := &rs.Workers
	input := func(to **Expr, name string, required bool) field {
		return field{name: name, required: required, decode: func(v *yaml.Node) {
			d.mapping(v, "workers."+name, "workers."+name+".", rs.keys, field{name: "expr", required: true, decode: func(e *yaml.Node) {
				*to = d.expr(e, "workers."+name+".expr")
			}})
		}}
	}
	d.mapping(
		n, "workers", "workers.", rs.keys,
		input(&w.Current, "current", true),
		input(&w.Reporting, "reporting", true),
		field{name: "master", decode: func(v *yaml.Node) {
			d.mapping(
				v, "workers.master", "workers.master.", rs.keys,
				field{name: "expr", required: true, decode: func(e *yaml.Node) { w.Master = d.expr(e, "workers.master.expr") }},
				field{name: "label", required: true, decode: func(e *yaml.Node) { w.MasterLabel = d.name(e, "workers.master.label", labelName) }},
			)
		}},
		input(&w.Slots, "slots", false),
		input(&w.Unsatisfied, "unsatisfied", false),
	)
}

// most is the greatest count that is believed to be meant.
const most = math.MaxInt32

func (d *decoder) bounds(n *yaml.Node, rs *RuleSet) {
	b := scaling.DefaultBounds()
	d.mapping(
		n, "bounds", "bounds.", rs.keys,
		field{name: "min_workers", decode: func(v *yaml.Node) { set(&b.Min)(d.integer(v, "min_workers", 0, most)) }},
		field{name: "max_workers", decode: func(v *yaml.Node) { set(&b.Max)(d.integer(v, "max_workers", 1, most)) }},
		field{name: "floor_delay", decode: func(v *yaml.Node) { set(&b.FloorDelay)(d.duration(v, "floor_delay", 0, maxDuration)) }},
	)
	rs.Bounds = &b
}

func defaultStep() Step {
	return Step{
		Policy: StepFixed, Workers: DefaultStepWorkers, Unit: DefaultUnit, MaxStep: DefaultMaxStep,
		SustainedBacklog: DefaultSustainedBacklog, SchedulerBacklog: DefaultSchedulerBacklog, BootDeadline: DefaultBootDeadline,
	}
}

func (d *decoder) step(n *yaml.Node, rs *RuleSet) {
	s := &rs.Step
	d.mapping(
		n, "step", "step.", rs.keys,
		field{name: "policy", decode: func(v *yaml.Node) {
			set(&s.Policy)(word(d, v, "step.policy", StepFixed, StepExponential, StepDemand))
		}},
		field{name: "workers", decode: func(v *yaml.Node) { set(&s.Workers)(d.integer(v, "step.workers", 1, most)) }},
		field{name: "unit", decode: func(v *yaml.Node) { set(&s.Unit)(d.integer(v, "step.unit", 1, most)) }},
		field{name: "max_step", decode: func(v *yaml.Node) { set(&s.MaxStep)(d.integer(v, "step.max_step", 1, most)) }},
		field{name: "sustained_backlog", decode: func(v *yaml.Node) {
			set(&s.SustainedBacklog)(d.duration(v, "step.sustained_backlog", 0, maxDuration))
		}},
		field{name: "scheduler_backlog", decode: func(v *yaml.Node) {
			set(&s.SchedulerBacklog)(d.duration(v, "step.scheduler_backlog", 0, maxDuration))
		}},
		field{name: "boot_deadline", decode: func(v *yaml.Node) { set(&s.BootDeadline)(d.duration(v, "step.boot_deadline", 0, maxDuration)) }},
	)
}
