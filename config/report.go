package config

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// Names of the checks that only configurations have, as in
// [document.Diagnostic].Check; the others are those of rule sets.
const (
	CheckSecret      = "inline-secret"
	CheckEnvironment = "unknown-variable"
	CheckFile        = "file"
	CheckRuleSet     = "rule-set"
	CheckScope       = "scope"
	CheckActuator    = "actuator"
	CheckUnused      = "unused"
)

// Origin says where a value comes from.
type Origin string

// The origins, each overriding those before it.
const (
	FromDefault     Origin = "default"
	FromFile        Origin = "file"
	FromEnvironment Origin = "environment"
	FromFlag        Origin = "flag"
)

// place is where a value was set. For a variable or a flag, pos.File is its
// name and there is no line.
type place struct {
	origin Origin
	pos    document.Position
}

// report collects what is wrong with the file and with what is laid over it.
type report struct {
	*document.Report
	// kinds are what can be chosen from.
	kinds map[string]document.Kinds
	// places are where values were set, by path such as "scopes[0].mode".
	places map[string]place
	// local says that files are to be written by this process.
	local bool
	// rulesFailed says that some rule set did not load, so that its name is not
	// known either.
	rulesFailed bool
}

// fail reports an error at a path, or at the nearest section around it that was
// set.
func (r *report) fail(path, check, hint, format string, args ...any) {
	r.Add(document.SeverityError, r.at(path), check, hint, format, args...)
}

// others reports what is wrong with another file that a path names.
func (r *report) others(path string, err error) {
	var list *document.ErrorList
	switch {
	case errors.As(err, &list):
		r.fail(path, CheckFile, "", "%s names a file that cannot be used", path)
		r.Errors = append(r.Errors, list.Diagnostics...)
	case err != nil:
		r.fail(path, CheckFile, "", "%s: %v", path, err)
	}
}

// failed reports whether a path was set to what cannot be used.
func (r *report) failed(path string) bool {
	if !r.isSet(path) {
		return false
	}
	here := r.at(path)
	return slices.ContainsFunc(r.Errors, func(d document.Diagnostic) bool { return d.Pos == here })
}

func (r *report) warn(path, check, hint, format string, args ...any) {
	r.Add(document.SeverityWarning, r.at(path), check, hint, format, args...)
}

// isSet reports whether a value was given, be it a wrong one.
func (r *report) isSet(path string) bool {
	_, ok := r.places[path]
	return ok
}

// at is the place of a path, of the first key below it (variables and flags set
// keys without a section around), or of the nearest section around it.
func (r *report) at(path string) document.Position {
	if _, ok := r.places[path]; !ok {
		for _, below := range slices.Sorted(maps.Keys(r.places)) {
			if strings.HasPrefix(below, path+".") {
				return r.places[below].pos
			}
		}
	}
	for {
		if p, ok := r.places[path]; ok {
			return p.pos
		}
		i := strings.LastIndexAny(path, ".[")
		if i < 0 {
			return document.Position{File: cmp.Or(r.File, "configuration")}
		}
		path = path[:i]
	}
}

// list returns every error in the order of the file; those of variables, flags
// and rule sets follow.
func (r *report) list() error {
	if len(r.Errors) == 0 {
		return nil
	}
	r.sort(r.Errors)
	return &document.ErrorList{Diagnostics: r.Errors}
}

func (r *report) sort(ds []document.Diagnostic) {
	rank := func(d document.Diagnostic) int {
		if d.Pos.File == r.File {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(ds, func(a, b document.Diagnostic) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Pos.File, b.Pos.File),
			cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
}
