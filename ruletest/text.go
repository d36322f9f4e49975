package ruletest

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// WriteText writes the report for people: one line a file, and for every
// failure what was expected, what came and why.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for i := range r.Files {
		r.Files[i].writeText(&b)
	}
	tests, failed := r.Counts()
	fmt.Fprintf(&b, "%s, %d failed\n", counted(tests), failed)
	// Names and values come from the files that were tested.
	_, err := io.WriteString(w, document.Printable(b.String(), "\n\t"))
	return err
}

// line is a text that stays one line of the report, whatever is in a name.
func line(format string, args ...any) string {
	return document.Printable(fmt.Sprintf(format, args...), "") + "\n"
}

func (f *FileResult) writeText(w io.Writer) {
	if len(f.Problems) > 0 {
		fmt.Fprint(w, line("ERROR %s", f.File))
		for _, p := range f.Problems {
			fmt.Fprintln(w, indent(p, "  "))
		}
		return
	}
	word := "ok   "
	if f.failed() > 0 {
		word = "FAIL "
	}
	fmt.Fprint(w, line("%s %s (%s)", word, f.File, counted(len(f.Tests))))
	for i := range f.Tests {
		f.Tests[i].writeText(w)
	}
}

func counted(tests int) string { return scaling.Counted(tests, "test") }

func (t *TestResult) writeText(w io.Writer) {
	if t.Passed {
		return
	}
	fmt.Fprint(w, line("  FAIL %s [%s %s]", t.Name, t.RuleSet.Name, t.RuleSet.Version))
	for i := range t.Failures {
		fmt.Fprint(w, indent(t.Failures[i].String(), "    ")+"\n")
	}
}

// String is the failure over several lines.
func (f *Failure) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "line %d", f.Line)
	if f.EvalTime != nil && f.Tick != nil {
		fmt.Fprintf(&b, ", at %s", f.EvalTime)
		if *f.Tick != *f.EvalTime {
			fmt.Fprintf(&b, " (tick %s)", f.Tick)
		}
	}
	if f.Scope != "" {
		fmt.Fprintf(&b, ", scope %s", scaling.ShownKey(f.Scope))
	}
	if f.Expr != "" {
		fmt.Fprintf(&b, ", %s", f.Expr)
	}
	if f.Message != "" {
		fmt.Fprintf(&b, "\n  %s", f.Message)
	}
	for _, d := range f.Differences {
		fmt.Fprintf(&b, "\n  %s\n    expected: %s\n    got:      %s", d.Field, d.Expected, d.Got)
	}
	if f.Why != nil {
		b.WriteString("\n" + indent(f.Why.String(), "  "))
	}
	return b.String()
}

// String says which row decided, and on what.
func (w *Why) String() string {
	lines := []string{fmt.Sprintf("why: row %s: %s", w.Row, w.Reason)}
	signals := map[string]bool{}
	for i := range w.Inputs {
		signals[w.Inputs[i].Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(w.Snapshot)) {
		if m := w.Snapshot[name]; !signals[name] {
			lines = append(lines, fmt.Sprintf("  %s = %s", name, valueText(m.Value, m.Reason)))
		}
	}
	for i := range w.Inputs {
		lines = append(lines, "  "+inputText(&w.Inputs[i]))
	}
	return strings.Join(lines, "\n")
}

// inputText is a signal with its windows on one line.
func inputText(in *scaling.Input) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s = %s", in.Name, valueText(in.Value, in.Reason))
	if !in.Applies {
		b.WriteString(", does not apply")
	}
	for i := range in.Windows {
		w := &in.Windows[i]
		threshold := "unbounded"
		if w.Threshold != nil {
			threshold = number(*w.Threshold)
		}
		fmt.Fprintf(&b, "; %s %s %s is %s, held %s of %s",
			w.Direction, w.Comparison, threshold, w.Truth, seconds(w.HeldSeconds), seconds(w.WindowSeconds))
		if w.Sustained {
			b.WriteString(" (sustained)")
		}
	}
	return b.String()
}

func valueText(v scaling.Value, reason string) string {
	if !v.Known {
		return "unknown (" + reason + ")"
	}
	return number(v.Number)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

func seconds(s float64) string {
	return model.Duration(time.Duration(s * float64(time.Second))).String()
}

func indent(text, by string) string {
	return by + strings.ReplaceAll(text, "\n", "\n"+by)
}
