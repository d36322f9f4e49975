// Package trouble keeps the log short: what goes wrong at every attempt has one
// line when it begins and one when it is over.
package trouble

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
)

// State is one thing that can go wrong, and whether it does. It is safe for
// concurrent use.
type State struct {
	logger       *slog.Logger
	level        slog.Level
	begins, ends string

	mu   sync.Mutex
	kind string // empty: all is well
}

// New returns a state in which all is well. The logger gets the text begins at
// the given level when that changes, and the text ends at info when all is well
// again; an empty text is no line.
func New(logger *slog.Logger, level slog.Level, begins, ends string) *State {
	return &State{logger: logger, level: level, begins: begins, ends: ends}
}

// failing is the kind of trouble of those who know only one.
const failing = "failing"

// Note takes the outcome of an attempt, nil if it went well. The line that says
// what began has the error behind args.
func (s *State) Note(err error, args ...any) {
	if err == nil {
		s.Set("", args...)
		return
	}
	s.Set(failing, append(slices.Clip(args), "err", err)...)
}

// NoteIf is Note for trouble that is no error.
func (s *State) NoteIf(bad bool, args ...any) {
	kind := ""
	if bad {
		kind = failing
	}
	s.Set(kind, args...)
}

// NoteOf is Note for trouble of some things, which have names: a line says whenever
// they are others. The error says what is wrong with them.
func (s *State) NoteOf(things string, names []string, err error) {
	if len(names) == 0 {
		s.Set("")
		return
	}
	s.Set(fmt.Sprintf("%q", names), things, names, "err", err) // a name may be empty
}

// Set is Note for trouble of several kinds, each of which has a line of its own;
// the empty kind is that all is well. It reports whether the kind has changed.
func (s *State) Set(kind string, args ...any) (changed bool) {
	s.mu.Lock()
	was := s.kind
	s.kind = kind
	s.mu.Unlock()
	switch {
	case kind == was:
		return false
	case kind != "" && s.begins != "":
		s.logger.Log(context.Background(), s.level, s.begins, args...)
	case kind == "" && s.ends != "":
		s.logger.Info(s.ends, args...)
	}
	return true
}

// Present reports whether something is wrong.
func (s *State) Present() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kind != ""
}
