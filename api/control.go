package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// What an audit record says was done.
const (
	auditConfig = "config"
	auditPause  = "pause"
	auditResume = "resume"
)

// errNoStore says that nothing can be set at run time.
func errNoStore() error {
	return refuse(http.StatusNotImplemented, "this process keeps nothing that is set at run time")
}

// PostPause pauses a scope or the whole service.
func (s *server) PostPause(c echo.Context) error {
	var req PauseRequest
	if err := decodeBody(c, &req, false); err != nil {
		return err
	}
	key, err := s.scopeOf(c.Request().Context(), req.Scope)
	if err != nil {
		return err
	}
	if err := checkReason(req.Reason, true); err != nil {
		return err
	}
	now := s.Now()
	var until time.Time
	if req.Until.Set {
		if req.Until.Value == nil || !req.Until.Value.After(now) {
			return refuse(http.StatusBadRequest, fmt.Sprintf(`invalid body: "until" is not in the future, it is %s now`, scaling.At(now)))
		}
		if !writable(*req.Until.Value) {
			return refuse(http.StatusBadRequest, `invalid body: "until" is not in the years 0 to 9999 of UTC`)
		}
		until = state.Instant(*req.Until.Value)
	}
	return s.change(c, key, auditPause, func(r *state.ControlRecord) {
		if !r.PausedAt(now) {
			r.PausedSince, r.PausedBy = r.UpdatedAt, r.By
		}
		r.Paused, r.Reason, r.PausedUntil = true, req.Reason, until
	})
}

// PostResume ends the pause of a scope or of the whole service.
func (s *server) PostResume(c echo.Context) error {
	var req ResumeRequest
	if err := decodeBody(c, &req, true); err != nil {
		return err
	}
	key, err := s.scopeOf(c.Request().Context(), req.Scope)
	if err != nil {
		return err
	}
	if err := checkReason(req.Reason, false); err != nil {
		return err
	}
	return s.change(c, key, auditResume, func(r *state.ControlRecord) {
		r.Paused, r.Reason, r.PausedUntil = false, req.Reason, time.Time{}
		r.PausedSince, r.PausedBy = time.Time{}, ""
		r.ResumedAt = r.UpdatedAt
	})
}

// scopeOf is the key of the record that a request means.
func (s *server) scopeOf(ctx context.Context, scope Optional[string]) (string, error) {
	switch {
	case s.Store == nil:
		return "", errNoStore()
	case !scope.Set:
		return state.GlobalKey, nil
	case scope.Value == nil || *scope.Value == "":
		return "", refuse(http.StatusBadRequest, `invalid body: "scope" is empty; leave it out to mean the whole service`)
	}
	key, err := s.changedKey(*scope.Value)
	if err != nil {
		return "", err
	}
	return key, s.exists(ctx, key)
}

// exists refuses a scope that is neither listed nor known, unless something was
// set for it when it was: that outlives it.
func (s *server) exists(ctx context.Context, key string) error {
	if _, ok := s.Board.Evaluation(key); ok || s.configured(key).Listed {
		return nil
	}
	row, err := s.controls.Get(ctx, key)
	known := row.Version > 0
	if err == nil && !known && !s.Board.Leader() {
		// This replica decides about none; whoever leads keeps what it decides.
		var decided state.Row[state.DecisionRecord]
		decided, err = s.decisions.Get(ctx, key)
		known = decided.Version > 0
	}
	switch {
	case errors.Is(err, state.ErrUnreadable):
		return nil
	case err != nil:
		return s.storeFailure(err)
	case !known:
		return s.noScope(key)
	}
	return nil
}

// change rewrites one control record and replies what is set then.
func (s *server) change(c echo.Context, key, what string, edit func(*state.ControlRecord)) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), storeTimeout)
	defer cancel()
	var w controlWrite
	var encoding error
	_, err := s.controls.Change(ctx, key, func(old state.Row[state.ControlRecord]) (state.ControlRecord, []state.Entry, bool) {
		w = controlWrite{old: old, after: old.Value}
		s.sign(ctx, &w.after)
		edit(&w.after)
		var audit state.Entry
		audit, encoding = w.audit(c, what)
		return w.after, []state.Entry{audit}, encoding == nil
	})
	if errors.Is(err, state.ErrUnreadable) {
		w, err = s.writeAnew(ctx, c, key, what, edit)
	} else if err == nil {
		s.logChange(c, what, &w)
	}
	switch err = errors.Join(err, encoding); {
	case errors.Is(err, state.ErrConflict):
		return fail(http.StatusServiceUnavailable, "others change the same at the same time; try again", err)
	case err != nil:
		return s.storeFailure(err)
	}
	return s.replyControl(ctx, c, key, w.after)
}

// writeAnew puts a control record in the place of one that cannot be decoded.
func (s *server) writeAnew(ctx context.Context, c echo.Context, key, what string, edit func(*state.ControlRecord)) (controlWrite, error) {
	controls, err := s.readControls(ctx)
	if err != nil {
		return controlWrite{}, err
	}
	for _, u := range controls.unreadable {
		if u.Key != key {
			continue
		}
		w := controlWrite{
			old:    state.Row[state.ControlRecord]{Key: key, Version: u.Version},
			reason: "what was set before could not be read, and is gone",
		}
		s.sign(ctx, &w.after)
		edit(&w.after)
		return w, s.write(ctx, c, what, []controlWrite{w})
	}
	return controlWrite{}, state.ErrConflict // somebody else has written it anew
}

// sign says who changes a record, and when.
func (s *server) sign(ctx context.Context, r *state.ControlRecord) {
	r.By, r.UpdatedAt = s.user(ctx), state.Instant(s.Now())
}

func (s *server) user(ctx context.Context) string {
	if s.User == nil {
		return ""
	}
	return s.User(ctx)
}

// controlWrite is one record that changes.
type controlWrite struct {
	old   state.Row[state.ControlRecord]
	after state.ControlRecord
	// reason is why the configuration is changed.
	reason string
}

// audit is the history of who made the change.
func (w *controlWrite) audit(c echo.Context, what string) (state.Entry, error) {
	e := state.Entry{Scope: w.old.Key, At: w.after.UpdatedAt, Kind: state.AuditEntry, Action: what}
	return e.With(AuditRecord{
		Who: w.after.By, From: c.RealIP(), What: what, Scope: w.old.Key, Reason: w.reason,
		Before: w.old.Value, After: w.after, At: w.after.UpdatedAt,
	})
}

// write stores what was planned, all of it or nothing, if nobody changed any of
// it since it was read.
func (s *server) write(ctx context.Context, c echo.Context, what string, writes []controlWrite) error {
	all := state.NewWrite(s.Store, state.NoFence)
	for i := range writes {
		w := &writes[i]
		audit, err := w.audit(c, what)
		if err != nil {
			return err
		}
		if err := s.controls.Replace(all, w.old, w.after); err != nil {
			return err
		}
		all.Append(audit)
	}
	if err := all.Commit(ctx); err != nil {
		return err
	}
	for i := range writes {
		s.logChange(c, what, &writes[i])
	}
	return nil
}

func (s *server) logChange(c echo.Context, what string, w *controlWrite) {
	s.Logger.Info("changed at run time", "what", what, "scope", w.old.Key, "all_scopes", w.old.Key == state.GlobalKey,
		"who", w.after.By, "from", c.RealIP(), "before", inLog(w.old.Value), "after", inLog(w.after))
}

// inLog writes a record on one line.
func inLog(r state.ControlRecord) string {
	b, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// storeFailure is what a caller learns when the store fails.
func (s *server) storeFailure(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fail(http.StatusServiceUnavailable, fmt.Sprintf("the state store gave no answer within %s", storeTimeout), err)
	}
	return fail(http.StatusInternalServerError, "the state store failed; the log says why", err)
}

// replyControl serves one record and who is paused now.
func (s *server) replyControl(ctx context.Context, c echo.Context, key string, r state.ControlRecord) error {
	all, err := s.readControls(ctx)
	if err != nil {
		return s.storeFailure(err)
	}
	now := s.Now()
	reply := ControlState{Control: controlOf(r, now), PausedScopes: []string{}}
	if key != state.GlobalKey {
		reply.Scope = &key
	}
	for _, v := range all.rows {
		switch {
		case !v.Value.PausedAt(now):
		case v.Key == state.GlobalKey:
			reply.ServicePaused = true
		default:
			reply.PausedScopes = append(reply.PausedScopes, v.Key)
		}
	}
	return c.JSON(http.StatusOK, reply)
}

// controlOf renders a record as it is now: what is not set is null.
func controlOf(r state.ControlRecord, now time.Time) Control {
	return Control{
		Paused: r.Paused, Reason: r.Reason, By: r.By, Until: set(r.PausedUntil),
		MinWorkers: r.MinWorkers, MaxWorkers: r.MaxWorkers, Mode: r.Mode, TimedBounds: listed(r.Timed(now)),
		UpdatedAt: set(r.UpdatedAt), ResumedAt: set(r.ResumedAt),
	}
}

func set(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// configured is what the configuration says of a scope; what comes from nowhere
// is a default.
func (s *server) configured(key string) Configured {
	c := Configured{Configured: state.Configured{Bounds: scaling.DefaultBounds(), Mode: scaling.Advisory}}
	if s.Configured != nil {
		c = s.Configured(key)
	}
	for _, p := range []*Place{&c.MinFrom, &c.MaxFrom, &c.ModeFrom} {
		p.Origin = cmp.Or(p.Origin, FromDefault)
	}
	return c
}
