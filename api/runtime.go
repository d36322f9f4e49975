package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/web/handler"
)

const (
	// maxChanges is how many scopes one request may change, maxWorkers the
	// greatest bound that it may set.
	maxChanges = 1000
	maxWorkers = 1_000_000
)

// Place says where a value of the configuration comes from.
type Place struct {
	Origin Origin
	// Source is the place in it, such as file:line:column; may be empty.
	Source string
}

// Configured is what the configuration says of one scope, before anything that
// was set at run time.
type Configured struct {
	state.Configured
	// MinFrom, MaxFrom and ModeFrom say where they come from.
	MinFrom, MaxFrom, ModeFrom Place
}

// GetConfig serves the effective configuration.
func (s *server) GetConfig(c echo.Context, params GetConfigParams) error {
	if s.Store == nil || s.Settings == nil {
		return errNoStore()
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), storeTimeout)
	defer cancel()
	var keys []string
	if params.Scope != "" {
		if err := s.exists(ctx, params.Scope); err != nil {
			return err
		}
		keys = []string{params.Scope}
	}
	return s.replyConfig(ctx, c, keys)
}

// withControls adds the scopes that are gone and for which something is set.
func withControls(keys []string, controls controls, now time.Time) []string {
	known := len(keys)
	for _, v := range controls.rows {
		if v.Key != state.GlobalKey && v.Value.InForce(now) && !slices.Contains(keys[:known], v.Key) {
			keys = append(keys, v.Key)
		}
	}
	slices.Sort(keys)
	return keys
}

// replyConfig serves what holds for some scopes, or everything without keys.
func (s *server) replyConfig(ctx context.Context, c echo.Context, keys []string) error {
	reply, tag, err := s.effective(ctx, keys)
	if err != nil {
		return err
	}
	c.Response().Header().Set("ETag", tag)
	return c.JSON(http.StatusOK, reply)
}

// effective is what holds for some scopes; without keys, for all of them, with all
// settings. The tag stands for everything that is configured and set.
func (s *server) effective(ctx context.Context, keys []string) (reply EffectiveConfig, tag string, err error) {
	controls, err := s.readControls(ctx)
	if err != nil {
		return reply, "", s.storeFailure(err)
	}
	if tag, err = s.etag(controls); err != nil {
		return reply, "", err
	}
	settings := []Setting{}
	if len(keys) == 0 {
		if keys, err = s.evaluated(ctx); err != nil {
			return reply, "", s.storeFailure(err)
		}
		keys, settings = withControls(keys, controls, s.Now()), listed(s.Settings())
	}
	byKey := rowsByKey(controls.rows)
	now := s.Now()
	reply = EffectiveConfig{
		Settings: settings, Service: controlOf(byKey[state.GlobalKey], now), Scopes: make([]ScopeConfig, len(keys)),
	}
	for i, key := range keys {
		reply.Scopes[i] = scopeConfigOf(key, s.configured(key), byKey[key], now)
		reply.Scopes[i].Conflicts = listed(s.conflicts(key, byKey[key], controls.unreadable, now))
	}
	return reply, tag, nil
}

// evaluated are the scopes that are decided about: on a replica that does not lead,
// those that the leader has stored a decision of.
func (s *server) evaluated(ctx context.Context) ([]string, error) {
	var keys []string
	for _, ev := range s.Board.Evaluations() {
		keys = append(keys, ev.Scope.Key)
	}
	if s.Board.Leader() {
		return keys, nil
	}
	decided, err := s.decisions.Keys(ctx)
	keys = append(keys, decided...)
	slices.Sort(keys)
	return slices.Compact(keys), err
}

// etag stands for the static configuration and for all that was set at run
// time.
func (s *server) etag(controls controls) (string, error) {
	h := sha256.New()
	enc := json.NewEncoder(h)
	if err := enc.Encode(s.Settings()); err != nil {
		return "", fmt.Errorf("hashing the configuration: %w", err)
	}
	for _, v := range controls.rows {
		if err := errors.Join(enc.Encode(v.Key), enc.Encode(v.Value)); err != nil {
			return "", fmt.Errorf("hashing what was set at run time: %w", err)
		}
	}
	for _, v := range controls.unreadable {
		if err := errors.Join(enc.Encode(v.Key), enc.Encode(v.Version)); err != nil {
			return "", fmt.Errorf("hashing what was set at run time: %w", err)
		}
	}
	return `"` + hex.EncodeToString(h.Sum(nil)[:16]) + `"`, nil
}

// scopeConfigOf lays the run-time overrides over the configuration.
func scopeConfigOf(key string, conf Configured, r state.ControlRecord, now time.Time) ScopeConfig {
	runtime := Place{Origin: FromRuntime}
	r = r.At(now)
	is := r.Overlay(conf.Configured, now)
	b, mode := is.Bounds, is.Mode
	out := ScopeConfig{
		Scope: key, Listed: conf.Listed, Control: controlOf(r, now),
		MinWorkers: SourcedCount{Value: &b.Min, Origin: conf.MinFrom.Origin, Source: conf.MinFrom.Source},
		MaxWorkers: SourcedCount{Origin: conf.MaxFrom.Origin, Source: conf.MaxFrom.Source},
		Mode:       SourcedMode{Value: mode, Origin: conf.ModeFrom.Origin, Source: conf.ModeFrom.Source},
	}
	if b.Max != scaling.Unbounded {
		out.MaxWorkers.Value = &b.Max
	}
	if r.MinWorkers != nil {
		out.MinWorkers.Origin, out.MinWorkers.Source = runtime.Origin, runtime.Source
	}
	if r.MaxWorkers != nil {
		out.MaxWorkers.Origin, out.MaxWorkers.Source = runtime.Origin, runtime.Source
	}
	for _, timed := range r.Timed(now) {
		count := &out.MinWorkers
		if timed.Bound == scaling.MaxWorkers {
			count = &out.MaxWorkers
		}
		count.Origin, count.Source = FromRuntime, timed.String()
	}
	if r.Mode != nil {
		out.Mode.Origin, out.Mode.Source = runtime.Origin, runtime.Source
	}
	return out
}

// PutConfig changes overrides, all of them or none.
func (s *server) PutConfig(c echo.Context, params PutConfigParams) error {
	if s.Store == nil || s.Settings == nil {
		return errNoStore()
	}
	var req struct {
		Scopes []ScopeChange `json:"scopes"`
	}
	if err := decodeBody(c, &req, false); err != nil {
		return err
	}
	keys, err := s.changedScopes(c.Request().Context(), req.Scopes)
	if err != nil {
		return err
	}
	if params.IfMatch == "" {
		return refuse(http.StatusPreconditionRequired, "give the ETag of GET /autoscaler/config as If-Match, so that no change of somebody else is lost")
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), storeTimeout)
	defer cancel()
	controls, err := s.readControls(ctx)
	if err != nil {
		return s.storeFailure(err)
	}
	tag, err := s.etag(controls)
	if err != nil {
		return err
	}
	if !sameTag(params.IfMatch, tag) {
		return errOvertaken()
	}
	writes, err := s.plan(ctx, req.Scopes, controls)
	if err != nil {
		return err
	}
	switch err := s.write(ctx, c, auditConfig, writes); {
	case errors.Is(err, state.ErrConflict):
		return errOvertaken()
	case err != nil:
		return s.storeFailure(err)
	}
	return s.replyConfig(ctx, c, keys)
}

func errOvertaken() error {
	return refuse(http.StatusPreconditionFailed, "the configuration was changed meanwhile: read it again and decide anew")
}

// sameTag is the strong comparison of RFC 9110.
func sameTag(header, tag string) bool {
	for part := range strings.SplitSeq(header, ",") {
		if p := strings.TrimSpace(part); p == tag || p == "*" {
			return true
		}
	}
	return false
}

// changedScopes checks which scopes a request names, and writes their keys into it.
func (s *server) changedScopes(ctx context.Context, changes []ScopeChange) ([]string, error) {
	if len(changes) < 1 || len(changes) > maxChanges {
		return nil, refuse(http.StatusBadRequest, fmt.Sprintf(`invalid body: "scopes" has %d entries, expected 1 to %d`, len(changes), maxChanges))
	}
	keys := make([]string, len(changes))
	for i := range changes {
		ch := &changes[i]
		if ch.Scope == "" || len(ch.Scope) > maxKey {
			return nil, refuse(http.StatusBadRequest, fmt.Sprintf(`invalid body: "scopes[%d].scope" has %d bytes, expected 1 to %d`, i, len(ch.Scope), maxKey))
		}
		var err error
		if ch.Scope, err = s.changedKey(ch.Scope); err != nil {
			return nil, err
		}
		if slices.Contains(keys[:i], ch.Scope) {
			return nil, refuse(http.StatusBadRequest, fmt.Sprintf("invalid body: scope %q is named twice", handler.Shown(ch.Scope)))
		}
		if err := s.exists(ctx, ch.Scope); err != nil {
			return nil, err
		}
		if err := checkChange(ch, s.Now()); err != nil {
			return nil, err
		}
		keys[i] = ch.Scope
	}
	return keys, nil
}

// checkChange refuses an end that is none, or that would end nothing.
func checkChange(ch *ScopeChange, now time.Time) error {
	bad := func(why string) error {
		return refuse(http.StatusBadRequest, fmt.Sprintf(`invalid body: "until" of scope %q %s`, handler.Shown(ch.Scope), why))
	}
	if err := checkReason(ch.Reason, false); err != nil || !ch.Until.Set {
		return err
	}
	removes := func(b Optional[int]) bool { return b.Set && b.Value == nil }
	switch until := ch.Until.Value; {
	case until == nil || !until.After(now):
		return bad(fmt.Sprintf("is not in the future, it is %s now", scaling.At(now)))
	case !writable(*until):
		return bad("is not in the years 0 to 9999 of UTC")
	case !ch.MinWorkers.Set && !ch.MaxWorkers.Set:
		return bad("ends minWorkers or maxWorkers, and neither is given")
	case removes(ch.MinWorkers) || removes(ch.MaxWorkers):
		return bad("needs a number beside it, not null")
	case ch.Mode.Set:
		return bad("cannot end a mode: change the mode without it")
	}
	return nil
}

// plan lays the changes over what is set and checks the outcome as a whole:
// every reason against it is told at once.
func (s *server) plan(ctx context.Context, changes []ScopeChange, controls controls) ([]controlWrite, error) {
	writes := make([]controlWrite, len(changes))
	var invalid []InvalidParameter
	for i, ch := range changes {
		w := controlWrite{old: state.Row[state.ControlRecord]{Key: ch.Scope}}
		for _, v := range controls.rows {
			if v.Key == ch.Scope {
				w = controlWrite{old: v, after: v.Value}
			}
		}
		s.sign(ctx, &w.after)
		apply(&w.after, &ch)
		w.reason = ch.Reason
		writes[i] = w
		why := s.objections(ch.Scope, w.after)
		if slices.ContainsFunc(controls.unreadable, func(u state.Unreadable) bool { return u.Key == ch.Scope }) {
			why = append(why, state.UnreadableControl(ch.Scope))
		}
		for _, why := range why {
			invalid = append(invalid, InvalidParameter{
				Parameter: fmt.Sprintf("scopes[%d]", i), Detail: fmt.Sprintf("scope %q: %s", handler.Shown(ch.Scope), why),
			})
		}
	}
	if len(invalid) == 0 {
		return writes, nil
	}
	words := make([]string, len(invalid))
	for i, p := range invalid {
		words[i] = p.Detail
	}
	p := problem(http.StatusUnprocessableEntity, "nothing was changed: "+strings.Join(words, "; "))
	p.Errors = invalid
	return nil, &failure{Problem: p}
}

// apply changes a record that has been signed. A bound without an end ends one
// that had one.
func apply(r *state.ControlRecord, ch *ScopeChange) {
	set := func(name scaling.BoundName, b Optional[int], plain **int, timed **scaling.TimedBound) {
		switch {
		case !b.Set:
		case ch.Until.Value == nil:
			*plain, *timed = b.Value, nil
		default:
			*timed = &scaling.TimedBound{
				Bound: name, Workers: *b.Value, Until: state.Instant(*ch.Until.Value), Since: r.UpdatedAt, By: r.By, Reason: ch.Reason,
			}
		}
	}
	set(scaling.MinWorkers, ch.MinWorkers, &r.MinWorkers, &r.MinTimed)
	set(scaling.MaxWorkers, ch.MaxWorkers, &r.MaxWorkers, &r.MaxTimed)
	if ch.Mode.Set {
		r.Mode = ch.Mode.Value
	}
}

// objections are the reasons why a scope cannot run with these overrides.
func (s *server) objections(key string, r state.ControlRecord) []string {
	return Objections(key, s.configured(key).Configured, r, s.Now(), s.CheckRuntime)
}
