package rules

import (
	"fmt"
	"io"
	"slices"
	"strings"
	texttemplate "text/template"

	"github.com/prometheus/alertmanager/template"
	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func (d *decoder) signals(n *yaml.Node, rs *RuleSet) {
	d.list(n, "signals", func(e *yaml.Node) { rs.Signals = append(rs.Signals, d.signal(e)) })
	if n.Kind != yaml.SequenceNode {
		// Without a list, what is said about the set as a whole makes no sense.
		rs.keys["signals!"] = d.pos(n)
		return
	}
	if len(rs.Signals) > maxSignals {
		d.failf(n, CheckTooLarge, "split the rule set", "%d signals, at most %d can be judged", len(rs.Signals), maxSignals)
	}
	d.unique(rs.Signals, CheckDuplicateSignal, "signal", func(s *Signal) string { return s.Name })
	d.unique(rs.Signals, CheckValue, "export", func(s *Signal) string { return s.Export })
}

// unique refuses two signals with the same value under a key.
func (d *decoder) unique(signals []Signal, check, key string, value func(*Signal) string) {
	first := map[string]Position{}
	for i := range signals {
		s := &signals[i]
		v := value(s)
		if v == "" {
			continue
		}
		if p, ok := first[v]; ok {
			d.report(s.at(key), SeverityError, check, "",
				fmt.Sprintf("%s %q is there twice, first in line %d", key, v, p.Line))
			continue
		}
		first[v] = s.at(key)
	}
}

// exports are the input metrics of spec 3.2 that a signal can feed.
func exports() []string {
	return []string{
		"input_avg_cpu", "input_avg_memory", "input_slot_utilization", "input_blocked_jobs",
		"input_oldest_blocked_seconds", "input_unsatisfied_slots", "input_resource_rejections",
	}
}

func (d *decoder) signal(n *yaml.Node) Signal {
	s := Signal{Pos: d.pos(n), Absent: AbsentUnknown, keys: map[string]Position{}}
	var out, in *yaml.Node
	var required *bool
	d.mapping(
		n, "a signal", "", s.keys,
		field{name: "signal", required: true, decode: func(v *yaml.Node) { s.Name = d.name(v, "signal", signalName) }},
		field{name: "class", required: true, decode: func(v *yaml.Node) {
			set(&s.Class)(word(d, v, "class", scaling.Blocking, scaling.Saturation, scaling.Capacity, scaling.Guard))
		}},
		field{name: "expr", required: true, decode: func(v *yaml.Node) { s.Expr = d.expr(v, "expr") }},
		field{name: "unit", decode: func(v *yaml.Node) { s.Unit, _ = d.str(v, "unit") }},
		field{name: "summary", decode: func(v *yaml.Node) { s.Summary = d.summary(v) }},
		field{name: "export", decode: func(v *yaml.Node) { s.Export, _ = word(d, v, "export", exports()...) }},
		field{name: "range", decode: func(v *yaml.Node) { s.Range = d.rangeOf(v) }},
		field{name: "absent", decode: func(v *yaml.Node) { set(&s.Absent)(word(d, v, "absent", AbsentUnknown, AbsentZero)) }},
		field{name: "required", decode: func(v *yaml.Node) {
			if b, ok := d.boolean(v, "required"); ok {
				required = &b
			}
		}},
		field{name: "demand", decode: func(v *yaml.Node) { set(&s.Demand)(d.boolean(v, "demand")) }},
		field{name: "slot_mode", decode: func(v *yaml.Node) { d.signalSlotMode(v, &s) }},
		field{name: "keep_firing_for", decode: func(v *yaml.Node) { set(&s.KeepFiringFor)(d.duration(v, "keep_firing_for", 0, maxDuration)) }},
		field{name: "scale_out", decode: func(v *yaml.Node) { out = v }},
		field{name: "scale_in", decode: func(v *yaml.Node) { in = v }},
		field{name: "holds", decode: func(v *yaml.Node) { d.holds(v, &s) }},
		field{name: "advice", decode: func(v *yaml.Node) { s.Advice, _ = d.str(v, "advice") }},
	)
	s.Required = s.Class == scaling.Blocking || s.Class == scaling.Saturation
	if required != nil {
		s.Required = *required
	}
	if s.Unit == unitRatio && s.Range == nil && s.keys["range"] == (Position{}) {
		s.Range = &[2]float64{0, 1}
	}
	s.Out = d.condition(out, scaling.Out, &s)
	s.In = d.condition(in, scaling.In, &s)
	return s
}

// unitRatio is the unit whose range and thresholds have defaults.
const unitRatio = "ratio"

func (d *decoder) rangeOf(n *yaml.Node) *[2]float64 {
	var ends []float64
	ok := d.list(n, "range", func(e *yaml.Node) {
		if v, ok := d.number(e, "an end of range"); ok {
			ends = append(ends, v)
		}
	})
	if !ok || len(ends) < len(n.Content) {
		return nil
	}
	if len(ends) != 2 || ends[0] >= ends[1] {
		d.failf(n, CheckValue, "", "range is %v, expected [least, greatest]", ends)
		return nil
	}
	return &[2]float64{ends[0], ends[1]}
}

func (d *decoder) signalSlotMode(n *yaml.Node, s *Signal) {
	what := "slot_mode of a signal"
	d.list(n, what, func(e *yaml.Node) {
		m, ok := word(d, e, what, scaling.FixedSlots, scaling.DynamicSlots, scaling.MixedSlots)
		switch {
		case ok && slices.Contains(s.SlotModes, m):
			d.failf(e, CheckValue, "", "%s has %s twice", what, m)
		case ok:
			s.SlotModes = append(s.SlotModes, m)
		}
	})
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		d.failf(n, CheckValue, "leave it out: the signal applies in every slot mode", "%s is empty", what)
	}
}

func (d *decoder) holds(n *yaml.Node, s *Signal) {
	s.HoldsSet = d.list(n, "holds", func(e *yaml.Node) {
		if name, ok := d.str(e, "an entry of holds"); ok {
			s.Holds = append(s.Holds, name)
			s.keys["holds."+name] = d.pos(e)
		}
	})
}

// SummaryData is what a signal's summary template sees.
type SummaryData struct {
	Signal, Scope string
	Labels        map[string]string
	Value         float64
	Comparison    string
	Threshold     float64
	// Held and Window are durations as Prometheus writes them.
	Held, Window string
	Unit         string
	Current      int
}

// summary decodes a template. Its functions are alertmanager's. One that cannot
// be rendered would stop the evaluator from starting.
func (d *decoder) summary(n *yaml.Node) string {
	s, ok := d.str(n, "summary")
	if !ok {
		return ""
	}
	funcs := texttemplate.FuncMap(template.DefaultFuncs)
	t, err := texttemplate.New("summary").Option("missingkey=zero").Funcs(funcs).Parse(s)
	if err != nil {
		d.failf(n, CheckTemplate, "", "summary is not a template: %s", strings.TrimPrefix(err.Error(), "template: summary:"))
		return s
	}
	if err := t.Execute(io.Discard, SummaryData{}); err != nil {
		d.failf(n, CheckTemplate, "it sees .Signal, .Scope, .Labels, .Value, .Comparison, .Threshold, .Held, .Window, .Unit and .Current",
			"summary cannot be rendered: %s", strings.TrimPrefix(err.Error(), "template: summary:"))
	}
	return s
}

// thresholdMaxWorkers is the word for the scope's own upper bound.
const thresholdMaxWorkers = "max_workers"

// condition decodes one direction of a signal, nil without one.
func (d *decoder) condition(n *yaml.Node, dir scaling.Direction, s *Signal) *Condition {
	if n == nil {
		return nil
	}
	c := Condition{For: DefaultOutFor}
	if dir == scaling.In {
		c.For = DefaultInFor
	}
	what, bad, before := string(dir), false, len(d.ds)
	comparison := func(cmp Comparison) field {
		return field{name: string(cmp), decode: func(v *yaml.Node) {
			if c.Comparison != "" {
				d.failf(v, CheckValue, "keep one of them", "%s has both %s and %s, expected one comparison", what, c.Comparison, cmp)
			}
			c.Comparison = cmp
			bad = !d.threshold(v, what+"."+string(cmp), s, &c) || bad
		}}
	}
	ok := d.mapping(
		n, what, what+".", s.keys,
		comparison(Above), comparison(AtLeast), comparison(Below), comparison(AtMost),
		field{name: "for", decode: func(v *yaml.Node) { set(&c.For)(d.duration(v, what+".for", 0, maxDuration)) }},
	)
	if !ok || bad {
		return &Condition{For: c.For, Comparison: badComparison}
	}
	if c.Comparison != "" {
		return &c
	}
	if slices.ContainsFunc(d.ds[before:], func(f Diagnostic) bool { return f.Check == CheckUnknownKey }) {
		c.Comparison = badComparison // the unknown key was meant to be one
		return &c
	}
	if s.Unit != unitRatio {
		d.failf(n, CheckMissingKey, "only ratios have default thresholds (unit: ratio)",
			"%s lacks a comparison, expected above, at_least, below or at_most", what)
		c.Comparison = badComparison
		return &c
	}
	c.Comparison, c.Threshold = Above, DefaultOutThreshold
	if dir == scaling.In {
		c.Comparison, c.Threshold = Below, DefaultInThreshold
	}
	return &c
}

// badComparison marks a condition that is there but could not be read, so that
// nothing is said about what it would mean.
const badComparison Comparison = "?"

func (d *decoder) threshold(n *yaml.Node, what string, s *Signal, c *Condition) bool {
	if n.Kind == yaml.ScalarNode && n.Value == thresholdMaxWorkers {
		c.MaxWorkers = true
		if s.Class == scaling.Guard {
			return true
		}
		d.failf(n, CheckValue, "", "%s is the word max_workers, which only guards can have; expected a number", what)
		return false
	}
	v, ok := d.finite(n, what)
	c.Threshold = v
	return ok
}
