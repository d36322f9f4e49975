package evaluator

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/alertmanager/template"
	"github.com/prometheus/common/model"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// summary renders a signal's own sentence (alertmanager template syntax and
// functions) for the reason.
type summary struct {
	text string
	tmpl *template.Template
}

func newSummary(s *rules.Signal) (*summary, error) {
	if s.Summary == "" {
		return nil, nil
	}
	t, err := template.New()
	if err != nil {
		return nil, err
	}
	sum := &summary{text: s.Summary, tmpl: t}
	// A template that cannot be rendered is refused when it is loaded.
	if _, err := sum.render(rules.SummaryData{}); err != nil {
		return nil, err
	}
	return sum, nil
}

func (s *summary) render(d rules.SummaryData) (string, error) {
	return s.tmpl.ExecuteTextString(s.text, d)
}

// humanWords are the abbreviations that signal names use.
var humanWords = strings.NewReplacer("_", " ", "avg_", "average ", "cpu", "CPU", "max_", "maximum ", "min_", "minimum ")

// human turns a signal's name into words.
func human(name string) string { return humanWords.Replace(name) }

// number writes a value as people do: two decimals at most, more only where
// two would say 0.
func number(v float64) string {
	if r := rounded(v, 2); r != 0 || v == 0 {
		return exact(r)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// numberBeside writes a value that stands beside a threshold: with as many
// decimals as it takes to see on which side it lies.
func numberBeside(v, threshold float64) string {
	if cmp.Compare(rounded(v, 2), threshold) == cmp.Compare(v, threshold) {
		return number(v)
	}
	for decimals := 3; decimals <= 9; decimals++ {
		if r := rounded(v, decimals); cmp.Compare(r, threshold) == cmp.Compare(v, threshold) {
			return exact(r)
		}
	}
	return exact(v)
}

func rounded(v float64, decimals int) float64 {
	unit := math.Pow10(decimals)
	if r := math.Round(v*unit) / unit; !math.IsInf(r, 0) {
		return r
	}
	return v
}

// exact writes a number that somebody has set: as it is.
func exact(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func withUnit(text, unit string) string {
	if unit == "seconds" {
		return text + " s"
	}
	return text
}

func seconds(ms int64) float64 { return float64(ms) / 1000 }

func duration(ms int64) string {
	return model.Duration(time.Duration(ms) * time.Millisecond).String()
}

// threshold is a condition's threshold at the tick, nil for the word
// max_workers of an unbounded scope.
func threshold(c *rules.Condition, maxW int) *float64 {
	if !c.MaxWorkers {
		return &c.Threshold
	}
	if maxW == scaling.Unbounded {
		return nil
	}
	v := float64(maxW)
	return &v
}

func thresholdText(c *rules.Condition, unit string, maxW int) string {
	t := threshold(c, maxW)
	switch {
	case t == nil:
		return "max_workers (unbounded)"
	case c.MaxWorkers:
		return "max_workers " + exact(*t)
	default:
		return withUnit(exact(*t), unit)
	}
}

// join writes "a", "a and b", "a, b and c".
func join(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}
