package evaluator

import (
	"context"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	promrules "github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/bench/fleet"
	"github.com/zeta-scaler/zeta-scaler/evaluator/handclock"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// The benchmarks below measure whole cycles of the pack benchPack, queries
// included, over a TSDB in this process that holds what the exporter says of
// clusters of four workers, every 15 s for a little longer than the pack's
// lookback. Every tenth cluster lacks slots, the others are idle.
const (
	benchPack    = fleet.PackName
	benchScrape  = 15 * time.Second
	benchScrapes = 49
)

// benchEnd is the time of the newest sample, at which all is judged.
func benchEnd() time.Time { return time.UnixMilli((benchScrapes - 1) * benchScrape.Milliseconds()) }

func pack(tb testing.TB) *rules.RuleSet {
	tb.Helper()
	rs, _, err := rules.Pack(benchPack)
	require.NoError(tb, err)
	return rs
}

// benchDB fills a temporary TSDB with what an exporter of n clusters exports.
func benchDB(b *testing.B, n int) *source.Temporary {
	b.Helper()
	db, err := source.OpenTemporary(b.TempDir(), slog.New(slog.DiscardHandler))
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	times := make([]int64, benchScrapes)
	for i := range times {
		times[i] = int64(i) * benchScrape.Milliseconds()
	}
	for c := range n {
		require.NoError(b, db.Append(fleet.Exported(c, times)...))
	}
	return db
}

func benchEngine(b *testing.B, db *source.Temporary) *source.Engine {
	b.Helper()
	e, err := source.NewEngine(source.EngineOptions{}, db)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, e.Close()) })
	return e
}

// benchRunner is the loop's runner with the board as its only reader.
func benchRunner(b *testing.B, src Source, rs *rules.RuleSet) (*runner, *Board) {
	b.Helper()
	board := NewBoard(1)
	loop := NewLoop(Options{
		Source: src, Clock: fixedClock{handclock.New(benchEnd())}, Store: memory.New(), Publishers: []Publisher{board},
		Logger: slog.New(slog.DiscardHandler), Epoch: 1, QueryTimeout: time.Minute,
	})
	runners, err := loop.assemble(b.Context(), fixtureConfig(rs, scaling.DefaultBounds()))
	require.NoError(b, err)
	return runners[0], board
}

// requireDecided checks that a benchmark measured what it should: every scope
// decided, a tenth of them for more workers.
func requireDecided(b *testing.B, board *Board, n int) {
	b.Helper()
	short := 0
	for _, ev := range board.Evaluations() {
		require.True(b, ev.Recommendation.MetricsValid, ev.Recommendation.Reason)
		if ev.Recommendation.Row == scaling.RowShortage {
			short++
		}
	}
	require.Len(b, board.Evaluations(), n)
	require.Equal(b, (n+9)/10, short)
}

// BenchmarkCycle is one tick over n scopes: queries, steps, rendering, store.
// by=rule-manager is the same judged by Prometheus' own rule manager, from the
// same TSDB: one alerting rule per scope and condition, results thrown away.
func BenchmarkCycle(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run("scopes="+strconv.Itoa(n), func(b *testing.B) {
			db := benchDB(b, n)
			b.Run("by=zeta-scaler", func(b *testing.B) { benchmarkCycle(b, db, n) })
			b.Run("by=rule-manager", func(b *testing.B) { benchmarkRuleManager(b, db, n) })
		})
	}
}

func benchmarkCycle(b *testing.B, db *source.Temporary, n int) {
	rs := pack(b)
	r, board := benchRunner(b, &frozen{benchEngine(b, db)}, rs)
	tick := TickAtOrBefore(benchEnd(), rs.Interval, Phase(rs.Name, rs.Interval)).UnixMilli()
	// The first tick fills the windows, so that every later one renders as much.
	for range 2 {
		require.NoError(b, r.tick(b.Context(), tick))
		tick += rs.Interval.Milliseconds()
	}
	requireDecided(b, board, n)
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, r.tick(b.Context(), tick))
		tick += rs.Interval.Milliseconds()
	}
	perScope(b, n)
}

func benchmarkRuleManager(b *testing.B, db *source.Temporary, n int) {
	g := ruleGroup(b, db, n)
	g.Eval(b.Context(), benchEnd())
	for _, r := range g.Rules() {
		require.NoError(b, r.LastError())
	}
	b.ReportAllocs()
	for b.Loop() {
		g.Eval(b.Context(), benchEnd())
	}
	perScope(b, n)
}

func perScope(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/1000/float64(b.N)/float64(n), "µs/scope")
}

// BenchmarkRestore is a start over n scopes: range queries over the pack's
// lookback, the fold, and the first decision of every scope stored.
func BenchmarkRestore(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run("scopes="+strconv.Itoa(n), func(b *testing.B) {
			src := benchEngine(b, benchDB(b, n))
			rs := pack(b)
			tick := TickAtOrBefore(benchEnd(), rs.Interval, Phase(rs.Name, rs.Interval)).UnixMilli()
			b.ReportAllocs()
			var board *Board
			for b.Loop() {
				var r *runner
				r, board = benchRunner(b, src, rs)
				require.NoError(b, r.tick(b.Context(), tick))
			}
			perScope(b, n)
			requireDecided(b, board, n)
		})
	}
}

// frozen answers every instant query at the newest sample, so that a state can
// go on from tick to tick while the data stays.
type frozen struct{ *source.Engine }

func (f *frozen) Instant(ctx context.Context, e string, _ time.Time) (source.Vector, error) {
	return f.Engine.Instant(ctx, e, benchEnd())
}

// ruleGroup is a group of the rule manager with what benchPack asks, written
// out per scope. Worker counts, which the pack needs beside its conditions, are
// left out: Prometheus has no use for them.
func ruleGroup(b *testing.B, db storage.Queryable, n int) *promrules.Group {
	b.Helper()
	p := parser.NewParser(parser.Options{})
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: source.DefaultMaxSamples, Timeout: time.Minute, Parser: p, EnableAtModifier: true, EnableNegativeOffset: true,
		NoStepSubqueryIntervalFn: func(int64) int64 { return source.DefaultSubqueryInterval.Milliseconds() },
	})
	rs := pack(b)
	var all []promrules.Rule
	for c := range n {
		all = append(all, scopeRules(b, rs, fleet.ClusterName(c))...)
	}
	return promrules.NewGroup(promrules.GroupOptions{
		Name: rs.Name, Interval: rs.Interval, Rules: all,
		Opts: &promrules.ManagerOptions{
			QueryFunc: promrules.EngineQueryFunc(engine, db), Context: b.Context(), Logger: slog.New(slog.DiscardHandler),
			NotifyFunc: func(context.Context, string, ...*promrules.Alert) {}, AppendableV2: discard{}, Queryable: db, Parser: p,
		},
	})
}

// scopeRules are the rules of one scope: each condition as an alert.
func scopeRules(b *testing.B, rs *rules.RuleSet, cluster string) []promrules.Rule {
	b.Helper()
	conditions, err := fleet.Conditions(rs, cluster)
	require.NoError(b, err)
	var all []promrules.Rule
	for _, c := range conditions {
		all = append(all, promrules.NewAlertingRule(c.Name, c.Expr, c.For, c.KeepFiringFor, labels.EmptyLabels(), labels.EmptyLabels(),
			labels.EmptyLabels(), "", true, slog.New(slog.DiscardHandler)))
	}
	return all
}

// discard takes the rule manager's results and forgets them.
type discard struct{}

func (discard) AppenderV2(context.Context) storage.AppenderV2 { return discard{} }

func (discard) Append(storage.SeriesRef, labels.Labels, int64, int64, float64, *histogram.Histogram, *histogram.FloatHistogram, storage.AppendV2Options) (storage.SeriesRef, error) {
	return 1, nil
}
func (discard) Commit() error   { return nil }
func (discard) Rollback() error { return nil }
