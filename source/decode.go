package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/labels"
)

// envelope is a decoded reply of the query API. Exactly one of samples and
// series is meant, by resultType.
type envelope struct {
	status, errorType, message string
	resultType                 string
	samples                    []Sample
	series                     []Series
	// warnings mean that something may be missing, partial that something is, by
	// VictoriaMetrics' word for it.
	warnings, infos []string
	partial         bool
}

// doubts are the warnings, with that of a partial answer.
func (e *envelope) doubts() []string {
	if !e.partial {
		return e.warnings
	}
	return append(slices.Clip(e.warnings), "the server says that its answer is partial (isPartial)")
}

// eachWord changes what the server says in words.
func (e *envelope) eachWord(change func(string) string) {
	for _, s := range []*string{&e.status, &e.errorType, &e.message, &e.resultType} {
		*s = change(*s)
	}
	for _, list := range [][]string{e.warnings, e.infos} {
		for i := range list {
			list[i] = change(list[i])
		}
	}
}

// decode reads a whole reply. It is written by hand because a tick decodes one
// sample per scope and signal, and going through generic JSON values costs an
// order of magnitude more. What it accepts is the API's format and nothing
// wider: numbers where strings belong are an error.
func decode(body []byte) (envelope, error) {
	var e envelope
	s := scanner{buf: body}
	var data []byte
	read := false
	err := s.object(func(key []byte) (err error) {
		switch string(key) {
		case "status":
			e.status, err = s.note()
		case "errorType":
			e.errorType, err = s.note()
		case "error":
			e.message, err = s.note()
		case "warnings":
			err = s.notes(e.warn)
		case "infos":
			err = s.notes(e.inform)
		case "isPartial":
			err = e.mark(&s)
		case "data":
			if e.status == "success" { // as Prometheus writes it: read at once
				data, read, err = nil, true, e.decodeData(&s)
			} else {
				data, err = s.raw()
			}
		default:
			err = s.skip()
		}
		return err
	})
	if err == nil {
		err = s.end()
	}
	if err != nil || e.status != "success" {
		return e, err
	}
	switch {
	case data != nil:
		return e, e.decodeData(&scanner{buf: data})
	case !read:
		return e, errors.New("success without data")
	}
	return e, nil
}

// promQLInfo begins what Prometheus' engine says about an expression and not
// about the samples; Thanos and Cortex have it among the warnings.
const promQLInfo = "PromQL info:"

// moreInfos ends how the engine says that it has left some of them out: "3 more
// info annotations omitted".
const moreInfos = " more info annotations omitted"

// warn keeps a text that stands among the warnings. An info among them counts
// as one: however many there are, they push no warning out.
func (e *envelope) warn(text string) {
	switch {
	case strings.HasPrefix(text, promQLInfo), strings.HasSuffix(text, moreInfos):
		e.inform(text)
	case len(e.warnings) < maxNotes:
		e.warnings = append(e.warnings, text)
	}
}

func (e *envelope) inform(text string) {
	if len(e.infos) < maxNotes {
		e.infos = append(e.infos, text)
	}
}

// mark reads isPartial. Where a proxy says it, too, one that says yes counts.
func (e *envelope) mark(s *scanner) error {
	yes, err := s.yes()
	e.partial = e.partial || yes
	return err
}

// decodeData reads the field data, whose members may come in any order. A
// result whose type is known is read where it stands.
func (e *envelope) decodeData(s *scanner) error {
	e.resultType, e.samples, e.series = "", nil, nil
	var result []byte
	read := false
	err := s.object(func(key []byte) (err error) {
		switch string(key) {
		case "resultType":
			if read {
				return errors.New("data with two result types")
			}
			e.resultType, err = s.note()
		case "result":
			if e.resultType != "" {
				read, err = true, e.decodeResult(s)
			} else {
				result, err = s.raw()
			}
		case "isPartial":
			err = e.mark(s)
		default:
			err = s.skip()
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case result != nil:
		return e.decodeResult(&scanner{buf: result})
	case !read:
		return errors.New("data without result")
	}
	return nil
}

// decodeResult reads a result of e.resultType. There must be one.
func (e *envelope) decodeResult(s *scanner) error {
	if e.samples != nil || e.series != nil {
		return errors.New("data with two results")
	}
	switch e.resultType {
	case "vector", "matrix":
		if s.null() { // nothing, as some proxies write it
			return nil
		}
	}
	switch e.resultType {
	case "vector":
		return s.array(func() error { return e.decodeSample(s) })
	case "matrix":
		return s.array(func() error { return e.decodeSeries(s) })
	case "scalar":
		p, err := s.point()
		e.samples = []Sample{{Value: p.V}}
		return err
	case "string":
		return s.skip()
	default:
		return fmt.Errorf("unknown result type %q", e.resultType)
	}
}

func (e *envelope) decodeSample(s *scanner) error {
	var sample Sample
	found := false
	err := s.object(func(key []byte) (err error) {
		switch string(key) {
		case "metric":
			sample.Labels, err = s.labels()
		case "value":
			if s.null() {
				return nil
			}
			var p Point
			p, err = s.point()
			sample.Value, found = p.V, true
		case "histogram":
			if !s.null() {
				err = notSamples("a histogram")
			}
		default:
			err = s.skip()
		}
		return err
	})
	if err == nil && !found {
		err = errors.New("sample without a value")
	}
	e.samples = append(e.samples, sample)
	return err
}

func (e *envelope) decodeSeries(s *scanner) error {
	var series Series
	err := s.object(func(key []byte) (err error) {
		switch string(key) {
		case "metric":
			series.Labels, err = s.labels()
		case "values":
			if !s.null() {
				series.Points, err = s.points()
			}
		case "histograms":
			if !s.null() {
				err = notSamples("a histogram")
			}
		default:
			err = s.skip()
		}
		return err
	})
	if err == nil && len(series.Points) == 0 {
		err = errors.New("series without values")
	}
	e.series = append(e.series, series)
	return err
}

// labels reads an object of strings.
func (s *scanner) labels() (labels.Labels, error) {
	if s.null() {
		return labels.EmptyLabels(), nil
	}
	s.builder.Reset()
	err := s.object(func(key []byte) error {
		value, err := s.str()
		if err == nil && (!utf8.Valid(key) || !utf8.Valid(value)) {
			err = fmt.Errorf("label %q has bytes that are not UTF-8", key)
		}
		if err == nil && len(value) > 0 { // an empty label is no label
			s.builder.Add(s.intern(key), string(value))
		}
		return err
	})
	if err != nil {
		return labels.EmptyLabels(), err
	}
	s.builder.Sort()
	l := s.builder.Labels()
	if name, twice := l.HasDuplicateLabelNames(); twice {
		return l, fmt.Errorf("label %q is given twice", name)
	}
	return l, nil
}

// points reads the values of a series, which must rise in time.
func (s *scanner) points() ([]Point, error) {
	var points []Point
	err := s.array(func() error {
		p, err := s.point()
		if err == nil && len(points) > 0 && p.T <= points[len(points)-1].T {
			err = errors.New("times of a series do not rise")
		}
		points = append(points, p)
		return err
	})
	return points, err
}

// point reads [seconds, "value"].
func (s *scanner) point() (Point, error) {
	var p Point
	n := 0
	err := s.array(func() error {
		n++
		switch n {
		case 1:
			seconds, err := s.number()
			p.T = int64(math.Round(seconds * 1000))
			return err
		case 2:
			text, err := s.str()
			if err != nil {
				return err
			}
			p.V, err = strconv.ParseFloat(string(text), 64)
			return err
		default:
			return errors.New("value has more than two parts")
		}
	})
	if err == nil && n != 2 {
		err = errors.New("value has fewer than two parts")
	}
	return p, err
}

// Limits of what a reply says in words, which is kept and logged.
const (
	maxNote  = 4 << 10 // bytes
	maxNotes = 100
)

// note is a text for people, cut off where nobody reads on. It has memory of
// its own.
func (s *scanner) note() (string, error) {
	if s.null() {
		return "", nil
	}
	b, err := s.str()
	if len(b) <= maxNote {
		return string(b), err
	}
	return strings.ToValidUTF8(string(b[:maxNote]), "") + "…", err
}

// notes reads an array of texts for people; null is none.
func (s *scanner) notes(keep func(string)) error {
	if s.null() {
		return nil
	}
	return s.array(func() error {
		t, err := s.note()
		keep(t)
		return err
	})
}

// yes reads a mark; whatever is neither false nor null sets it.
func (s *scanner) yes() (bool, error) {
	raw, err := s.raw()
	text := strings.Trim(string(raw), `"`)
	return text != "false" && text != "null", err
}

// unescape reads a string literal with escapes in it.
func unescape(literal []byte) ([]byte, error) {
	var text string
	if err := json.Unmarshal(literal, &text); err != nil {
		return nil, fmt.Errorf("reading a string: %w", err)
	}
	return []byte(text), nil
}
