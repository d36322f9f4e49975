package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/file"
)

func storedControl(t *testing.T, o Options, key string) state.ControlRecord {
	t.Helper()
	r, _, err := state.Load[state.ControlRecord](t.Context(), o.Store, state.Control, key)
	require.NoError(t, err)
	return r
}

func audits(t *testing.T, o Options) []AuditRecord {
	t.Helper()
	entries, err := o.Store.History(t.Context(), state.Filter{Kind: state.AuditEntry, Limit: 100})
	require.NoError(t, err)
	out := make([]AuditRecord, len(entries))
	for i, e := range entries {
		require.NoError(t, json.Unmarshal(e.Value, &out[i]))
		require.Equal(t, out[i].Scope, e.Scope)
		require.Equal(t, out[i].What, e.Action)
	}
	return out
}

func TestPauseAndResumeOfAScope(t *testing.T) {
	o := options(t)
	var log strings.Builder
	o.Logger = textLogger(&log)
	h := newHandler(t, o)
	reply := decoded[ControlState](t, send(t, h, "POST", "/autoscaler/pause", `{"scope":"prod","reason":"upgrade of m1","until":"2026-03-14T10:00:00+00:00"}`))
	require.Equal(t, new("prod"), reply.Scope)
	require.True(t, reply.Control.Paused)
	require.False(t, reply.ServicePaused)
	require.Equal(t, []string{"prod"}, reply.PausedScopes)

	r := storedControl(t, o, "prod")
	require.Equal(t, "upgrade of m1", r.Reason)
	require.Equal(t, "ann", r.By)
	require.True(t, r.PausedAt(o.Now()))
	require.False(t, r.PausedAt(time.Date(2026, 3, 14, 10, 0, 0, 0, time.UTC)))
	require.True(t, r.ResumedAt.IsZero())

	reply = decoded[ControlState](t, send(t, h, "POST", "/autoscaler/resume", `{"scope":"prod"}`))
	require.False(t, reply.Control.Paused)
	require.Empty(t, reply.PausedScopes)
	r = storedControl(t, o, "prod")
	require.Equal(t, o.Now(), r.ResumedAt)
	require.True(t, r.PausedUntil.IsZero())

	found := audits(t, o)
	require.Len(t, found, 2)
	require.Equal(t, AuditRecord{
		Who: "ann", From: "192.0.2.1", What: "resume", Scope: "prod", Before: found[1].After, After: r, At: o.Now(),
	}, found[0])
	require.Equal(t, state.ControlRecord{}, found[1].Before)
	require.Equal(t, 2, strings.Count(log.String(), "changed at run time"))
	require.Contains(t, log.String(), "what=pause scope=prod all_scopes=false who=ann from=192.0.2.1")
}

// A resume says that what the platform has is accepted, whether or not there was
// a pause; that of the whole service leaves a scope's own pause alone.
func TestResumeOfTheService(t *testing.T) {
	o := options(t)
	h := newHandler(t, o)
	require.False(t, decoded[ControlState](t, send(t, h, "POST", "/autoscaler/resume", "")).Control.Paused)
	require.Equal(t, o.Now(), storedControl(t, o, state.GlobalKey).ResumedAt)
	decoded[ControlState](t, send(t, h, "POST", "/autoscaler/pause", `{"scope":"prod","reason":"a"}`))
	reply := decoded[ControlState](t, send(t, h, "POST", "/autoscaler/pause", `{"reason":"b"}`))
	require.Nil(t, reply.Scope)
	require.True(t, reply.ServicePaused)
	reply = decoded[ControlState](t, send(t, h, "POST", "/autoscaler/resume", `{}`))
	require.False(t, reply.ServicePaused)
	require.Equal(t, []string{"prod"}, reply.PausedScopes)
}

func TestBodiesThatAreRefused(t *testing.T) {
	o := options(t)
	h := newHandler(t, o)
	for _, tt := range []struct {
		path, body string
		status     int
		detail     string
	}{
		{"pause", ``, 415, "Content-Type"},
		{"pause", `{`, 400, "ends too early"},
		{"pause", `{x}`, 400, "not JSON at byte 2"},
		{"pause", `[]`, 400, "array where an object is expected"},
		{"pause", `{"reason":"x"} {}`, 400, "behind the JSON object"},
		{"pause", `{"reason":"x","scop":"prod"}`, 400, `unknown field "scop"`},
		{"pause", `{"Reason":"x"}`, 400, `unknown field "Reason"`},
		{"pause", `{"reason":"x","SCOPE":"prod"}`, 400, `unknown field "SCOPE"`},
		{"pause", `{"scope":"acting","reason":"x","scope":"prod"}`, 400, `"scope" is given twice`},
		{"resume", `null`, 400, "it is null where an object is expected"},
		{"resume", `{"reason":null}`, 400, `"reason" is null where a text is expected`},
		{"resume", `{"reason":"x","reason":"y"}`, 400, `"reason" is given twice`},
		{"pause", `{"reason":7}`, 400, `"reason" is number where a text is expected`},
		{"pause", `{"reason":"x","scope":""}`, 400, "leave it out to mean the whole service"},
		{"resume", `{"scope":null}`, 400, "leave it out to mean the whole service"},
		{"pause", `{"scope":"prdo","reason":"x"}`, 404, `there is no scope "prdo"`},
		{"pause", `{"reason":"  "}`, 400, "say why"},
		{"pause", `{"reason":"a\nb"}`, 400, "control characters"},
		{"pause", `{"reason":"a\u202eb"}`, 400, "control characters"},
		{"pause", `{"reason":"` + strings.Repeat("ä", 501) + `"}`, 400, "more than 500 characters"},
		{"pause", `{"reason":"x","until":"2026-03-14T09:00:00Z"}`, 400, "not in the future"},
		{"pause", `{"reason":"x","until":"9999-12-31T23:59:59-12:00"}`, 400, "years 0 to 9999"},
		{"pause", `{"reason":"x","until":null}`, 400, "not in the future"},
		{"pause", `{"reason":"x","until":"tomorrow"}`, 400, "tomorrow is not an RFC 3339 time"},
		{"pause", `{"reason":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "larger than 1 MB"},
	} {
		rec := send(t, h, "POST", "/autoscaler/"+tt.path, tt.body, "Content-Type", map[bool]string{true: "text/plain", false: "application/json"}[tt.status == 415])
		require.Equal(t, tt.status, rec.Code, "%.80s: %s", tt.body, rec.Body)
		p := problemOf(t, rec.Body.Bytes())
		require.Contains(t, p.Detail, tt.detail, "%.80s", tt.body)
		require.NotContains(t, p.Detail, "Go ", "%.80s", tt.body)
	}
	require.Empty(t, audits(t, o))
	require.Equal(t, http.StatusOK, send(t, h, "POST", "/autoscaler/pause", `{"reason":"`+strings.Repeat("ä", 500)+`"}`).Code)
}

// racingStore lets another writer in before the first writes.
type racingStore struct {
	state.Store
	mu    sync.Mutex
	races int
}

func (r *racingStore) Apply(ctx context.Context, f state.Fence, b state.Batch) ([]uint64, error) {
	r.mu.Lock()
	race := r.races > 0
	r.races--
	r.mu.Unlock()
	if race {
		return nil, fmt.Errorf("applying: %w", state.ErrConflict)
	}
	return r.Store.Apply(ctx, f, b)
}

func TestChangesAreTriedAgain(t *testing.T) {
	o := options(t)
	racing := &racingStore{Store: o.Store, races: 3}
	o.Store = racing
	h := newHandler(t, o)
	decoded[ControlState](t, send(t, h, "POST", "/autoscaler/pause", `{"scope":"prod","reason":"x"}`))
	require.Len(t, audits(t, o), 1)
	racing.races = 1000
	require.Equal(t, http.StatusServiceUnavailable, send(t, h, "POST", "/autoscaler/pause", `{"scope":"prod","reason":"y"}`).Code)
	require.Equal(t, "x", storedControl(t, o, "prod").Reason)
}

func TestConcurrentPausesAllCount(t *testing.T) {
	o := options(t)
	h := newHandler(t, o)
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() { send(t, h, "POST", "/autoscaler/pause", fmt.Sprintf(`{"scope":"prod","reason":"r%d"}`, i)) })
	}
	wg.Wait()
	found := audits(t, o)
	require.Len(t, found, 5)
	for i := range 4 {
		require.Equal(t, found[i].Before, found[i+1].After, "no change is lost")
	}
}

func etagOf(t *testing.T, h http.Handler) string {
	t.Helper()
	rec := call(h, "GET", "/autoscaler/config?scope=prod")
	require.Equal(t, call(h, "GET", "/autoscaler/config").Header().Get("ETag"), rec.Header().Get("ETag"))
	require.Regexp(t, `^"[0-9a-f]{32}"$`, rec.Header().Get("ETag"))
	return rec.Header().Get("ETag")
}

func TestConfigIsChangedAtRunTime(t *testing.T) {
	o := options(t)
	h := newHandler(t, o)
	tag := etagOf(t, h)
	rec := send(t, h, "PUT", "/autoscaler/config", `{"scopes":[{"scope":"prod","minWorkers":2,"maxWorkers":9,"mode":"webhook"}]}`, "If-Match", tag)
	reply := decoded[EffectiveConfig](t, rec)
	require.Equal(t, SourcedCount{Value: new(9), Origin: FromRuntime}, reply.Scopes[0].MaxWorkers)
	require.Equal(t, SourcedCount{Value: new(2), Origin: FromRuntime}, reply.Scopes[0].MinWorkers)
	require.Equal(t, SourcedMode{Value: scaling.Webhook, Origin: FromRuntime}, reply.Scopes[0].Mode)
	next := rec.Header().Get("ETag")
	require.NotEqual(t, tag, next)
	require.Equal(t, next, etagOf(t, h))

	// The old tag is of no use any more; absent keys stay, null removes.
	require.Equal(t, http.StatusPreconditionFailed, send(t, h, "PUT", "/autoscaler/config", `{"scopes":[{"scope":"prod","minWorkers":1}]}`, "If-Match", tag).Code)
	rec = send(t, h, "PUT", "/autoscaler/config", `{"scopes":[{"scope":"prod","maxWorkers":null,"mode":null}]}`, "If-Match", next)
	reply = decoded[EffectiveConfig](t, rec)
	require.Equal(t, SourcedCount{Value: new(10), Origin: FromFile, Source: "zeta-scaler.yml:12:9"}, reply.Scopes[0].MaxWorkers)
	require.Equal(t, SourcedCount{Value: new(2), Origin: FromRuntime}, reply.Scopes[0].MinWorkers)
	require.Equal(t, SourcedMode{Value: scaling.Advisory, Origin: FromDefault}, reply.Scopes[0].Mode)
	require.Len(t, audits(t, o), 2)
	require.Equal(t, new(9), audits(t, o)[1].After.MaxWorkers)
	// A pause is something else and keeps the overrides.
	decoded[ControlState](t, send(t, h, "POST", "/autoscaler/pause", `{"scope":"prod","reason":"x"}`))
	require.Equal(t, new(2), storedControl(t, o, "prod").MinWorkers)
}

// A scope that is gone keeps what was set for it, which can be seen and ended.
func TestControlOfAScopeThatIsGone(t *testing.T) {
	o := options(t)
	h := newHandler(t, o)
	require.Equal(t, http.StatusNotFound, send(t, h, "POST", "/autoscaler/resume", `{"scope":"left"}`).Code)
	_, err := state.Controls(o.Store).Change(t.Context(), "left", func(state.Row[state.ControlRecord]) (state.ControlRecord, []state.Entry, bool) {
		return state.ControlRecord{Paused: true, Reason: "upgrade", MaxWorkers: new(4)}, nil, true
	})
	require.NoError(t, err)
	all := decoded[EffectiveConfig](t, call(h, "GET", "/autoscaler/config"))
	require.Len(t, all.Scopes, 4)
	one := decoded[EffectiveConfig](t, call(h, "GET", "/autoscaler/config?scope=left"))
	require.Equal(t, "upgrade", one.Scopes[0].Control.Reason)
	require.False(t, one.Scopes[0].Listed)
	reply := decoded[ControlState](t, send(t, h, "POST", "/autoscaler/resume", `{"scope":"left"}`))
	require.Empty(t, reply.PausedScopes)
	rec := send(t, h, "PUT", "/autoscaler/config", `{"scopes":[{"scope":"left","maxWorkers":null}]}`, "If-Match", etagOf(t, h))
	require.Nil(t, decoded[EffectiveConfig](t, rec).Scopes[0].Control.MaxWorkers)
	require.Len(t, decoded[EffectiveConfig](t, call(h, "GET", "/autoscaler/config")).Scopes, 3)
}

func TestConfigNeedsAPrecondition(t *testing.T) {
	h := newHandler(t, options(t))
	rec := send(t, h, "PUT", "/autoscaler/config", `{"scopes":[{"scope":"prod","minWorkers":2}]}`)
	require.Equal(t, http.StatusPreconditionRequired, rec.Code)
	weak := "W/" + etagOf(t, h)
	require.Equal(t, http.StatusPreconditionFailed, send(t, h, "PUT", "/autoscaler/config", `{"scopes":[{"scope":"prod","minWorkers":2}]}`, "If-Match", weak).Code)
}

func TestConfigIsCheckedAsAWhole(t *testing.T) {
	o := options(t)
	o.CheckRuntime = func(scope string, b scaling.Bounds) error {
		if b.Max%2 == 1 {
			return errors.New("step.unit 2 does not fit")
		}
		return nil
	}
	for _, tt := range []struct {
		scopes string
		status int
		detail []string
	}{
		{`{"scope":"prod","minWorkers":11}`, 422, []string{`scope "prod": min_workers 11 is greater than max_workers 10`}},
		{`{"scope":"prod","maxWorkers":0}`, 422, []string{"max_workers is 0, expected 1 or more", "min_workers 1 is greater than max_workers 0"}},
		{`{"scope":"prod","minWorkers":-1}`, 422, []string{"min_workers is -1"}},
		{`{"scope":"prod","maxWorkers":1000001}`, 422, []string{"expected at most 1000000"}},
		{`{"scope":"prod","mode":"turbo"}`, 422, []string{`mode is "turbo", expected advisory, webhook or direct`}},
		{`{"scope":"empty","mode":"direct","maxWorkers":4}`, 422, []string{"only for a scope that the configuration lists by name"}},
		{`{"scope":"empty","mode":"webhook"}`, 422, []string{"lists by name", "needs max_workers"}},
		{`{"scope":"prod","maxWorkers":9}`, 422, []string{"step.unit 2 does not fit"}},
		{`{"scope":"prod","maxWorkers":8},{"scope":"empty","minWorkers":-3}`, 422, []string{"nothing was changed", `scope "empty": min_workers is -3`}},
		{`{"scope":"prod","maxWorkers":"8"}`, 400, []string{"string where a whole number is expected"}},
		{`{"scope":"prod","maxWorkers":8.5}`, 400, []string{"number 8.5 where a whole number is expected"}},
		{`{"scope":"prod","floorDelay":"5m"}`, 400, []string{`unknown field "floorDelay"`}},
		{`null`, 400, []string{`"scopes" is null where an object is expected`}},
		{`{"scope":null,"minWorkers":2}`, 400, []string{`"scope" is null where a text is expected`}},
		{`{"scope":"prod","MinWorkers":2}`, 400, []string{`unknown field "MinWorkers"`}},
		{`{"scope":"prod","minWorkers":2,"minWorkers":3}`, 400, []string{`"minWorkers" is given twice`}},
		{`{"scope":"prod"},{"scope":"prod"}`, 400, []string{"named twice"}},
		{`{"minWorkers":1}`, 400, []string{"has 0 bytes"}},
		{`{"scope":"nope"}`, 404, []string{"there is no scope"}},
		{``, 400, []string{"has 0 entries"}},
	} {
		rec := send(t, newHandler(t, o), "PUT", "/autoscaler/config", `{"scopes":[`+tt.scopes+`]}`, "If-Match", "*")
		require.Equal(t, tt.status, rec.Code, "%s: %s", tt.scopes, rec.Body)
		for _, d := range tt.detail {
			require.Contains(t, problemOf(t, rec.Body.Bytes()).Detail, d)
		}
	}
	require.Empty(t, audits(t, o), "all of it or nothing")
	require.Equal(t, state.ControlRecord{}, storedControl(t, o, "prod"))
	decoded[EffectiveConfig](t, send(t, newHandler(t, o), "PUT", "/autoscaler/config", `{"scopes":[{"scope":"empty","minWorkers":0,"maxWorkers":4},{"scope":"prod","mode":"direct"}]}`, "If-Match", "*"))
	require.Len(t, audits(t, o), 2)
}

// What was set survives a restart of the service.
func TestOverridesSurviveARestart(t *testing.T) {
	o := options(t)
	path := t.TempDir() + "/state.db"
	store, err := file.Open(t.Context(), file.Options{Path: path})
	require.NoError(t, err)
	o.Store, o.History = store, store
	decoded[EffectiveConfig](t, send(t, newHandler(t, o), "PUT", "/autoscaler/config", `{"scopes":[{"scope":"prod","maxWorkers":7}]}`, "If-Match", "*"))
	tag := etagOf(t, newHandler(t, o))
	require.NoError(t, store.Close())
	store, err = file.Open(t.Context(), file.Options{Path: path})
	require.NoError(t, err)
	defer store.Close()
	o.Store, o.History = store, store
	require.Equal(t, tag, etagOf(t, newHandler(t, o)))
	require.Equal(t, new(7), storedControl(t, o, "prod").MaxWorkers)
}

func TestConfigShowsNoSecret(t *testing.T) {
	reply := decoded[EffectiveConfig](t, call(newHandler(t, options(t)), "GET", "/autoscaler/config"))
	require.Equal(t, "<secret>", reply.Settings[2].Value)
	require.Len(t, reply.Scopes, 3)
	require.True(t, reply.Scopes[2].Listed)
}

// Any body is answered with a problem or obeyed, and never with a 500.
func FuzzChange(f *testing.F) {
	f.Add("/autoscaler/pause", `{"scope":"prod","reason":"x"}`)
	f.Add("/autoscaler/resume", `{"scope":"prod"}`)
	f.Add("/autoscaler/drain", `{"scope":"prod","worker":"w","reason":"x"}`)
	f.Add("/autoscaler/drain/plan", `{"scope":"prod"}`)
	f.Add("/autoscaler/jobs", `{"cluster":"prod","name":"orders","format":"json","config":"{}"}`)
	f.Add("/autoscaler/config", `{"scopes":[{"scope":"prod","minWorkers":2,"maxWorkers":null,"mode":"webhook"}]}`)
	h := newHandler(f, options(f))
	f.Fuzz(func(t *testing.T, path, body string) {
		method := map[string]string{"/autoscaler/pause": "POST", "/autoscaler/resume": "POST", "/autoscaler/config": "PUT", "/autoscaler/jobs": "POST", "/autoscaler/drain": "POST", "/autoscaler/drain/plan": "POST"}[path]
		if method == "" {
			return
		}
		rec := send(t, h, method, path, body, "If-Match", "*")
		require.Less(t, rec.Code, 500, rec.Body.String())
		require.True(t, json.Valid(rec.Body.Bytes()))
	})
}
