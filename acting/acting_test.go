package acting_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/acting"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// config is what a scope of these tests is configured with.
type config struct {
	key    string
	listed bool
}

func (c config) ScopeKey() string { return c.key }
func (c config) Listed() bool     { return c.listed }
func (c config) Left() config     { return config{key: c.key} }

// tick is what the last one said.
type tick struct {
	at   time.Time
	gone bool
}

func (t *tick) over() bool { return t.gone }

type (
	scope = acting.Scope[config, tick, int]
	work  = acting.Work[config, tick, int]
)

// frozen is a clock that stands.
type frozen struct{ at time.Time }

func (c frozen) Now() time.Time                                 { return c.at }
func (frozen) WaitUntil(ctx context.Context, _ time.Time) error { <-ctx.Done(); return ctx.Err() }

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func options(t *testing.T, log *strings.Builder) acting.Options {
	o, err := acting.Options{
		Store: memory.New(), Clock: frozen{noon}, Epoch: 1, Logger: slog.New(slog.NewTextHandler(log, nil)),
	}.WithDefaults("a test")
	require.NoError(t, err)
	return o
}

func TestOptionsNeedWhatHasNoDefault(t *testing.T) {
	whole := acting.Options{Store: memory.New(), Clock: frozen{noon}, Epoch: 1}
	o, err := whole.WithDefaults("a test")
	require.NoError(t, err)
	require.NoError(t, o.Leads())
	o.Emit(scaling.Event{})
	o.Logger.Error("nobody reads it")
	require.Less(t, o.Rand(), 1.0)
	require.Equal(t, noon, o.Now())

	for name, without := range map[string]func(*acting.Options){
		"store": func(o *acting.Options) { o.Store = nil },
		"clock": func(o *acting.Options) { o.Clock = nil },
		"epoch": func(o *acting.Options) { o.Epoch = 0 },
	} {
		lacking := whole
		without(&lacking)
		_, err := lacking.WithDefaults("a drainer")
		require.EqualError(t, err, "a drainer needs a store, a clock and an epoch of at least 1", name)
	}
}

// Nothing moves before the first Configure, and what has to be done before is done
// once.
func TestNothingMovesBeforeConfigure(t *testing.T) {
	var log strings.Builder
	o, s, firsts := options(t, &log), acting.NewScopes[config, tick, int](), 0
	s.Add("old")
	var moved []string
	w := work{Options: &o, Advance: func(_ context.Context, one *scope) (time.Time, error) {
		require.False(t, one.Turn.TryAcquire(1), "it is the scope's turn")
		moved = append(moved, one.Key())
		return time.Time{}, nil
	}}
	require.NoError(t, s.Advance(t.Context(), w))
	require.Empty(t, moved)

	first := func() {
		firsts++
		require.NoError(t, s.Advance(t.Context(), w))
		require.Empty(t, moved, "nor before what comes first is done")
		require.NotNil(t, s.Get("new").Config.Load(), "which sees what is listed")
	}
	s.Configure([]config{{"new", true}}, first)
	s.Configure([]config{{"new", true}}, first)
	require.Equal(t, 1, firsts)
	require.NoError(t, s.Advance(t.Context(), w))
	require.Equal(t, []string{"new", "old"}, moved)
	require.Nil(t, s.Get("old").Config.Load(), "it was never listed")
}

// A scope that leaves the configuration is kept until it is over, one that is listed
// always.
func TestScopesThatLeave(t *testing.T) {
	s := acting.NewScopes[config, tick, int]()
	s.Configure([]config{{"a", true}, {"b", true}}, nil)
	a := s.Get("a")
	a.Own = 7
	s.Configure([]config{{"b", true}}, nil)
	require.Same(t, a, s.Get("a"))
	require.Equal(t, config{key: "a"}, *a.Config.Load())

	said := func(one *scope, ev *scaling.Evaluation) tick { return tick{at: ev.Tick} }
	evaluation := func(key string) scaling.Evaluation {
		return scaling.Evaluation{Scope: scaling.Scope{Key: key}, Tick: noon}
	}
	gone := []scaling.Scope{{Key: "a"}, {Key: "b"}, {Key: "nobody's"}}
	s.Publish([]scaling.Evaluation{evaluation("a"), evaluation("nobody's")}, said, gone, tick{gone: true})
	require.True(t, a.Tick.Load().gone)
	require.Nil(t, s.Get("nobody's"))

	b := s.Get("b")
	s.Forget(a, (*tick).over)
	s.Forget(b, (*tick).over)
	require.Nil(t, s.Get("a"))
	require.Same(t, b, s.Get("b"), "it is listed")
	require.False(t, b.Tick.Load().gone, "and begins anew")

	// What a later tick says of a scope that is listed stays.
	s.Publish([]scaling.Evaluation{evaluation("b")}, said, nil, tick{gone: true})
	s.Forget(b, (*tick).over)
	require.Equal(t, noon, b.Tick.Load().at)
}

func TestErrorsOfAdvance(t *testing.T) {
	var log strings.Builder
	o, s := options(t, &log), acting.NewScopes[config, tick, int]()
	s.Configure([]config{{"a", true}, {"b", true}}, nil)
	failing := map[string]error{"a": errors.New("the disk is full")}
	var moved []string
	w := work{Options: &o, Ended: "it ends", Failed: "it failed", Advance: func(_ context.Context, one *scope) (time.Time, error) {
		moved = append(moved, one.Key())
		return time.Time{}, failing[one.Key()]
	}}
	require.ErrorContains(t, s.Advance(t.Context(), w), "the disk is full")
	require.Equal(t, []string{"a", "b"}, moved, "one scope holds up no other")

	failing["a"], moved = fmt.Errorf("%w: epoch 2 has written", state.ErrFenced), nil
	require.ErrorIs(t, s.Advance(t.Context(), w), state.ErrFenced)
	require.Equal(t, []string{"a"}, moved, "who leads no longer does nothing more")
	w.Advance = func(context.Context, *scope) (time.Time, error) { return time.Time{}, failing["a"] }
	require.ErrorIs(t, s.Run(t.Context(), w), state.ErrFenced)
	require.Contains(t, log.String(), `level=ERROR msg="it ends" scope=`)
}

// Waits grow with each failure, to their end and not beyond.
func TestWaits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, drawn := rapid.IntRange(1, 1000).Draw(t, "n"), rapid.Float64Range(0, 0.999).Draw(t, "drawn")
		wait := acting.Retry(n, drawn)
		require.GreaterOrEqual(t, wait, 500*time.Millisecond)
		require.LessOrEqual(t, wait, acting.LastRetry)
		require.GreaterOrEqual(t, acting.Retry(n+1, drawn), wait)
		base := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "base"))
		hold := acting.Hold(base, n)
		require.GreaterOrEqual(t, hold, base)
		require.LessOrEqual(t, hold, max(base, 30*time.Minute))
	})
	require.Equal(t, 4*time.Second, acting.Retry(3, 0))
	require.Equal(t, 6*time.Minute, acting.Hold(3*time.Minute, 2))
}
