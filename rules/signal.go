package rules

import (
	"fmt"
	"io"
	"slices"
	"strings"
	texttemplate "text/template"

	"github.com/prometheus/alertmanager/template"
	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// signal fills in a signal from its form; path is where that stands.
func (d *decoder) signal(f *signalForm, path string) Signal {
	s := Signal{
		Name: f.Name, Class: f.Class, Expr: f.Expr, Unit: f.Unit, Summary: f.Summary, Export: string(f.Export),
		Range: (*[2]float64)(f.Range), Absent: f.Absent, Demand: f.Demand, Surplus: f.Surplus, KeepFiringFor: f.KeepFiringFor,
		Holds: f.Holds, HoldsSet: f.Holds != nil, Advice: f.Advice,
		Pos: d.places[path], path: path, places: d.places,
		Required: f.Class == scaling.Blocking || f.Class == scaling.Saturation,
	}
	if f.Required != nil {
		s.Required = *f.Required
	}
	if _, given := d.places[document.Join(path, "range")]; s.Unit == unitRatio && !given {
		s.Range = &[2]float64{0, 1}
	}
	if f.SlotModes != nil && len(f.SlotModes) == 0 {
		d.failAt(s.at("slot_mode"), "leave it out: the signal applies in every slot mode", "slot_mode of a signal is empty")
	}
	for i, m := range f.SlotModes {
		switch {
		case m == "": // was not one
		case slices.Contains(s.SlotModes, m):
			d.failAt(s.at(document.Index("slot_mode", i)), "", "slot_mode of a signal has "+string(m)+" twice")
		default:
			s.SlotModes = append(s.SlotModes, m)
		}
	}
	s.Out = d.condition(f.Out, scaling.Out, &s)
	s.In = d.condition(f.In, scaling.In, &s)
	return s
}

func (d *decoder) failAt(p document.Position, hint, message string) {
	d.Add(document.SeverityError, p, document.CheckValue, hint, "%s", message)
}

// checkSignals checks the signals as a list.
func (d *decoder) checkSignals(rs *RuleSet) {
	if len(rs.Signals) > maxSignals {
		d.Add(document.SeverityError, rs.Signals[maxSignals].Pos, document.CheckTooLarge, "split the rule set",
			"%d signals, at most %d can be judged", len(rs.Signals), maxSignals)
	}
	d.unique(rs.Signals, CheckDuplicateSignal, "signal", func(s *Signal) string { return s.Name })
	d.unique(rs.Signals, document.CheckValue, "export", func(s *Signal) string { return s.Export })
}

// unique refuses two signals with the same value under a key.
func (d *decoder) unique(signals []Signal, check, key string, value func(*Signal) string) {
	first := map[string]document.Position{}
	for i := range signals {
		s := &signals[i]
		v := value(s)
		if v == "" {
			continue
		}
		if p, ok := first[v]; ok {
			d.Add(document.SeverityError, s.at(key), check, "", "%s %q is there twice, first in line %d", key, v, p.Line)
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

func decodeExport(d *document.Decoder, n *yaml.Node, _ document.Field, p document.Path) (any, bool) {
	s, ok := d.OneOf(n, exports(), p)
	return export(s), ok
}

// unitRatio is the unit whose range and thresholds have defaults.
const unitRatio = "ratio"

func decodeRange(d *document.Decoder, n *yaml.Node, _ document.Field, p document.Path) (any, bool) {
	var ends []float64
	if !d.List(n, &ends, document.Checks{"infinite": "", "title": "an end of range"}, p) {
		return nil, false
	}
	if len(ends) != 2 || ends[0] >= ends[1] {
		d.Fail(n, document.CheckValue, "", "range is %v, expected [least, greatest]", ends)
		return nil, false
	}
	return valueRange{ends[0], ends[1]}, true
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

// checkTemplate checks a template. Its functions are alertmanager's. One that
// cannot be rendered would stop the evaluator from starting.
func checkTemplate(d *document.Decoder, n *yaml.Node, s, _ string, _ document.Path) (string, bool) {
	funcs := texttemplate.FuncMap(template.DefaultFuncs)
	t, err := texttemplate.New("summary").Option("missingkey=zero").Funcs(funcs).Parse(s)
	if err != nil {
		d.Fail(n, CheckTemplate, "", "summary is not a template: %s", strings.TrimPrefix(err.Error(), "template: summary:"))
		return s, true
	}
	if err := t.Execute(io.Discard, SummaryData{}); err != nil {
		d.Fail(n, CheckTemplate, "it sees .Signal, .Scope, .Labels, .Value, .Comparison, .Threshold, .Held, .Window, .Unit and .Current",
			"summary cannot be rendered: %s", strings.TrimPrefix(err.Error(), "template: summary:"))
	}
	return s, true
}

// thresholdMaxWorkers is the word for the scope's own upper bound.
const thresholdMaxWorkers = "max_workers"

func decodeThreshold(d *document.Decoder, n *yaml.Node, f document.Field, p document.Path) (any, bool) {
	if n.Kind == yaml.ScalarNode && n.Value == thresholdMaxWorkers {
		return threshold{maxWorkers: true}, true
	}
	v, ok := d.Number(n, f.Checks, p)
	return threshold{number: v}, ok
}

// badComparison marks a condition that is there but could not be read, so that
// nothing is said about what it would mean.
const badComparison Comparison = "?"

// decodeCondition decodes one direction of a signal. The comparison is empty
// where there is none.
func (d *decoder) decodeCondition(_ *document.Decoder, n *yaml.Node, _ document.Field, p document.Path) (any, bool) {
	before := len(d.Errors)
	f := &conditionForm{}
	d.Into(n, f, p)
	c := Condition{For: f.For}
	bad := n.Kind != yaml.MappingNode
	for _, side := range []struct {
		comparison Comparison
		threshold  *threshold
	}{{Above, f.Above}, {AtLeast, f.AtLeast}, {Below, f.Below}, {AtMost, f.AtMost}} {
		at, given := d.places[document.Join(p.Full, string(side.comparison))]
		switch {
		case !given:
		case side.threshold == nil:
			bad = true
		case c.Comparison != "":
			d.failAt(at, "keep one of them", fmt.Sprintf("%s has both %s and %s, expected one comparison", p.Subject, c.Comparison, side.comparison))
		default:
			c.Comparison, c.Threshold, c.MaxWorkers = side.comparison, side.threshold.number, side.threshold.maxWorkers
		}
	}
	unknown := func(e document.Diagnostic) bool { return e.Check == document.CheckUnknownKey }
	if bad || c.Comparison == "" && slices.ContainsFunc(d.Errors[before:], unknown) {
		c.Comparison = badComparison // the unknown key was meant to be one
	}
	return c, true
}

// condition completes one direction of a signal, nil without one.
func (d *decoder) condition(c *Condition, dir scaling.Direction, s *Signal) *Condition {
	if c == nil {
		return nil
	}
	if c.For == noWindow {
		c.For = DefaultOutFor
		if dir == scaling.In {
			c.For = DefaultInFor
		}
	}
	switch {
	case c.Comparison == badComparison:
	case c.MaxWorkers && s.Class != scaling.Guard:
		what := string(dir) + "." + string(c.Comparison)
		d.failAt(s.at(what), "", what+" is the word max_workers, which only guards can have; expected a number")
		c.Comparison = badComparison
	case c.Comparison != "":
	case s.Unit != unitRatio:
		d.Add(document.SeverityError, s.at(string(dir)), document.CheckMissingKey, "only ratios have default thresholds (unit: ratio)",
			"%s lacks a comparison, expected above, at_least, below or at_most", dir)
		c.Comparison = badComparison
	case dir == scaling.Out:
		c.Comparison, c.Threshold = Above, DefaultOutThreshold
	default:
		c.Comparison, c.Threshold = Below, DefaultInThreshold
	}
	return c
}
