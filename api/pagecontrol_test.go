package api

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// pauses stores control records by key.
func pauses(t *testing.T, records map[string]state.ControlRecord) state.Store {
	t.Helper()
	store := memory.New()
	for key, r := range records {
		put, err := state.NewPut(state.Control, key, 0, r)
		require.NoError(t, err)
		_, err = store.Apply(context.Background(), state.NoFence, state.Batch{Puts: []state.Put{put}})
		require.NoError(t, err)
	}
	return store
}

func TestPageShowsPauses(t *testing.T) {
	o := options(t)
	o.Store = pauses(t, map[string]state.ControlRecord{
		state.GlobalKey: {Paused: true, Reason: "all hands", By: "ann", UpdatedAt: tick},
		"prod":          {Paused: true, Reason: hostile, UpdatedAt: tick, PausedUntil: tick.Add(72 * time.Second)},
		"empty":         {Paused: true, Reason: "long ago", UpdatedAt: tick.Add(-time.Hour), PausedUntil: tick},
	})
	words := mainOf(t, o, "/?scope=prod")
	require.Contains(t, words, "paused This scope since 2026-03-14T09:26:30Z , until 2026-03-14T09:27:42Z (1m left): "+hostile)
	require.Contains(t, words, "paused The whole service since 2026-03-14T09:26:30Z by ann, until resumed: all hands")
	require.Contains(t, words, "Paused: that counts from the next tick on.")
	words = mainOf(t, o, "/?scope=empty")
	require.NotContains(t, words, "long ago", "that pause is over")
	require.Contains(t, words, "paused The whole service since")
	words = mainOf(t, o, "/")
	require.Contains(t, words, "paused The whole service since 2026-03-14T09:26:30Z by ann, until resumed: all hands. Resume")
	require.NotContains(t, words, "This scope since")
	words = mainOf(t, o, "/config")
	require.Contains(t, words, "prod paused until 2026-03-14T09:27:42Z")
	require.Equal(t, 1, strings.Count(words, "paused until"), "the other pause is over")
}

func TestPageOffersPausesWhereTheyArePossible(t *testing.T) {
	o := options(t)
	for _, target := range []string{"/", "/?scope=prod"} {
		o.Store = memory.New()
		forms := 0
		for _, n := range named(pageOf(t, o, target), "form") {
			if attribute(n, "id") == "pause" {
				forms++
			}
		}
		require.Equal(t, 1, forms, target)
		o.Store = nil
		for _, n := range named(pageOf(t, o, target), "form") {
			require.NotEqual(t, "pause", attribute(n, "id"), target)
		}
	}
	require.Contains(t, mainOf(t, o, "/?scope=prod"), "nothing can be paused here")
}

// brokenStore fails to read.
type brokenStore struct{ state.Store }

func (brokenStore) Get(context.Context, state.Kind, string) (state.Record, error) {
	return state.Record{}, errors.New("disk on fire")
}

func TestPageOutlivesUnreadablePauses(t *testing.T) {
	var log strings.Builder
	o := options(t)
	o.Logger, o.Store = textLogger(&log), brokenStore{memory.New()}
	words := mainOf(t, o, "/?scope=prod")
	require.Contains(t, words, unreadable)
	require.Contains(t, words, "SCALE_OUT 2 → 3 workers")
	require.NotContains(t, words, "disk on fire")
	require.Contains(t, log.String(), "disk on fire")
}

func TestPageShowsWhatWasAsked(t *testing.T) {
	o := options(t)
	o.Queries = nil
	words := mainOf(t, o, "/?scope=prod")
	require.NotContains(t, words, "What was asked of Prometheus")
	require.Contains(t, words, "its queries are not known")
	o.Queries = func(scaling.RuleSetRef) map[string]evaluator.Query {
		return map[string]evaluator.Query{"avg_cpu": {Expr: `avg(cpu{a="<b>"})`}}
	}
	o.PrometheusURL = func() string { return "http://prometheus:9090" }
	words = mainOf(t, o, "/?scope=prod")
	require.Contains(t, words, `avg_cpu avg(cpu{a="<b>"}) ask it curl -sG 'http://prometheus:9090/api/v1/query'`)
	require.Equal(t, 1, strings.Count(words, "curl -sG"), "only what is known is listed")
}
