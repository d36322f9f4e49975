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
	evaluations := s.Board.Evaluations()
	meant := func(is func(*scaling.Scope) bool) (keys []string) {
		for i := range evaluations {
			if scope := &evaluations[i].Scope; is(scope) {
				keys = append(keys, scope.Key)
			}
		}
		return keys
	}
	keys := meant(func(scope *scaling.Scope) bool { return scope.Shown() == text })
	if len(keys) == 0 {
		values, labels := inAnyOrder(scaling.ShownKey(text), "/"), inAnyOrder(text, ",")
		keys = meant(func(scope *scaling.Scope) bool {
			return inAnyOrder(scope.Shown(), "/") == values || inAnyOrder(labelled(scope), ",") == labels
		})
	}
	switch len(keys) {
	case 0:
		return scaling.SpelledKey(text), nil
	case 1:
		return keys[0], nil
	}
	return "", refuse(http.StatusBadRequest, fmt.Sprintf("scope %q may be %s: write the one that is meant like this", handler.Shown(text), oneOf(keys)))
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
	var names []string
	for _, ev := range s.Board.Evaluations() {
		names = append(names, ev.Scope.Shown())
	}
	switch near := document.Meant(shown, names, nearScopes); {
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
