package rules

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
)

// str decodes a text.
func (d *decoder) str(n *yaml.Node, what string) (string, bool) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		return n.Value, true
	}
	hint := ""
	if n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" {
		hint = "quote it: " + strconv.Quote(n.Value)
	}
	d.failf(n, CheckType, hint, "%s is %s, expected a text", what, kindOf(n))
	return "", false
}

// word decodes one of a few texts.
func word[S ~string](d *decoder, n *yaml.Node, what string, choices ...S) (S, bool) {
	names := make([]string, len(choices))
	for i, c := range choices {
		names[i] = string(c)
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		d.failf(n, CheckType, "", "%s is %s, expected %s", what, kindOf(n), oneOf(names))
		return "", false
	}
	if i := slices.Index(names, n.Value); i >= 0 {
		return choices[i], true
	}
	d.failf(n, CheckValue, didYouMean(n.Value, names), "%s is %q, expected %s", what, n.Value, oneOf(names))
	return "", false
}

// oneOf writes "a, b or c".
func oneOf(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// Durations beyond these are not meant. Sums and products of what is allowed
// stay far from the 292 years that a time.Duration holds.
const (
	maxInterval = 24 * time.Hour
	maxDuration = 365 * 24 * time.Hour
)

// duration decodes a Prometheus duration from least to most.
func (d *decoder) duration(n *yaml.Node, what string, least, most time.Duration) (time.Duration, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		d.failf(n, CheckType, "", "%s is %s, expected a duration such as 5m or 1h30m", what, kindOf(n))
		return 0, false
	}
	v, err := model.ParseDuration(n.Value)
	if err != nil {
		hint := "units are ms, s, m, h, d, w and y, the greatest first"
		if _, err := strconv.ParseUint(n.Value, 10, 32); err == nil {
			hint = "a number needs a unit: " + n.Value + "s"
		}
		d.failf(n, CheckDuration, hint, "%s is %s, expected a duration such as 5m or 1h30m", what, strconv.Quote(n.Value))
		return 0, false
	}
	if time.Duration(v) < least {
		d.failf(n, CheckValue, "", "%s is %s, expected at least %s", what, v, model.Duration(least))
		return 0, false
	}
	if time.Duration(v) > most {
		d.failf(n, CheckValue, "", "%s is %s, expected at most %s", what, v, model.Duration(most))
		return 0, false
	}
	return time.Duration(v), true
}

// number decodes a number that is not NaN.
func (d *decoder) number(n *yaml.Node, what string) (float64, bool) {
	var v float64
	tag := n.ShortTag()
	if n.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" || n.Decode(&v) != nil {
		hint := ""
		if n.Kind == yaml.ScalarNode {
			hint = numberHint(n.Value)
		}
		d.failf(n, CheckType, hint, "%s is %s, expected a number", what, kindOf(n))
		return 0, false
	}
	if math.IsNaN(v) {
		d.failf(n, CheckFinite, "", "%s is not a number (NaN), expected a finite number", what)
		return 0, false
	}
	return v, true
}

// numberHint says how a text would be written as a number.
func numberHint(s string) string {
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return "write it without quotes: " + s
	}
	if v, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64); err == nil {
		return "write a percentage as a ratio: " + strconv.FormatFloat(v/100, 'g', -1, 64)
	}
	if v, err := model.ParseDuration(s); err == nil {
		return "thresholds have no unit; in seconds: " + strconv.FormatFloat(time.Duration(v).Seconds(), 'g', -1, 64)
	}
	return ""
}

// finite decodes a number that is neither NaN nor infinite.
func (d *decoder) finite(n *yaml.Node, what string) (float64, bool) {
	v, ok := d.number(n, what)
	if ok && math.IsInf(v, 0) {
		d.failf(n, CheckFinite, "", "%s is infinite, expected a finite number", what)
		return 0, false
	}
	return v, ok
}

// integer decodes a whole number from least to most.
func (d *decoder) integer(n *yaml.Node, what string, least, most int) (int, bool) {
	var v int
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(&v) != nil {
		d.failf(n, CheckType, "", "%s is %s, expected a whole number", what, kindOf(n))
		return 0, false
	}
	if v < least || v > most {
		expected := strconv.Itoa(least) + " or more"
		if v > most {
			expected = "at most " + strconv.Itoa(most)
		}
		d.failf(n, CheckValue, "", "%s is %d, expected %s", what, v, expected)
		return 0, false
	}
	return v, true
}

func (d *decoder) boolean(n *yaml.Node, what string) (value, ok bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(&value) != nil {
		d.failf(n, CheckType, "", "%s is %s, expected true or false", what, kindOf(n))
		return false, false
	}
	return value, true
}

// list calls each for every element.
func (d *decoder) list(n *yaml.Node, what string, each func(*yaml.Node)) bool {
	if n.Kind != yaml.SequenceNode || n.ShortTag() != "!!seq" {
		hint := ""
		if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
			hint = "write it in brackets: [" + n.Value + "]"
		}
		d.failf(n, CheckType, hint, "%s is %s, expected a list", what, kindOf(n))
		return false
	}
	for _, c := range n.Content {
		each(c)
	}
	return true
}
