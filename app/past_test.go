package app

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/backtest"
	"github.com/zeta-scaler/zeta-scaler/chart"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

const pastRules = `
format: zeta-scaler/v1
ruleset: past
version: 1.0.0
scope_by: [cluster]
slot_mode: fixed
workers: {current: {expr: workers}, reporting: {expr: workers}}
signals:
  - {signal: wait, class: blocking, expr: wait, required: false, scale_out: {above: 60, for: 2m}, scale_in: {at_most: 0, for: 3m}}
  - {signal: cpu, class: saturation, expr: cpu, scale_out: {above: 0.8, for: 2m}, scale_in: {below: 0.3, for: 3m}}
`

// pastOf is an hour of one cluster that is saturated, whose maximum was 3 up to
// half past.
func pastOf(t *testing.T) (*past, time.Time) {
	t.Helper()
	begin := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	db, err := source.OpenTemporary("", nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for series, values := range map[string]string{`workers{cluster="prod"}`: "3x120", `workers{cluster="other"}`: "3x120", `cpu{cluster="prod"}`: "0.9x120"} {
		require.NoError(t, db.Load(begin, 30*time.Second, source.Notation{Series: series, Values: values}))
	}
	engine, err := source.NewEngine(source.EngineOptions{}, db)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close()) })
	rs, err := rules.Parse("past.yaml", []byte(pastRules))
	require.NoError(t, err)
	store := memory.New()
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	w := state.NewWrite(store, state.NoFence)
	for after, most := range map[time.Duration]int{0: 3, 30 * time.Minute: 5} {
		v, err := json.Marshal(scaling.LimitsRecord{Mode: scaling.Advisory, Deployment: scaling.Session, MinWorkers: 1, MaxWorkers: &most, At: begin.Add(after)})
		require.NoError(t, err)
		w.Append(state.Entry{Scope: "prod", At: begin.Add(after), Kind: state.LimitsEntry, Value: v})
	}
	require.NoError(t, w.Commit(t.Context()))
	d := derive(&config.Config{Rules: []*rules.RuleSet{rs}, ScopeDefaults: config.ScopeDefaults{RuleSet: "past"}})
	return &past{
		source: engine, history: store, configured: d.configured, current: func() *derived { return d },
		logger: slog.New(slog.DiscardHandler), turn: make(chan struct{}, 1),
	}, begin
}

func TestPastHasTheLimitsOfItsTime(t *testing.T) {
	p, begin := pastOf(t)
	ev, err := p.At(t.Context(), "prod", begin.Add(20*time.Minute))
	require.NoError(t, err)
	require.Equal(t, scaling.NoAction, ev.Recommendation.Action, "at its maximum then")
	require.True(t, ev.Recommendation.HeldBy(scaling.BlockerMaxWorkers))
	ev, err = p.At(t.Context(), "prod", begin.Add(40*time.Minute))
	require.NoError(t, err)
	require.Equal(t, scaling.ScaleOut, ev.Recommendation.Action)
	require.Equal(t, 4, *ev.Recommendation.RecommendedWorkers)
	require.Greater(t, *ev.Recommendation.TriggerConditions[0].HeldSeconds, 120.0-1, "windows are filled from before")
	_, err = p.At(t.Context(), "gone", begin.Add(40*time.Minute))
	require.ErrorIs(t, err, backtest.ErrNoSample)

	r, err := p.Backtest(t.Context(), "prod", begin, begin.Add(time.Hour), nil)
	require.NoError(t, err)
	require.Len(t, r.Scopes, 1, "the others are not judged")
	require.InDelta(t, 0.5, r.Scopes[0].Verdicts[0].ShortHours, 0.02)
}

func TestPastIsAskedOneAtATime(t *testing.T) {
	p, begin := pastOf(t)
	p.turn <- struct{}{}
	_, err := p.Backtest(t.Context(), "prod", begin, begin.Add(time.Hour), nil)
	require.ErrorIs(t, err, api.ErrBusy)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.At(ctx, "prod", begin)
	require.ErrorIs(t, err, api.ErrBusy)
	<-p.turn
	_, err = p.At(t.Context(), "prod", begin.Add(time.Minute))
	require.NoError(t, err)
}

// A signal's past is that of the scope alone, whatever its labels are.
func TestSignalsOfAScope(t *testing.T) {
	begin := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	db, err := source.OpenTemporary("", nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	const odd = `a \"b\" $1 \\ \n${x}`
	for series, values := range map[string]string{
		`cpu{cluster="prod"}`: "0.1+0.1x4", `cpu{cluster="other"}`: "0.9x4", `cpu{cluster="` + odd + `"}`: "0.5x4", `wait{cluster="other"}`: "7x4",
	} {
		require.NoError(t, db.Load(begin, time.Minute, source.Notation{Series: series, Values: values}))
	}
	engine, err := source.NewEngine(source.EngineOptions{}, db)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close()) })
	rs, err := rules.Parse("past.yaml", []byte(pastRules))
	require.NoError(t, err)
	d := derive(&config.Config{Rules: []*rules.RuleSet{rs}, ScopeDefaults: config.ScopeDefaults{RuleSet: "past"}})
	p := &past{source: engine, current: func() *derived { return d }, turn: make(chan struct{}, 1)}
	axis := chart.Axis{From: begin, Step: 2 * time.Minute, Columns: 3}

	got, err := p.Signals(t.Context(), scaling.NewScope([]scaling.Label{{Name: "cluster", Value: "prod"}}), axis)
	require.NoError(t, err)
	require.Len(t, got, 1, "nothing is known of the other signal")
	for i, want := range []float64{0.1, 0.3, 0.5} {
		require.InDelta(t, want, float64(got["cpu"].Low[i]), 1e-9)
	}
	require.Equal(t, got["cpu"].Low, got["cpu"].High)

	got, err = p.Signals(t.Context(), scaling.NewScope([]scaling.Label{{Name: "cluster", Value: unquoted(t, odd)}}), axis)
	require.NoError(t, err)
	require.Equal(t, []chart.Level{0.5, 0.5, 0.5}, got["cpu"].Low)
}

func unquoted(t *testing.T, text string) string {
	t.Helper()
	out, err := strconv.Unquote("\"" + text + "\"")
	require.NoError(t, err)
	return out
}
