package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
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
	warnings, infos            []string
}

// decode reads a whole reply. It is written by hand because a tick decodes one
// sample per scope and signal, and going through generic JSON values costs an
// order of magnitude more. What it accepts is the API's format and nothing
// wider: numbers where strings belong are an error.
func decode(body []byte) (envelope, error) {
	var e envelope
	s := scanner{buf: body}
	var data []byte
	err := s.object(func(key []byte) (err error) {
		switch string(key) {
		case "status":
			e.status, err = s.note()
		case "errorType":
			e.errorType, err = s.note()
		case "error":
			e.message, err = s.note()
		case "warnings":
			e.warnings, err = s.notes()
		case "infos":
			e.infos, err = s.notes()
		case "data":
			data, err = s.raw()
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
	if data == nil {
		return e, errors.New("success without data")
	}
	return e, e.decodeData(data)
}

// decodeData reads the field data, whose members may come in any order.
func (e *envelope) decodeData(data []byte) error {
	s := scanner{buf: data}
	var result []byte
	err := s.object(func(key []byte) (err error) {
		switch string(key) {
		case "resultType":
			e.resultType, err = s.note()
		case "result":
			result, err = s.raw()
		default:
			err = s.skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	if result == nil {
		return errors.New("data without result")
	}
	s = scanner{buf: result}
	switch e.resultType {
	case "vector":
		return s.array(func() error { return e.decodeSample(&s) })
	case "matrix":
		return s.array(func() error { return e.decodeSeries(&s) })
	case "scalar":
		p, err := s.point()
		e.samples = []Sample{{Value: p.V}}
		return err
	case "string":
		return nil
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
			var p Point
			p, err = s.point()
			sample.Value, found = p.V, true
		case "histogram":
			err = notSamples("a histogram")
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
			series.Points, err = s.points()
		case "histograms":
			err = notSamples("a histogram")
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
	b, err := s.str()
	if len(b) <= maxNote {
		return string(b), err
	}
	return strings.ToValidUTF8(string(b[:maxNote]), "") + "…", err
}

// notes reads an array of texts for people, of which it keeps the first; null
// is none.
func (s *scanner) notes() ([]string, error) {
	if s.null() {
		return nil, nil
	}
	var all []string
	err := s.array(func() error {
		t, err := s.note()
		if len(all) < maxNotes {
			all = append(all, t)
		}
		return err
	})
	return all, err
}

// unescape reads a string literal with escapes in it.
func unescape(literal []byte) ([]byte, error) {
	var text string
	if err := json.Unmarshal(literal, &text); err != nil {
		return nil, fmt.Errorf("reading a string: %w", err)
	}
	return []byte(text), nil
}
