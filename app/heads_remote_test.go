package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// A Prometheus that answers other questions, and is slow with the one about the
// first jobs, is not taken for dead, and the queries do not move to another one,
// which has other values. It does not matter how short its time-out is.
func TestSlowEvidenceMovesNoQueries(t *testing.T) {
	const answer = `{"status":"success","data":{"resultType":"vector","result":[]}}`
	for name, timeout := range map[string]time.Duration{"a short time-out": 400 * time.Millisecond, "the usual one": source.DefaultTimeout} {
		t.Run(name, func(t *testing.T) {
			slow := func(w http.ResponseWriter, r *http.Request) {
				if r.FormValue("query") == headsQuery {
					<-r.Context().Done()
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, answer)
			}
			var others atomic.Int64
			first := httptest.NewServer(http.HandlerFunc(slow))
			defer first.Close()
			second := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				others.Add(1)
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, answer)
			}))
			defer second.Close()
			var log bytes.Buffer
			logger := slog.New(slog.NewTextHandler(&log, nil))
			remote, err := source.NewRemote(source.RemoteOptions{
				URLs: []string{first.URL, second.URL}, Timeout: timeout, Logger: logger, Registerer: prometheus.NewRegistry(),
			})
			require.NoError(t, err)
			defer func() { require.NoError(t, remote.Close()) }()
			_, err = remote.Instant(t.Context(), "up", headTick)
			require.NoError(t, err)

			out := &told{}
			parts := &Parts{Source: remote, NamesHeads: true, QueryTimeout: timeout, Logger: logger}
			for _, p := range parts.told(evaluator.Publisher(out)) {
				p.Publish(t.Context(), []scaling.Evaluation{waiting(headTick, cluster("prod"))}, nil)
			}
			require.Len(t, out.evaluations, 1, "who is told is told")
			require.Equal(t, first.URL, remote.Pinned())
			require.Zero(t, others.Load())
			require.Equal(t, contact.Up, remote.Contacts()[0].State)
			require.NotContains(t, log.String(), "prometheus gives no answer")
			require.Contains(t, log.String(), "the first jobs of queues cannot be read")
		})
	}
}

// Rule sets that fail at the same tick fail once: the rest is the first one.
func TestRuleSetsThatFailTogetherRestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &hangingSource{}
		h := newHeads(src, headPatience, slog.New(slog.DiscardHandler), nil)
		publish := func(tick time.Time, names ...string) {
			var all sync.WaitGroup
			for _, name := range names {
				ev := waiting(tick, cluster("prod"))
				ev.Recommendation.RuleSet.Name = name
				all.Go(func() { h.Publish(t.Context(), []scaling.Evaluation{ev}, nil) })
			}
			all.Wait()
		}
		publish(headTick, "a", "b", "c")
		require.EqualValues(t, 3, src.asked.Load())
		publish(headTick.Add(headRest-time.Second), "a")
		require.EqualValues(t, 3, src.asked.Load())
		publish(headTick.Add(headRest), "a")
		require.EqualValues(t, 4, src.asked.Load())
	})
}

// hangingSource answers nothing until it is called off.
type hangingSource struct{ asked atomic.Int64 }

func (s *hangingSource) Instant(ctx context.Context, _ string, _ time.Time) (source.Vector, error) {
	s.asked.Add(1)
	<-ctx.Done()
	return source.Vector{}, source.NoAnswer(ctx.Err())
}

func (s *hangingSource) Range(context.Context, string, source.Window) (source.Matrix, error) {
	return source.Matrix{}, errors.New("no range is asked for")
}
