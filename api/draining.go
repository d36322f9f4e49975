package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/drain"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// planTimeout bounds what a dry run may ask platform and cluster: more than one
// request to each, one after another.
const planTimeout = time.Minute

// PostDrain begins a drain that a person asks for.
func (s *server) PostDrain(c echo.Context) error {
	var req DrainRequest
	if err := decodeBody(c, &req, false); err != nil {
		return err
	}
	worker, err := s.checkDrain(&req.Scope, req.Worker)
	if err != nil {
		return err
	}
	if err := checkReason(req.Reason, true); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), storeTimeout)
	defer cancel()
	by := cmp.Or(s.user(ctx), c.RealIP())
	d, err := s.Drains.Request(ctx, req.Scope, worker, by, req.Reason)
	if err != nil {
		return s.drainFailure(req.Scope, err)
	}
	s.Logger.Info("drain asked for", "scope", req.Scope, "worker", worker, "drain", d.ID, "who", by, "from", c.RealIP(), "reason", req.Reason)
	return c.JSON(http.StatusOK, wholeDrain(d))
}

// PostDrainPlan says what a drain would do.
func (s *server) PostDrainPlan(c echo.Context) error {
	var req DrainPlanRequest
	if err := decodeBody(c, &req, false); err != nil {
		return err
	}
	worker, err := s.checkDrain(&req.Scope, req.Worker)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), planTimeout)
	defer cancel()
	p, err := s.Drains.Plan(ctx, req.Scope, worker)
	if err != nil {
		return s.drainFailure(req.Scope, err)
	}
	p.Jobs = listed(p.Jobs)
	return c.JSON(http.StatusOK, p)
}

// PostDrainCancel has a drain go back.
func (s *server) PostDrainCancel(c echo.Context) error {
	var req DrainCancelRequest
	if err := decodeBody(c, &req, false); err != nil {
		return err
	}
	if _, err := s.checkDrain(&req.Scope, Optional[string]{}); err != nil {
		return err
	}
	if err := checkReason(req.Reason, true); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), storeTimeout)
	defer cancel()
	by := cmp.Or(s.user(ctx), c.RealIP())
	d, err := s.Drains.Cancel(ctx, req.Scope, by, req.Reason)
	if err != nil {
		return s.drainFailure(req.Scope, err)
	}
	s.Logger.Info("drain cancelled", "scope", req.Scope, "drain", d.ID, "who", by, "from", c.RealIP(), "reason", req.Reason)
	return c.JSON(http.StatusOK, wholeDrain(d))
}

// checkDrain checks whom a request is about, and returns the worker, empty for
// none in particular. It writes the scope's key into the request.
func (s *server) checkDrain(scope *string, worker Optional[string]) (string, error) {
	switch {
	case s.Drains == nil:
		return "", refuse(http.StatusNotImplemented, "this process drains no workers")
	case *scope == "":
		return "", refuse(http.StatusBadRequest, `invalid body: "scope" is missing`)
	case len(*scope) > maxKey:
		return "", refuse(http.StatusBadRequest, `invalid body: "scope" is too long`)
	case worker.Set && valueOf(worker) == "":
		return "", refuse(http.StatusBadRequest, `invalid body: "worker" is empty; leave it out to mean the one that the platform would remove`)
	case len(valueOf(worker)) > maxKey || strings.ContainsFunc(valueOf(worker), document.Unprintable):
		return "", refuse(http.StatusBadRequest, `invalid body: "worker" is too long or has control characters`)
	}
	key, err := s.changedKey(*scope)
	if err != nil {
		return "", err
	}
	*scope = key
	return valueOf(worker), nil
}

// drainFailure is what a caller learns of a drain that was not begun, or not
// cancelled.
func (s *server) drainFailure(scope string, err error) error {
	_, known := s.Board.Evaluation(scope)
	switch {
	case errors.Is(err, drain.ErrNoScope) && !known:
		return s.noScope(scope)
	case errors.Is(err, drain.ErrNoScope):
		return refuse(http.StatusNotFound, err.Error())
	case errors.Is(err, drain.ErrRefused):
		return refuse(http.StatusConflict, strings.TrimPrefix(err.Error(), drain.ErrRefused.Error()+": "))
	case errors.Is(err, ErrFollower), errors.Is(err, state.ErrFenced):
		return &failure{Problem: problem(http.StatusServiceUnavailable, "this replica does not lead: ask the one that does"), quiet: true}
	case errors.Is(err, state.ErrLate):
		return fail(http.StatusServiceUnavailable, "the decision loop is late; try again", err)
	}
	return s.storeFailure(err)
}
