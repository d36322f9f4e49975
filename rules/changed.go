package rules

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Changes are numbers of a pack that somebody sets without owning a copy of it,
// by the names of its signals.
type Changes map[string]Change

// Change is what is set of one signal. What is not given stays as in the pack.
type Change struct {
	// Out and In change a condition that the signal has.
	Out *ConditionChange `yaml:"scale_out"`
	In  *ConditionChange `yaml:"scale_in"`
	// KeepFiringFor is for how much longer a full scale_out counts.
	KeepFiringFor *time.Duration `yaml:"keep_firing_for" check:"most=1y"`
}

// ConditionChange is another threshold, another window, or both. One of the
// comparisons takes the place of the pack's, whichever that is.
type ConditionChange struct {
	Above   *float64       `yaml:"above"`
	AtLeast *float64       `yaml:"at_least"`
	Below   *float64       `yaml:"below"`
	AtMost  *float64       `yaml:"at_most"`
	For     *time.Duration `yaml:"for" check:"most=1y"`
}

// changedSuffix ends the name of a pack with changes: it is not the pack.
const changedSuffix = "+set"

// ChangedName is the name of a pack with changes.
func ChangedName(pack string) string { return pack + changedSuffix }

// FailFunc makes a finding about a change; the path is "" for all of them.
type FailFunc func(path, check, message, hint string) document.Diagnostic

// Changed returns a pack with changes, as a rule set of its own name and digest,
// whose Source is the file that would be the same. It has passed every check of a rule
// set. An error about the changes is a *document.ErrorList, whose findings
// are made by fail, from paths such as "avg_cpu.scale_out"; the check is empty where
// the change itself is wrong, and not what it leads to.
func Changed(pack string, changes Changes, fail FailFunc) (*RuleSet, error) {
	was, data, err := Pack(pack)
	if err != nil {
		return nil, err
	}
	e := &edits{was: was, lines: strings.Split(string(data), "\n"), paths: map[int]string{}, fail: fail}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		e.change(name, changes[name])
	}
	if len(changes) == 0 {
		e.bad("", "leave set out, or name a signal of the pack: "+strings.Join(signalNames(was), ", "), "set changes nothing")
	}
	if len(e.errors) > 0 {
		return nil, &document.ErrorList{Diagnostics: e.errors}
	}
	return e.parse()
}

// edits are the lines of a pack, some of them changed.
type edits struct {
	was   *RuleSet
	lines []string
	// paths are what was changed, by line, counted from 1.
	paths  map[int]string
	said   []string
	fail   FailFunc
	errors []document.Diagnostic
}

func (e *edits) bad(path, hint, format string, args ...any) {
	e.errors = append(e.errors, e.fail(path, "", fmt.Sprintf(format, args...), hint))
}

// change applies what is set of one signal.
func (e *edits) change(name string, c Change) {
	i := slices.IndexFunc(e.was.Signals, func(s Signal) bool { return s.Name == name })
	if i < 0 {
		e.bad(name, document.DidYouMean(name, signalNames(e.was)), "the pack %s has no signal %q to change", e.was.Name, name)
		return
	}
	if c == (Change{}) {
		e.bad(name, "give scale_out, scale_in or keep_firing_for, or leave it out", "nothing of the signal %s is changed", name)
	}
	s := &e.was.Signals[i]
	e.condition(s, scaling.Out, s.Out, c.Out)
	e.condition(s, scaling.In, s.In, c.In)
	if c.KeepFiringFor != nil {
		e.keepFiring(s, *c.KeepFiringFor)
	}
}

// condition applies what is set of one direction.
func (e *edits) condition(s *Signal, dir scaling.Direction, was *Condition, c *ConditionChange) {
	path := document.Join(s.Name, string(dir))
	if c == nil {
		return
	}
	if was == nil {
		e.bad(path, ownFile(e.was.Name), "the signal %s of the pack %s has no %s to change", s.Name, e.was.Name, dir)
		return
	}
	now, given := *was, 0
	for _, side := range []struct {
		comparison Comparison
		threshold  *float64
	}{{Above, c.Above}, {AtLeast, c.AtLeast}, {Below, c.Below}, {AtMost, c.AtMost}} {
		if side.threshold != nil {
			given++
			now.Comparison, now.Threshold, now.MaxWorkers = side.comparison, *side.threshold, false
		}
	}
	if c.For != nil {
		now.For = *c.For
	}
	switch {
	case given > 1:
		e.bad(path, "keep one of them", "%s has several comparisons, expected one", path)
	case given == 0 && c.For == nil:
		e.bad(path, "give a comparison such as above, for, or both, or leave it out", "nothing of %s is changed", path)
	}
	e.set(s, string(dir), flow(&now), flow(was))
}

// keepFiring applies another keep_firing_for.
func (e *edits) keepFiring(s *Signal, d time.Duration) {
	was := "none"
	if s.KeepFiringFor > 0 {
		was = model.Duration(s.KeepFiringFor).String()
	}
	e.set(s, "keep_firing_for", model.Duration(d).String(), was)
}

// set writes a key of a signal: in its line, or in one below the first line of
// the signal.
func (e *edits) set(s *Signal, key, now, was string) {
	e.said = append(e.said, fmt.Sprintf("%s.%s: %s (in the pack %s)", s.Name, key, now, was))
	text := fmt.Sprintf("    %s: %s # in the pack: %s", key, now, was)
	line := s.places[document.Join(s.path, key)].Line
	if line == 0 {
		line = s.Pos.Line
		text = e.lines[line-1] + "\n" + text
	}
	e.lines[line-1] = text
	e.paths[line] = document.Join(s.Name, key)
}

// parse reads the changed lines as a file. What is wrong with it is said about
// the changes: the pack alone has passed every check.
func (e *edits) parse() (*RuleSet, error) {
	name := e.was.places["ruleset"].Line
	e.lines[name-1] = "ruleset: " + ChangedName(e.was.Name)
	data := []byte("# The pack " + e.was.Name + " with what a configuration sets.\n" + strings.Join(e.lines, "\n"))
	rs, err := Parse(packFile+ChangedName(e.was.Name), data)
	var list *document.ErrorList
	switch {
	case errors.As(err, &list):
		return nil, &document.ErrorList{Diagnostics: e.told(list.Diagnostics)}
	case err != nil:
		return nil, err
	}
	rs.Set, rs.Warnings = e.said, e.told(rs.Warnings)
	return rs, nil
}

// told moves findings from lines of the changed file to the changes.
func (e *edits) told(ds []document.Diagnostic) []document.Diagnostic {
	out := make([]document.Diagnostic, len(ds))
	for i, d := range ds {
		out[i] = e.fail(e.path(d.Pos.Line), d.Check, d.Message, d.Hint)
		out[i].Severity = d.Severity
	}
	return out
}

// path is what was changed in a line of the changed file, else in the signal
// around it, else everything. The file has a line more at its begin, and one for
// each key that was added.
func (e *edits) path(line int) string {
	at, signal := 1, ""
	for i, text := range e.lines {
		if j := slices.IndexFunc(e.was.Signals, func(s Signal) bool { return s.Pos.Line == i+1 }); j >= 0 {
			signal = e.was.Signals[j].Name
		}
		if at += 1 + strings.Count(text, "\n"); at < line {
			continue
		}
		if path := e.paths[i+1]; path != "" {
			return path
		}
		for _, path := range e.paths {
			if strings.HasPrefix(path, signal+".") {
				return signal
			}
		}
		return ""
	}
	return ""
}

func signalNames(rs *RuleSet) []string {
	out := make([]string, len(rs.Signals))
	for i := range rs.Signals {
		out[i] = rs.Signals[i].Name
	}
	return out
}

// flow writes a condition as the packs do.
func flow(c *Condition) string {
	threshold := num(c.Threshold)
	if c.MaxWorkers {
		threshold = thresholdMaxWorkers
	}
	return fmt.Sprintf("{%s: %s, for: %s}", c.Comparison, threshold, model.Duration(c.For))
}

// ownFile says how to get a copy of a pack.
func ownFile(pack string) string {
	return "set changes numbers that are there; for more, own a copy: zeta-scaler rules show " + pack + " > my-rules.yaml"
}
