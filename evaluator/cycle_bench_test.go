package evaluator

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	promrules "github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// The benchmarks below measure a whole cycle, queries included, over clusters
// of four workers with ten minutes of samples 15 s apart.
const (
	benchWorkers = 4
	benchSamples = 41
)

// benchExprs are the packs' signals by cluster.
var benchExprs = []struct {
	name  string
	class scaling.Class
	expr  string
	out   float64
}{
	{"oldest_blocked_age", scaling.Blocking, `max by (cluster) (seatunnel_zeta_pending_job_oldest_seconds)`, 60},
	{"blocked_jobs", scaling.Blocking, `max by (cluster) (seatunnel_zeta_pending_jobs)`, 5},
	{"unsatisfied_slots", scaling.Blocking, `max by (cluster) (seatunnel_zeta_pending_head_lacking_slots)`, 0},
	{"resource_rejections", scaling.Blocking, `sum by (cluster) (increase(seatunnel_zeta_resource_rejections_total[10m]))`, 0},
	{"avg_cpu", scaling.Saturation, `avg by (cluster) (seatunnel_zeta_worker_cpu_ratio and on (cluster, worker) seatunnel_zeta_worker_sample_age_seconds < 120)`, 0.8},
	{"avg_memory", scaling.Saturation, `avg by (cluster) (seatunnel_zeta_worker_memory_ratio and on (cluster, worker) seatunnel_zeta_worker_sample_age_seconds < 120)`, 0.8},
	{"slot_utilization", scaling.Capacity, `sum by (cluster) (seatunnel_zeta_slots{state="assigned"}) / sum by (cluster) (seatunnel_zeta_slots)`, 0.8},
}

func benchRules() *rules.RuleSet {
	rs := fixture()
	rs.Name, rs.SlotModeExpr, rs.Signals = "bench", nil, nil
	rs.Workers = rules.Workers{
		Current:   expr(`max by (cluster) (seatunnel_zeta_workers)`),
		Reporting: expr(`count by (cluster) (seatunnel_zeta_worker_sample_age_seconds < 120) or 0 * max by (cluster) (seatunnel_zeta_workers)`),
	}
	for _, e := range benchExprs {
		s := rules.Signal{Name: e.name, Class: e.class, Expr: expr(e.expr), Required: e.class != scaling.Capacity, Out: above(e.out, 10), In: atMost(0, 20)}
		if e.class == scaling.Capacity {
			s.SlotModes = []scaling.SlotMode{scaling.FixedSlots}
		}
		rs.Signals = append(rs.Signals, s)
	}
	return rs
}

// benchDB fills a temporary TSDB with what an exporter of n clusters exports.
func benchDB(b *testing.B, n int) *source.Temporary {
	b.Helper()
	db, err := source.OpenTemporary(b.TempDir(), slog.New(slog.DiscardHandler))
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	add := func(v float64, kv ...string) {
		s := source.Series{Labels: labels.FromStrings(kv...)}
		for i := range benchSamples {
			s.Points = append(s.Points, source.Point{T: int64(i) * 15_000, V: v})
		}
		require.NoError(b, db.Append(s))
	}
	for c := range n {
		cluster := fmt.Sprintf("c%05d", c)
		for name, v := range map[string]float64{
			"workers": benchWorkers, "pending_jobs": 0, "pending_job_oldest_seconds": 0, "pending_head_lacking_slots": 0, "resource_rejections_total": 3,
		} {
			add(v, "__name__", "seatunnel_zeta_"+name, "cluster", cluster)
		}
		add(2, "__name__", "seatunnel_zeta_slots", "cluster", cluster, "state", "assigned")
		add(6, "__name__", "seatunnel_zeta_slots", "cluster", cluster, "state", "unassigned")
		for w := range benchWorkers {
			worker := fmt.Sprintf("10.0.0.%d:5802", w)
			for name, v := range map[string]float64{"worker_cpu_ratio": 0.4, "worker_memory_ratio": 0.5, "worker_sample_age_seconds": 1} {
				add(v, "__name__", "seatunnel_zeta_"+name, "cluster", cluster, "worker", worker)
			}
		}
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

// BenchmarkCycle is one tick over n scopes: queries, steps, rendering, store.
// The timestamp stays within the samples; the state goes on from tick to tick.
func BenchmarkCycle(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("scopes=%d", n), func(b *testing.B) {
			src := &frozen{benchEngine(b, benchDB(b, n))}
			l := newLive(b, src, memory.New(), fixtureConfig(benchRules(), scaling.DefaultBounds()), 1)
			l.tick(b, at(l.r.group.active().RuleSet, 100))
			i := 100
			b.ReportAllocs()
			for b.Loop() {
				i++
				l.tick(b, at(l.r.group.active().RuleSet, i))
				<-l.rec.ticks
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/scope")
		})
	}
}

// BenchmarkRuleManager is the same judged by Prometheus' own rule manager: one
// alerting rule per scope and condition on the same TSDB, its results thrown
// away. Compare with BenchmarkCycle of as many scopes.
func BenchmarkRuleManager(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprintf("scopes=%d", n), func(b *testing.B) {
			g := ruleGroup(b, benchDB(b, n), n)
			ts := time.UnixMilli((benchSamples - 1) * 15_000)
			g.Eval(b.Context(), ts)
			b.ReportAllocs()
			for b.Loop() {
				g.Eval(b.Context(), ts)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/scope")
		})
	}
}

// BenchmarkRestore is a start over n scopes: range queries over the lookback
// and the fold.
func BenchmarkRestore(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprintf("scopes=%d", n), func(b *testing.B) {
			src := benchEngine(b, benchDB(b, n))
			rs := benchRules()
			end := TickAtOrBefore(time.UnixMilli((benchSamples-1)*15_000), rs.Interval, Phase(rs.Name, rs.Interval))
			b.ReportAllocs()
			for b.Loop() {
				l := newLive(b, src, memory.New(), fixtureConfig(rs, scaling.DefaultBounds()), 1)
				l.tick(b, end)
				require.Len(b, l.rec.seen, n)
			}
		})
	}
}

// frozen answers every instant query at the newest sample.
type frozen struct{ *source.Engine }

func (f *frozen) Instant(ctx context.Context, e string, at time.Time) (source.Vector, error) {
	return f.Engine.Instant(ctx, e, time.UnixMilli((benchSamples-1)*15_000))
}

func (f *frozen) Range(ctx context.Context, e string, w source.Window) (source.Matrix, error) {
	return source.Matrix{}, nil
}

func ruleGroup(b *testing.B, db storage.Queryable, n int) *promrules.Group {
	b.Helper()
	p := parser.NewParser(parser.Options{})
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: time.Minute, Parser: p, EnableAtModifier: true, EnableNegativeOffset: true,
		NoStepSubqueryIntervalFn: func(int64) int64 { return 30_000 },
	})
	var all []promrules.Rule
	for c := range n {
		for _, e := range benchExprs {
			for _, op := range []string{" > ", " <= "} {
				node, err := p.ParseExpr(e.expr + op + fmt.Sprint(e.out))
				require.NoError(b, err)
				m := labels.MustNewMatcher(labels.MatchEqual, "cluster", fmt.Sprintf("c%05d", c))
				parser.Inspect(node, func(node parser.Node, _ []parser.Node) error {
					if s, ok := node.(*parser.VectorSelector); ok {
						s.LabelMatchers = append(s.LabelMatchers, m)
					}
					return nil
				})
				all = append(all, promrules.NewAlertingRule(e.name, node, 5*time.Minute, 0, labels.EmptyLabels(), labels.EmptyLabels(),
					labels.EmptyLabels(), "", true, slog.New(slog.DiscardHandler)))
			}
		}
	}
	return promrules.NewGroup(promrules.GroupOptions{
		Name: "bench", Interval: 30 * time.Second, Rules: all,
		Opts: &promrules.ManagerOptions{
			QueryFunc: promrules.EngineQueryFunc(engine, storage.QueryableFunc(db.Querier)), Context: b.Context(), Logger: slog.New(slog.DiscardHandler),
			NotifyFunc: func(context.Context, string, ...*promrules.Alert) {}, AppendableV2: discard{}, Queryable: storage.QueryableFunc(db.Querier), Parser: p,
		},
	})
}

// discard takes the rule manager's results and forgets them.
type discard struct{}

func (discard) AppenderV2(context.Context) storage.AppenderV2 { return discard{} }

func (discard) Append(storage.SeriesRef, labels.Labels, int64, int64, float64, *histogram.Histogram, *histogram.FloatHistogram, storage.AppendV2Options) (storage.SeriesRef, error) {
	return 1, nil
}
func (discard) Commit() error   { return nil }
func (discard) Rollback() error { return nil }
