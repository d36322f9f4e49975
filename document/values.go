package document

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
)

// Value decodes a node into a value of the field's type that passes its checks.
func (d *Decoder) Value(n *yaml.Node, f Field, p Path) (reflect.Value, bool) {
	f.Type = pointee(f.Type)
	if decode := d.Schema.Types[f.Type]; decode != nil {
		v, ok := decode(d, n, f, p)
		if v == nil {
			return reflect.Zero(f.Type), ok
		}
		return reflect.ValueOf(v), ok
	}
	switch f.Type {
	case reflect.TypeFor[time.Duration]():
		v, ok := d.duration(n, f.Checks, p)
		return reflect.ValueOf(v), ok
	case reflect.TypeFor[Bytes]():
		v, ok := d.bytes(n, f.Checks, p)
		return reflect.ValueOf(v), ok
	}
	switch f.Type.Kind() {
	case reflect.Struct:
		return d.structure(n, f, p)
	case reflect.Slice:
		return d.list(n, f, p)
	case reflect.Bool:
		b, ok := d.boolean(n, p)
		return reflect.ValueOf(b), ok
	case reflect.Int:
		i, ok := d.Integer(n, f.Checks, p)
		return reflect.ValueOf(i), ok
	case reflect.Float64:
		v, ok := d.Number(n, f.Checks, p)
		return reflect.ValueOf(v), ok
	}
	s, ok := d.text(n, f.Checks, p)
	return reflect.ValueOf(s).Convert(f.Type), ok
}

// Text decodes a text.
func (d *Decoder) Text(n *yaml.Node, p Path) (string, bool) {
	if isText(n) || d.LooseTexts && n.Kind == yaml.ScalarNode && !IsNull(n) {
		return n.Value, true
	}
	hint := ""
	if n.Kind == yaml.ScalarNode && !IsNull(n) && !d.mayBeSecret(n, p) {
		hint = "quote it: " + strconv.Quote(n.Value)
	}
	d.Fail(n, CheckType, hint, "%s is %s, expected a text", p.Subject, d.KindOf(n, p))
	return "", false
}

// text decodes a text that passes its checks.
func (d *Decoder) text(n *yaml.Node, c Checks, p Path) (string, bool) {
	if choices, ok := c["oneof"]; ok {
		return d.OneOf(n, strings.Split(choices, "|"), p)
	}
	s, ok := d.Text(n, p)
	switch {
	case !ok:
		return s, false
	case s == "" && c.Has("required"):
		d.Fail(n, CheckValue, "", "%s is empty", p.Subject)
		return s, false
	case s == "":
		return s, true
	}
	for _, word := range slices.Sorted(maps.Keys(c)) {
		if check := d.Schema.Words[word]; check != nil {
			if s, ok = check(d, n, s, c[word], p); !ok {
				return s, false
			}
		}
	}
	return s, true
}

// OneOf decodes one of a few texts.
func (d *Decoder) OneOf(n *yaml.Node, choices []string, p Path) (string, bool) {
	switch {
	case !isText(n):
		d.Fail(n, CheckType, "", "%s is %s, expected %s", p.Subject, d.KindOf(n, p), OneOf(choices))
	case n.Value == "":
		d.Fail(n, CheckValue, "", "%s is empty, expected %s", p.Subject, OneOf(choices))
	case slices.Contains(choices, n.Value):
		return n.Value, true
	default:
		hint := ""
		if len(choices) > 1 {
			hint = DidYouMean(n.Value, choices)
		}
		d.Fail(n, CheckValue, hint, "%s is %s, expected %s", p.Subject, strconv.Quote(n.Value), OneOf(choices))
	}
	return "", false
}

// OneOf writes "a, b or c".
func OneOf(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

func (d *Decoder) boolean(n *yaml.Node, p Path) (value, ok bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(&value) != nil {
		d.Fail(n, CheckType, "", "%s is %s, expected true or false", p.Subject, d.KindOf(n, p))
		return false, false
	}
	return value, true
}

// Integer decodes a whole number that passes the checks.
func (d *Decoder) Integer(n *yaml.Node, c Checks, p Path) (int, bool) {
	var v int
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(&v) != nil {
		d.Fail(n, CheckType, "", "%s is %s, expected a whole number", p.Subject, d.KindOf(n, p))
		return 0, false
	}
	return v, within(d, n, v, c, strconv.Atoi, p)
}

// duration decodes a duration as Prometheus writes them.
func (d *Decoder) duration(n *yaml.Node, c Checks, p Path) (time.Duration, bool) {
	const expected = "expected a duration such as 30s or 1h30m"
	if n.Kind != yaml.ScalarNode || IsNull(n) {
		d.Fail(n, CheckType, "", "%s is %s, %s", p.Subject, d.KindOf(n, p), expected)
		return 0, false
	}
	v, err := model.ParseDuration(n.Value)
	if err != nil {
		hint := "units are ms, s, m, h, d, w and y, the greatest first"
		if _, err := strconv.ParseUint(n.Value, 10, 32); err == nil {
			hint = "a number needs a unit: " + n.Value + "s"
		}
		d.Fail(n, CheckDuration, hint, "%s is %s, %s", p.Subject, d.KindOf(n, p), expected)
		return 0, false
	}
	return time.Duration(v), within(d, n, v, c, model.ParseDuration, p)
}

// bytes decodes a size with its unit.
func (d *Decoder) bytes(n *yaml.Node, c Checks, p Path) (Bytes, bool) {
	b, err := parseBytes(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		hint := "units are B, KiB, MiB and GiB, as in 64MiB"
		if _, err := strconv.ParseUint(n.Value, 10, 63); err == nil {
			hint = "a number needs a unit: " + n.Value + "B"
		}
		d.Fail(n, CheckValue, hint, "%s is %s, expected a number of bytes such as 64MiB", p.Subject, d.KindOf(n, p))
		return 0, false
	}
	return b, within(d, n, b, c, parseBytes, p)
}

// within checks the words least and most.
func within[T int | float64 | Bytes | model.Duration](d *Decoder, n *yaml.Node, v T, c Checks, parse func(string) (T, error), p Path) bool {
	if least, err := parse(c["least"]); err == nil && v < least {
		d.Fail(n, CheckValue, "", "%s is %v, expected %v or more", p.Subject, v, least)
		return false
	}
	if most, err := parse(c["most"]); err == nil && v > most {
		d.Fail(n, CheckValue, "", "%s is %v, expected at most %v", p.Subject, v, most)
		return false
	}
	return true
}

// Number decodes a number that is not NaN, and finite unless the checks have
// the word infinite.
func (d *Decoder) Number(n *yaml.Node, c Checks, p Path) (float64, bool) {
	var v float64
	tag := n.ShortTag()
	if n.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" || n.Decode(&v) != nil {
		hint := ""
		if n.Kind == yaml.ScalarNode && !d.mayBeSecret(n, p) {
			hint = numberHint(n.Value)
		}
		d.Fail(n, CheckType, hint, "%s is %s, expected a number", p.Subject, d.KindOf(n, p))
		return 0, false
	}
	switch {
	case math.IsNaN(v):
		d.Fail(n, CheckFinite, "", "%s is not a number (NaN), expected a finite number", p.Subject)
		return 0, false
	case math.IsInf(v, 0) && !c.Has("infinite"):
		d.Fail(n, CheckFinite, "", "%s is infinite, expected a finite number", p.Subject)
		return 0, false
	}
	return v, within(d, n, v, c, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }, p)
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

func isText(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" }

// IsNull reports whether a node is a key without a value.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// mayBeSecret reports whether a value is kept out of messages. An address may
// have a password in it.
func (d *Decoder) mayBeSecret(n *yaml.Node, p Path) bool {
	return d.secrets && (SecretPath(p.Full) || strings.Contains(n.Value, "@"))
}

// KindOf is what a node is, for people. Its text is left out where it may be a
// secret.
func (d *Decoder) KindOf(n *yaml.Node, p Path) string {
	tag := n.ShortTag()
	known := []string{"!!map", "!!seq", "!!null", "!!str", "!!bool", "!!int", "!!float", "!!timestamp"}
	switch {
	case !slices.Contains(known, tag):
		return "tagged " + tag
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case tag == "!!null" && n.Value == "":
		return "empty"
	case tag == "!!null":
		return "null"
	case d.mayBeSecret(n, p):
		return "a text"
	}
	v := []rune(n.Value)
	if len(v) > 60 {
		v = append(v[:60], '…')
	}
	switch tag {
	case "!!int", "!!float":
		return "the number " + string(v)
	case "!!bool":
		return string(v)
	}
	return "the text " + strconv.Quote(string(v))
}
