// Package source is where samples come from: a Prometheus-compatible API with
// failover, or an embedded Prometheus. Both answer the same two questions,
// an instant query and a range query.
package source

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// Sample is one value of an instant query.
type Sample struct {
	Labels labels.Labels
	Value  float64
}

// Vector is the answer to an instant query. A scalar is one sample without
// labels.
type Vector struct {
	Samples []Sample
	// Warnings mean that the answer may be incomplete; Infos are remarks about
	// the expression.
	Warnings []string
	Infos    []string
}

// Point is one value at one instant; T is Unix time in milliseconds.
type Point struct {
	T int64
	V float64
}

// Series is one line of a range query, points in rising order of time.
type Series struct {
	Labels labels.Labels
	Points []Point
}

// Matrix is the answer to a range query.
type Matrix struct {
	Series   []Series
	Warnings []string
	Infos    []string
}

// Window is the time covered by a range query: Start, Start+Step, … up to and
// including End.
type Window struct {
	Start, End time.Time
	Step       time.Duration
}

// ErrNoAnswer marks failures in which the source said nothing about the
// expression: network, time-out, 5xx, a body that is not its API. A query that
// was answered with an error (bad data, execution) does not carry it.
var ErrNoAnswer = errors.New("no answer")

// NoAnswer wraps err so that errors.Is(err, ErrNoAnswer) holds.
func NoAnswer(err error) error { return fmt.Errorf("%w: %w", ErrNoAnswer, err) }
