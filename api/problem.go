package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"
)

const (
	problemType = "application/problem+json"
	// internalDetail is all that a caller learns of an internal error.
	internalDetail = "the service failed to answer; its log says why"
	// maxShown caps how much of a caller's own words an error repeats, in bytes.
	maxShown = 200
)

// failure is an error that knows what the caller is told.
type failure struct {
	Problem
	// cause goes to the log and nowhere else.
	cause error
	// quiet keeps it out of the log: it is there already, or asked for often.
	quiet bool
}

func (f *failure) Error() string {
	if f.cause != nil {
		return fmt.Sprintf("%d %s: %s", f.Status, f.Detail, f.cause)
	}
	return fmt.Sprintf("%d %s", f.Status, f.Detail)
}

func (f *failure) Unwrap() error { return f.cause }

func problem(status int, detail string) Problem {
	return Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail}
}

// refuse returns an error that tells the caller everything.
func refuse(status int, detail string) error {
	return &failure{Problem: problem(status, detail)}
}

// fail returns an error whose cause only the log learns.
func fail(status int, detail string, cause error) error {
	return &failure{Problem: problem(status, detail), cause: cause}
}

// asFailure turns any error of a handler, a middleware or echo itself into what
// the caller is told.
func asFailure(err error, c echo.Context) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	var h *echo.HTTPError
	if !errors.As(err, &h) {
		return &failure{Problem: problem(http.StatusInternalServerError, internalDetail), cause: err}
	}
	req := c.Request()
	detail := fmt.Sprint(h.Message)
	switch h.Code {
	case http.StatusNotFound:
		detail = fmt.Sprintf("there is nothing at %q; /openapi.yaml lists what there is", shown(req.URL.Path))
	case http.StatusMethodNotAllowed:
		detail = fmt.Sprintf("%s is not possible here; allowed: %s",
			shown(req.Method), c.Response().Header().Get(echo.HeaderAllow))
	case http.StatusRequestEntityTooLarge:
		detail = "the body is larger than 1 MB"
		if c.Path() == alertmanagerPath {
			detail = "the body is larger than 8 MB"
		}
	}
	return &failure{Problem: problem(h.Code, detail), cause: h.Internal}
}

// writeError is echo's error handler.
func (s *server) writeError(err error, c echo.Context) {
	f := asFailure(err, c)
	if gone := errors.Is(c.Request().Context().Err(), context.Canceled); f.Status >= 500 && f.Status != http.StatusNotImplemented && !f.quiet && !gone {
		s.Logger.Error("request failed", "method", c.Request().Method, "path", c.Path(),
			"status", f.Status, "err", f)
	}
	if c.Response().Committed {
		return
	}
	if safe := !IsChanging(c.Request().Method); safe && c.Request().URL.Path == "/" && f.Status < 500 {
		if err := s.writePage(c, f.Status, pageView{Problem: &f.Problem, Refresh: defaultRefresh}); err == nil {
			return
		}
	}
	body, err := json.Marshal(f.Problem)
	if err != nil {
		s.Logger.Error("encoding a problem failed", "err", err)
		body = []byte("{}")
	}
	if err := c.Blob(f.Status, problemType, append(body, '\n')); err != nil {
		s.Logger.Debug("writing a problem failed", "err", err)
	}
}

// shown cuts a caller's words to a length that an error message bears.
func shown(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return s[:maxShown] + "…"
}
