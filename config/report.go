package config

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/rules"
)

// Names of the checks that only configurations have, as in
// [rules.Diagnostic].Check; the others are those of rule sets.
const (
	CheckSecret       = "inline-secret"
	CheckEnvironment  = "unknown-variable"
	CheckNotAvailable = "not-available"
	CheckFile         = "file"
	CheckRuleSet      = "rule-set"
	CheckScope        = "scope"
	CheckActuator     = "actuator"
	CheckUnused       = "unused"
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
	pos    rules.Position
}

// report collects what is wrong.
type report struct {
	// file and content are of the configuration file, to quote from.
	file    string
	content []byte
	// hidden are the lines that secrets stand in, wherever that is.
	hidden map[int]bool
	// places are where values were set, by path such as "scopes[0].mode".
	places map[string]place
	errs   []rules.Diagnostic
	warns  []rules.Diagnostic
	// rulesFailed says that some rule set did not load, so that its name is not
	// known either.
	rulesFailed bool
}

func (r *report) failAt(p rules.Position, check, hint, format string, args ...any) {
	r.errs = append(r.errs, r.diagnostic(p, rules.SeverityError, check, hint, fmt.Sprintf(format, args...)))
}

// fail reports an error at a path, or at the nearest section around it that was
// set.
func (r *report) fail(path, check, hint, format string, args ...any) {
	r.failAt(r.at(path), check, hint, format, args...)
}

func (r *report) warn(path, check, hint, format string, args ...any) {
	r.warns = append(r.warns, r.diagnostic(r.at(path), rules.SeverityWarning, check, hint, fmt.Sprintf(format, args...)))
}

func (r *report) diagnostic(p rules.Position, severity rules.Severity, check, hint, message string) rules.Diagnostic {
	return rules.Diagnostic{
		Pos: p, Severity: severity, Check: check, Message: message, Hint: hint, Snippet: r.snippet(p),
	}
}

// isSet reports whether a value was given, be it a wrong one.
func (r *report) isSet(path string) bool {
	_, ok := r.places[path]
	return ok
}

// at is the place of a path, of the first key below it (variables and flags set
// keys without a section around), or of the nearest section around it.
func (r *report) at(path string) rules.Position {
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
			return rules.Position{File: cmp.Or(r.file, "configuration")}
		}
		path = path[:i]
	}
}

// secretLine matches lines that may hold a secret. Names of keys that only name
// a file are taken out before.
var (
	fileKey    = regexp.MustCompile(`\w+_files?\b`)
	secretLine = regexp.MustCompile(`(?i)http_config|pass?w|pass\b|phrase|secret|token|credential|auth|cookie|api.?key|bearer|:.*@|\bkey\s*:|\bca\s*:|\bcert\s*:`)
)

// snippet quotes a line of the file, unless it may hold a secret: errors end up
// in logs.
func (r *report) snippet(p rules.Position) string {
	if p.File != r.file || p.Line == 0 || r.hidden[p.Line] {
		return ""
	}
	s := rules.Snippet(r.content, p)
	if holdsSecret(s) {
		return ""
	}
	return s
}

// holdsSecret reports whether a line may hold a secret.
func holdsSecret(line string) bool {
	return secretLine.MatchString(fileKey.ReplaceAllString(line, ""))
}

// list returns every error in the order of the file; those of variables, flags
// and rule sets follow.
func (r *report) list() error {
	if len(r.errs) == 0 {
		return nil
	}
	r.sort(r.errs)
	return &rules.ErrorList{Diagnostics: r.errs}
}

func (r *report) sort(ds []rules.Diagnostic) {
	rank := func(d rules.Diagnostic) int {
		if d.Pos.File == r.file {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(ds, func(a, b rules.Diagnostic) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Pos.File, b.Pos.File),
			cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
}
