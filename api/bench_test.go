package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/file"
)

// A reply with 1 000 scopes should take at most 50 ms, compressed or not.
func BenchmarkThousandScopes(b *testing.B) {
	h := newHandler(b, thousandScopes(b))
	for _, reply := range []struct{ name, target string }{
		{"list", "/"},
		{"scope", "/?scope=scope-0500"},
		{"status", "/autoscaler/status"},
		{"explain", "/autoscaler/explain?scope=scope-0500"},
		{"actions", "/autoscaler/actions?limit=1000"},
		{"metrics", "/autoscaler/metrics"},
		{"decision-table", "/autoscaler/decision-table"},
		{"history", "/autoscaler/history?limit=1000"},
	} {
		for _, encoding := range []string{"identity", "gzip"} {
			b.Run(reply.name+"/"+encoding, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					req := httptest.NewRequest(http.MethodGet, reply.target, http.NoBody)
					req.Header.Set("Accept-Encoding", encoding)
					rec := serve(h, req)
					if rec.Code != http.StatusOK {
						b.Fatal(rec.Body.String())
					}
					b.SetBytes(int64(rec.Body.Len()))
				}
			})
		}
	}
}

// thousandScopes are those of a service that runs: on a real board and in a
// file store, each with an action under way, one that is over and a decision.
func thousandScopes(b *testing.B) Options {
	b.Helper()
	store, err := file.Open(b.Context(), file.Options{Path: filepath.Join(b.TempDir(), "state.db")})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, store.Close()) })
	board := evaluator.NewBoard(7)
	var evaluations []scaling.Evaluation
	var batch state.Batch
	for i := range 1000 {
		key := fmt.Sprintf("scope-%04d", i)
		ev := scaleOut(key, scaling.Label{Name: "cluster", Value: key})
		evaluations = append(evaluations, ev)
		under := execution("7-3-"+key, scaling.ActionConverging, tick.Add(seconds(i)))
		under.Scope = key
		put, err := state.NewPut(state.Execution, key, 0, state.ExecutionRecord{Action: under, ActionInFlight: true})
		require.NoError(b, err)
		batch.Puts = append(batch.Puts, put)
		over := execution("7-2-"+key, scaling.ActionSucceeded, tick.Add(seconds(i-3600)))
		over.Scope = key
		batch.History = append(batch.History, decided(b, ev, tick.Add(seconds(i))), ended(b, over))
	}
	board.Publish(b.Context(), evaluations, nil)
	_, err = store.Apply(b.Context(), state.NoFence, batch)
	require.NoError(b, err)
	o := options(b)
	o.Board, o.History, o.Store = board, store, store
	return o
}

// decided is one decision as the history keeps it.
func decided(b *testing.B, ev scaling.Evaluation, at time.Time) state.Entry {
	b.Helper()
	value, err := json.Marshal(recordOf(&ev))
	require.NoError(b, err)
	return state.Entry{Scope: ev.Scope.Key, At: at, Action: string(ev.Recommendation.Action), Kind: state.DecisionEntry, Value: value}
}

// ended is one action that is over as the history keeps it.
func ended(b *testing.B, x *scaling.Execution) state.Entry {
	b.Helper()
	value, err := json.Marshal(x)
	require.NoError(b, err)
	return state.Entry{Scope: x.Scope, At: lastTransition(x), Action: string(x.State), Kind: state.ActionEntry, Value: value}
}
