package zeta

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

// Count is a whole number ≥ 0 that a reply may or may not contain. Zeta writes
// the same field as a JSON number in one version and as a string in another.
type Count struct {
	Value int64
	Known bool
}

// UnmarshalJSON accepts 4, "4" and 4.0. Missing, null, "", "n/a" and negative
// (Zeta's word for "not measured") are unknown; anything else is an error.
func (c *Count) UnmarshalJSON(data []byte) error {
	*c = Count{}
	v, text, err := numeral(data)
	if err != nil || text == "" {
		return err
	}
	// Beyond 2^53 a sample cannot say the number, nor a sum be trusted.
	if v != math.Trunc(v) || math.Abs(v) >= 1<<53 {
		return fmt.Errorf("%q is not a whole number below 2^53", clip(text))
	}
	*c = Count{Value: int64(v), Known: v >= 0}
	return nil
}

// Moment is a time in Unix milliseconds that a reply may or may not contain.
type Moment struct {
	Value int64
	// Known is true for a time that can be meant.
	Known bool
	// Given is true when something stands in its place, and be it 0.
	Given bool
}

// UnmarshalJSON reads a time as [Count.UnmarshalJSON] does. What lies before
// 2001 or after 2286 is not Known: it is seconds, microseconds or no time, and
// an age made of it would be decades.
func (m *Moment) UnmarshalJSON(data []byte) error {
	*m = Moment{}
	var c Count
	if err := c.UnmarshalJSON(data); err != nil {
		return err
	}
	_, m.Given, _ = scalar(data)
	if c.Value >= 1e12 && c.Value < 1e13 {
		m.Value, m.Known = c.Value, true
	}
	return nil
}

// Number is a finite number ≥ 0 that a reply may or may not contain.
type Number struct {
	Value float64
	Known bool
}

// UnmarshalJSON reads a number as [Count.UnmarshalJSON] does, fractions allowed.
func (n *Number) UnmarshalJSON(data []byte) error {
	*n = Number{}
	v, text, err := numeral(data)
	if err != nil || text == "" {
		return err
	}
	*n = Number{Value: v, Known: v >= 0}
	return nil
}

// Ratio is a utilisation from 0 to 1 that a reply may or may not contain.
type Ratio struct {
	Value float64
	Known bool
}

// UnmarshalJSON reads "24.30%" as 0.243 and 0.243 as itself. A value outside
// 0…1 is unknown: JVMs without the measurement say "-1.00%" or "-100.00%", and
// no reply tells whether 25 means 25 %.
func (r *Ratio) UnmarshalJSON(data []byte) error {
	_, err := r.read(data)
	return err
}

// read is UnmarshalJSON and tells whether there was a percent sign.
func (r *Ratio) read(data []byte) (percent bool, err error) {
	*r = Ratio{}
	text, given, err := scalar(data)
	if err != nil || !given {
		return false, err
	}
	digits, percent := strings.CutSuffix(text, "%")
	if percent {
		// Not divided by 100: 5.03 / 100 is not the number nearest to 0.0503.
		text = strings.TrimSpace(digits) + "e-2"
	}
	v, err := finite(text)
	if err != nil {
		return percent, err
	}
	if v >= 0 && v <= 1 {
		*r = Ratio{Value: v, Known: true}
	}
	return percent, nil
}

// percentage is a Ratio that its reply always writes in percent. One without
// the sign is unknown: "1" may be a hundredth, or all there is, or the part
// before a decimal comma at which the reply was torn apart.
type percentage struct{ Ratio }

func (p *percentage) UnmarshalJSON(data []byte) error {
	percent, err := p.read(data)
	if !percent {
		p.Ratio = Ratio{}
	}
	return err
}

// Flag is a yes or no that a reply may or may not contain.
type Flag struct {
	Value bool
	Known bool
}

// UnmarshalJSON accepts true, "true" and "TRUE", and the same of false.
func (f *Flag) UnmarshalJSON(data []byte) error {
	*f = Flag{}
	text, given, err := scalar(data)
	if err != nil || !given {
		return err
	}
	switch strings.ToLower(text) {
	case "true":
		*f = Flag{Value: true, Known: true}
	case "false":
		*f = Flag{Known: true}
	default:
		return fmt.Errorf("%q is neither true nor false", clip(text))
	}
	return nil
}

// Text is a string that some versions write as a number, job ids above all:
// they exceed 2^53 and must not pass through a float.
type Text string

// UnmarshalJSON accepts a string or a number, digit by digit; null is "".
func (t *Text) UnmarshalJSON(data []byte) error {
	text, _, err := scalar(data)
	*t = Text(text)
	return err
}

// scalar returns the text of a JSON string, number or boolean. given is false
// for null and for the strings with which Zeta says that it has no value.
func scalar(data []byte) (text string, given bool, err error) {
	if len(data) == 0 {
		return "", false, nil
	}
	switch data[0] {
	case 'n':
		return "", false, nil
	case '{', '[':
		return "", false, fmt.Errorf("a list or object where one value belongs")
	case '"':
		// Most strings are plain; a decoder for each would cost more than the
		// rest of the reply.
		if inner := data[1 : len(data)-1]; !bytes.ContainsRune(inner, '\\') && utf8.Valid(inner) {
			text = string(bytes.TrimSpace(inner))
		} else if err := json.Unmarshal(data, &text); err != nil {
			return "", false, fmt.Errorf("reading a string: %w", err)
		}
		text = strings.TrimSpace(text)
	default:
		text = string(data)
	}
	switch text {
	case "", "n/a", "N/A", "null":
		return "", false, nil
	}
	return text, true, nil
}

// numeral is the number that a value says, and its text: none for one that is not
// given.
func numeral(data []byte) (v float64, text string, err error) {
	text, given, err := scalar(data)
	if err != nil || !given {
		return 0, "", err
	}
	v, err = finite(text)
	return v, text, err
}

func finite(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not a finite number", clip(text))
	}
	return v, nil
}

// clip keeps a foreign text short enough for an error message.
func clip(s string) string { return outgoing.OneLine(s, 80) }
