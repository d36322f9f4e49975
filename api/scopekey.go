package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/web/handler"
)

// nearScopes is how many scopes are named to somebody who has misspelt one, or
// means one of several.
const nearScopes = 5

// withKeys lets queries name a scope as people read it: behind it, the parameter
// scope is a key.
func (s *server) withKeys(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		u := c.Request().URL
		query := u.Query()
		named := query["scope"]
		if len(named) != 1 || named[0] == "" {
			return next(c)
		}
		key, err := s.keyOf(named[0])
		if err != nil {
			return err
		}
		if key != named[0] {
			query.Set("scope", key)
			u.RawQuery = query.Encode()
		}
		return next(c)
	}
}

// keyOf is the key of the scope that a text means: the key itself, its label
// values as they are, both in any order, or labels such as cluster=prod,queue=etl.
// What no scope is called is spelled as a key: the past outlives its scopes.
func (s *server) keyOf(text string) (string, error) {
	if _, ok := s.Board.Evaluation(text); ok || text == "" || s.configured(text).Listed {
		return text, nil
	}
	switch keys := s.meant(text); len(keys) {
	case 0:
		return scaling.SpelledKey(text), nil
	case 1:
		return keys[0], nil
	default:
		return "", ambiguous(text, keys)
	}
}

// changedKey is the key of the scope that a change is about. A change hits no scope
// but the one that is named: what may be a key is a key, of a scope that is gone or
// not yet found, too; values count in the order of the key, and labels if all of
// them are given. The key need not be that of any scope.
func (s *server) changedKey(text string) (string, error) {
	spelled, literal := scaling.SpelledKey(text), scaling.LiteralKey(text)
	if spelled == text {
		return text, nil
	}
	keys := s.knownKeys(func(scope *scaling.Scope) bool { return strings.Contains(text, ",") && hasLabels(scope, text) })
	if alike := s.knownKeys(func(scope *scaling.Scope) bool { return scope.Shown() == text }); len(alike) > 0 {
		keys = append(append(keys, alike...), literal)
	}
	if literal != spelled { // "%2F" may stand for "/" or for itself
		keys = append(keys, spelled, literal)
	}
	slices.Sort(keys)
	switch keys = slices.Compact(keys); len(keys) {
	case 0:
		return literal, nil
	case 1:
		return keys[0], nil
	default:
		return "", ambiguous(text, keys)
	}
}

func ambiguous(text string, keys []string) error {
	return refuse(http.StatusBadRequest, fmt.Sprintf("scope %q may be %s: write the one that is meant like this", handler.Shown(text), oneOf(keys)))
}

// meant are the keys of the scopes that somebody who looks is likely to mean.
func (s *server) meant(text string) []string {
	keys := s.knownKeys(func(scope *scaling.Scope) bool { return scope.Shown() == text })
	if len(keys) > 0 {
		return keys
	}
	values, labels := inAnyOrder(scaling.ShownKey(text), "/"), inAnyOrder(text, ",")
	return s.knownKeys(func(scope *scaling.Scope) bool {
		return inAnyOrder(scope.Shown(), "/") == values || inAnyOrder(labelled(scope), ",") == labels
	})
}

// knownKeys are the keys of the scopes of the last tick that are as is says.
func (s *server) knownKeys(is func(*scaling.Scope) bool) (keys []string) {
	evaluations := s.Board.Evaluations()
	for i := range evaluations {
		if scope := &evaluations[i].Scope; is(scope) {
			keys = append(keys, scope.Key)
		}
	}
	return keys
}

// hasLabels reports whether a text names all labels of a scope, and nothing else. A
// value with a comma cannot be named like this.
func hasLabels(scope *scaling.Scope, text string) bool {
	parts := strings.Split(text, ",")
	if len(parts) != len(scope.Labels) {
		return false
	}
	for _, l := range scope.Labels {
		if !slices.Contains(parts, l.Name+"="+l.Value) {
			return false
		}
	}
	return true
}

// labelled are the labels of a scope in words, such as cluster=prod,queue=etl.
func labelled(scope *scaling.Scope) string {
	out := make([]string, len(scope.Labels))
	for i, l := range scope.Labels {
		out[i] = l.Name + "=" + l.Value
	}
	return strings.Join(out, ",")
}

// inAnyOrder is the same for texts whose parts are the same.
func inAnyOrder(text, separator string) string {
	parts := strings.Split(text, separator)
	slices.Sort(parts)
	return strings.Join(parts, separator)
}

// oneOf names some of several things.
func oneOf(names []string) string {
	more := ""
	if n := len(names) - nearScopes; n > 0 {
		names, more = names[:nearScopes], fmt.Sprintf(" or one of %d more", n)
	}
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = fmt.Sprintf("%q", handler.Shown(name))
	}
	if more != "" || len(out) == 1 {
		return strings.Join(out, ", ") + more
	}
	return strings.Join(out[:len(out)-1], ", ") + " or " + out[len(out)-1]
}

// noScope says that there is no such scope, and which is likely to be meant.
func (s *server) noScope(key string) error {
	shown := scaling.ShownKey(key)
	detail := fmt.Sprintf("there is no scope %q", handler.Shown(shown))
	if !s.Board.Leader() {
		return refuse(http.StatusNotFound, detail+"; this replica does not lead and may know none")
	}
	names := unmistakable(s.knownKeys(func(*scaling.Scope) bool { return true }))
	switch near, meant := document.Meant(shown, names, nearScopes), s.meant(shown); {
	case len(meant) > 0:
		detail += "; did you mean " + oneOf(unmistakable(meant)) + "?"
	case len(near) > 0:
		detail += "; did you mean " + oneOf(near) + "?"
	case len(names) == 0:
		detail += ": none is known yet"
	case len(names) <= nearScopes:
		detail += "; there is " + oneOf(names)
	default:
		detail += fmt.Sprintf("; there are %d others", len(names))
	}
	return refuse(http.StatusNotFound, detail)
}

// unmistakable are keys as people read them, where that means nothing else.
func unmistakable(keys []string) []string {
	out := make([]string, len(keys))
	for i, key := range keys {
		if out[i] = scaling.ShownKey(key); scaling.SpelledKey(out[i]) != key {
			out[i] = key
		}
	}
	return out
}
