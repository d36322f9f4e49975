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

// maxAttempts is how often a change is tried again that another one overtook.
const maxAttempts = 10

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
	key, err := s.scopeOf(req.Scope)
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
			return refuse(http.StatusBadRequest, fmt.Sprintf(`invalid body: "until" is not in the future, it is %s now`, instant(now)))
		}
		until = state.Instant(*req.Until.Value)
	}
	return s.change(c, key, auditPause, func(r *state.ControlRecord) {
		r.Paused, r.Reason, r.PausedUntil = true, req.Reason, until
	})
}

// PostResume ends the pause of a scope or of the whole service.
func (s *server) PostResume(c echo.Context) error {
	var req ResumeRequest
	if err := decodeBody(c, &req, true); err != nil {
		return err
	}
	key, err := s.scopeOf(req.Scope)
	if err != nil {
		return err
	}
	if err := checkReason(req.Reason, false); err != nil {
		return err
	}
	return s.change(c, key, auditResume, func(r *state.ControlRecord) {
		r.Paused, r.Reason, r.PausedUntil = false, req.Reason, time.Time{}
		r.ResumedAt = r.UpdatedAt
	})
}

// scopeOf is the key of the record that a request means.
func (s *server) scopeOf(scope Optional[string]) (string, error) {
	switch {
	case s.Store == nil:
		return "", errNoStore()
	case !scope.Set:
		return state.GlobalKey, nil
	case scope.Value == nil || *scope.Value == "":
		return "", refuse(http.StatusBadRequest, `invalid body: "scope" is empty; leave it out to mean the whole service`)
	}
	return *scope.Value, s.exists(*scope.Value)
}

// exists refuses a scope that nobody has heard of.
func (s *server) exists(key string) error {
	if _, ok := s.Board.Evaluation(key); !ok && !s.configured(key).Listed {
		return s.noScope(shown(key))
	}
	return nil
}

// change rewrites one control record and replies what is set then.
func (s *server) change(c echo.Context, key, what string, edit func(*state.ControlRecord)) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), storeTimeout)
	defer cancel()
	for range maxAttempts {
		before, version, err := state.Load[state.ControlRecord](ctx, s.Store, state.Control, key)
		if err != nil {
			return s.storeFailure(err)
		}
		w := controlWrite{key: key, version: version, before: before, after: before}
		s.sign(ctx, &w.after)
		edit(&w.after)
		switch _, err := s.write(ctx, c, what, []controlWrite{w}); {
		case errors.Is(err, state.ErrConflict):
			continue
		case err != nil:
			return s.storeFailure(err)
		}
		return s.replyControl(ctx, c, key, w.after)
	}
	return fail(http.StatusServiceUnavailable, "others change the same at the same time; try again", state.ErrConflict)
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
	key           string
	version       uint64
	before, after state.ControlRecord
}

// write stores records with the history of who changed them, all or nothing,
// and logs it.
func (s *server) write(ctx context.Context, c echo.Context, what string, writes []controlWrite) ([]uint64, error) {
	var batch state.Batch
	for _, w := range writes {
		put, err := state.NewPut(state.Control, w.key, w.version, w.after)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(AuditRecord{
			Who: w.after.By, From: c.RealIP(), What: what, Scope: w.key,
			Before: w.before, After: w.after, At: w.after.UpdatedAt,
		})
		if err != nil {
			return nil, fmt.Errorf("encoding an audit record: %w", err)
		}
		batch.Puts = append(batch.Puts, put)
		batch.History = append(batch.History, state.Entry{
			Scope: w.key, At: w.after.UpdatedAt, Kind: state.AuditEntry, Action: what, Value: value,
		})
	}
	versions, err := s.Store.Apply(ctx, batch)
	if err != nil {
		return nil, err
	}
	for i := range writes {
		w := &writes[i]
		s.Logger.Info("changed at run time", "what", what, "scope", w.key, "all_scopes", w.key == state.GlobalKey,
			"who", w.after.By, "from", c.RealIP(), "before", inLog(w.before), "after", inLog(w.after))
	}
	return versions, nil
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
	all, err := s.controls(ctx)
	if err != nil {
		return s.storeFailure(err)
	}
	now := s.Now()
	reply := ControlState{Control: controlOf(r), PausedScopes: []string{}}
	if key != state.GlobalKey {
		reply.Scope = &key
	}
	for _, v := range all {
		switch {
		case !v.record.PausedAt(now):
		case v.key == state.GlobalKey:
			reply.ServicePaused = true
		default:
			reply.PausedScopes = append(reply.PausedScopes, v.key)
		}
	}
	return c.JSON(http.StatusOK, reply)
}

// storedControl is a control record with its place in the store.
type storedControl struct {
	key     string
	version uint64
	record  state.ControlRecord
}

// controls reads all control records, sorted by key.
func (s *server) controls(ctx context.Context) ([]storedControl, error) {
	records, err := s.Store.List(ctx, state.Control)
	if err != nil {
		return nil, err
	}
	out := make([]storedControl, len(records))
	for i, r := range records {
		v, err := state.Decode[state.ControlRecord](r)
		if err != nil {
			return nil, err
		}
		out[i] = storedControl{r.Key, r.Version, v}
	}
	return out, nil
}

// controlOf renders a record: what is not set is null.
func controlOf(r state.ControlRecord) Control {
	return Control{
		Paused: r.Paused, Reason: r.Reason, By: r.By, Until: set(r.PausedUntil),
		MinWorkers: r.MinWorkers, MaxWorkers: r.MaxWorkers, Mode: r.Mode,
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
	c := Configured{Bounds: scaling.DefaultBounds(), Mode: scaling.Advisory}
	if s.Configured != nil {
		c = s.Configured(key)
	}
	for _, p := range []*Place{&c.MinFrom, &c.MaxFrom, &c.ModeFrom} {
		p.Origin = cmp.Or(p.Origin, FromDefault)
	}
	return c
}
