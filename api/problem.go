package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/zeta-scaler/zeta-scaler/web/handler"
)

// failure is an error that knows what the caller is told.
type failure struct {
	Problem
	// cause goes to the log and nowhere else.
	cause error
	// quiet keeps it out of the log: it is asked for often.
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
		return &failure{Problem: problem(http.StatusInternalServerError, handler.InternalDetail), cause: err}
	}
	req := c.Request()
	detail := fmt.Sprint(h.Message)
	switch h.Code {
	case http.StatusNotFound:
		detail = fmt.Sprintf("there is nothing at %q; /openapi.yaml lists what there is", handler.Shown(req.URL.Path))
	case http.StatusMethodNotAllowed:
		detail = fmt.Sprintf("%s is not possible here; allowed: %s",
			handler.Shown(req.Method), c.Response().Header().Get(echo.HeaderAllow))
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
	if safe := !isChanging(c.Request().Method); safe && isPage(c.Request().URL.Path) {
		if err := s.writePage(c, f.Status, pageView{Problem: &f.Problem, Follows: true, Refresh: defaultRefresh}); err == nil {
			return
		}
	}
	handler.WriteProblem(c.Response(), f.Status, f.Problem)
}
