// Package contact remembers of everybody that the service depends on when they
// last answered, and since when they do not.
package contact

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// State is how somebody answers.
type State string

// The states.
const (
	// Unasked is somebody who was not asked yet.
	Unasked State = "unasked"
	// Up is somebody whose last answer was a good one.
	Up State = "up"
	// Down is somebody whose last answer was none, or an error.
	Down State = "down"
)

// maxError and maxVersion bound what is kept of texts that others send, in bytes.
const maxError, maxVersion = 500, 64

// Status is what is known about somebody.
type Status struct {
	// Name is what the configuration calls it: a cluster's name, a kind of store.
	Name string `json:"name"`
	// URL is where it is asked, without secrets; empty for what has no address.
	URL   string `json:"url"`
	State State  `json:"state"`
	// Since is when the state began, LastAnswer when the last good answer came;
	// nil for never.
	Since      *time.Time `json:"since"`
	LastAnswer *time.Time `json:"lastAnswer"`
	// Error is what went wrong last, empty unless the state is Down.
	Error string `json:"error"`
	// Version is that of a Zeta cluster, empty while it was not told.
	Version string `json:"version,omitempty"`
	// InUse marks the one of several replicas that is asked.
	InUse bool `json:"inUse,omitempty"`
}

// Log notes how somebody answers. It is safe for concurrent use.
type Log struct {
	clock func() time.Time

	mu     sync.Mutex
	status Status
}

// New returns the log of somebody who was not asked yet. A nil clock is
// time.Now.
func New(name, url string, clock func() time.Time) *Log {
	if clock == nil {
		clock = time.Now
	}
	return &Log{clock: clock, status: Status{Name: name, URL: url, State: Unasked}}
}

// Note takes the outcome of an attempt, nil if it was answered well. An attempt
// that was called off says nothing.
func (l *Log) Note(err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	now := l.clock().UTC()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.status
	next := Up
	s.Error = ""
	if err != nil {
		next, s.Error = Down, line(err.Error(), maxError)
	} else {
		s.LastAnswer = &now
	}
	if s.State != next {
		s.State, s.Since = next, &now
	}
}

// Begin notes the outcome of an attempt among several at once, by the function
// that it returns: one that fails while others are answered says nothing.
func (l *Log) Begin() func(error) {
	began := l.clock()
	return func(err error) {
		if last := l.Status().LastAnswer; err != nil && last != nil && !last.Before(began) {
			return
		}
		l.Note(err)
	}
}

// Tell notes where somebody is asked now and which version it has; what is empty
// stays as it was.
func (l *Log) Tell(url, version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if url != "" {
		l.status.URL = url
	}
	if version != "" {
		l.status.Version = line(version, maxVersion)
	}
}

// Status is what is known now.
func (l *Log) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status
}

// line is a text on one line and of bounded length, cut between two characters.
func line(text string, most int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\n", "; ")
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}
