package rules

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// exporters is a real engine over what the given exporters say of one cluster
// of three workers, of which the third does not report.
func exporters(t *testing.T, more func(add func(name string, v float64, ls ...string)), instances ...string) *source.Engine {
	t.Helper()
	db, err := source.OpenTemporary(t.TempDir(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	var series []source.Series
	for _, instance := range instances {
		add := func(name string, v float64, ls ...string) {
			line := source.Series{Labels: labels.FromStrings(append(ls, model.MetricNameLabel, name, "instance", instance)...)}
			for at := now.Add(-time.Hour); !at.After(now); at = at.Add(15 * time.Second) {
				line.Points = append(line.Points, source.Point{T: at.UnixMilli(), V: v})
			}
			series = append(series, line)
		}
		more(add)
	}
	require.NoError(t, db.Append(series...))
	e, err := source.NewEngine(source.EngineOptions{}, db)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// oneCluster is a cluster as an exporter tells it: every series that there can
// be, of workers a and b.
func oneCluster(add func(name string, v float64, ls ...string)) {
	for _, s := range exporterSeries() {
		combinations(&s, s.labels, nil, func(ls []string) {
			v := 0.5
			switch {
			case s.name == exporterPrefix+"workers":
				v = 3
			case strings.HasSuffix(s.name, "_age_seconds"):
				v = 1
			}
			add(s.name, v, ls...)
		})
	}
	for _, w := range []string{"a", "b"} {
		add("my_sample_age_seconds", 1, "cluster", "p", "pool", "x", "worker", w)
		add("my_cpu_ratio", 0.5, "cluster", "p", "pool", "x", "worker", w)
	}
	add("my_workers", 3, "cluster", "p", "pool", "x")
	add("my_oldest_waiting_job_seconds", 7, "cluster", "p", "pool", "x")
}

func combinations(s *series, names, chosen []string, visit func([]string)) {
	if len(names) == 0 {
		visit(chosen)
		return
	}
	values := s.values[names[0]]
	switch {
	case names[0] == "cluster":
		values = []string{"p"}
	case names[0] == "worker":
		values = []string{"a", "b"}
	case len(values) == 0:
		values = []string{"v"}
	}
	for _, v := range values {
		combinations(s, names[1:], append(slices.Clip(chosen), names[0], v), visit)
	}
}

// published are all expressions about the exporter's series that somebody may
// copy: the packs, and what is in docs and alerts.
func published(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	ruleSet := func(rs *RuleSet) {
		for _, in := range rs.inputs() {
			out[rs.Name+": "+in.name] = in.expr.Text
		}
	}
	for _, name := range Packs() {
		ruleSet(pack(t, name))
	}
	files, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	for _, f := range files {
		for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page(t, filepath.Base(f)), -1) {
			if strings.HasPrefix(m[1], "format:") {
				rs, err := Parse(f, []byte(m[1]))
				require.NoError(t, err)
				ruleSet(rs)
				continue
			}
			alertRules(m[1], f, out)
		}
	}
	files, err = filepath.Glob("../alerts/*.yml")
	require.NoError(t, err)
	for _, f := range files {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		alertRules(string(b), f, out)
	}
	for name, text := range out {
		if !strings.Contains(text, exporterPrefix) && !strings.Contains(text, "my_") {
			delete(out, name)
		}
	}
	return out
}

// alertRules finds the expressions of alerting and recording rules.
func alertRules(text, file string, out map[string]string) {
	var root yaml.Node
	if yaml.Unmarshal([]byte(text), &root) != nil {
		return
	}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		var name, expr string
		for i, c := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 0 {
				switch c.Value {
				case "alert", "record":
					name = n.Content[i+1].Value
				case "expr":
					expr = n.Content[i+1].Value
				}
			}
			walk(c)
		}
		if name != "" && expr != "" {
			out[filepath.Base(file)+": "+name] = expr
		}
	}
	walk(&root)
}

// values are the values of a vector by its labels without the exporter's
// instance: an alert that is about an exporter fires once for each.
func values(t *testing.T, e *source.Engine, expr string) map[string]float64 {
	t.Helper()
	v, err := e.Instant(t.Context(), expr, now)
	require.NoError(t, err, expr)
	out := map[string]float64{}
	for _, s := range v.Samples {
		out[labels.NewBuilder(s.Labels).Del("instance").Labels().String()] = s.Value
	}
	return out
}

// TestPublishedRulesSurviveTwoExporters: what can be copied from here says the
// same whether one exporter watches a cluster or two do.
func TestPublishedRulesSurviveTwoExporters(t *testing.T) {
	one, two := exporters(t, oneCluster, "e1"), exporters(t, oneCluster, "e1", "e2")
	all := published(t)
	require.Greater(t, len(all), 40)
	told := 0
	for name, expr := range all {
		want := values(t, one, expr)
		require.Equal(t, want, values(t, two, expr), "%s: %s", name, expr)
		told += len(want)
	}
	require.Greater(t, told, 35, "most of them have a value")
	require.InDelta(t, 2, values(t, two, all["impatient: workers.reporting"])[`{cluster="p"}`], 0)
}

// engineServer asks a real engine what CheckServer wants to know.
type engineServer struct{ *source.Engine }

func (s engineServer) Instant(ctx context.Context, expr string, at time.Time) (Answer, error) {
	v, err := s.Engine.Instant(ctx, expr, at)
	a := Answer{}
	for _, x := range v.Samples {
		a.Samples = append(a.Samples, x.Labels)
	}
	return a, err
}

func checked(t *testing.T, rs *RuleSet, e *source.Engine) string {
	t.Helper()
	ds := CheckServer(t.Context(), rs, engineServer{e}, ServerOptions{Now: func() time.Time { return now }, Slow: time.Hour})
	return strings.Join(said(ds, document.SeverityWarning, CheckServerSamples), "\n")
}

// TestCheckServerFindsWhatIsCountedTwice: a rule set that counts each exporter
// is told so, one that takes each worker once is not.
func TestCheckServerFindsWhatIsCountedTwice(t *testing.T) {
	one, two := exporters(t, oneCluster, "e1"), exporters(t, oneCluster, "e1", "e2")
	for _, name := range []string{"zeta-auto", "zeta-fixed-slot", "zeta-dynamic-slot"} {
		require.NotContains(t, checked(t, pack(t, name), two), "more than once")
	}
	text := strings.NewReplacer(
		"REPORTING", "count by (cluster) (seatunnel_zeta_worker_sample_age_seconds < 120) or 0 * max by (cluster) (seatunnel_zeta_workers)",
		"CPU", "avg by (cluster) (seatunnel_zeta_worker_cpu_ratio and on (cluster, worker) seatunnel_zeta_worker_processors)",
		"SLOTS", "count by (cluster) (count by (cluster, worker) (seatunnel_zeta_worker_slots))",
	).Replace(twiceRules)
	rs, err := Parse("twice.yaml", []byte(text))
	require.NoError(t, err)
	require.NotContains(t, checked(t, rs, one), "more than once")
	found := checked(t, rs, two)
	require.Contains(t, found, "workers.reporting: seatunnel_zeta_worker_sample_age_seconds comes more than once, from several exporters or several Prometheus, and count counts each of them")
	require.Contains(t, found, "signal cpu: seatunnel_zeta_worker_cpu_ratio comes more than once, from several exporters or several Prometheus, and avg counts each of them")
	require.Equal(t, 2, strings.Count(found, "more than once"), found)
}

const twiceRules = `format: zeta-scaler/v1
ruleset: twice
version: 1.0.0
scope_by: [cluster]
workers:
  current: {expr: max by (cluster) (seatunnel_zeta_workers)}
  reporting: {expr: "REPORTING"}
  slots: {expr: "SLOTS"}
signals:
  - signal: oldest
    class: blocking
    expr: max by (cluster) (seatunnel_zeta_pending_job_oldest_seconds)
    unit: seconds
    scale_out: {above: 60}
    scale_in: {at_most: 0}
  - {signal: cpu, class: saturation, unit: ratio, expr: "CPU", scale_out: {}, scale_in: {}}
`

// TestCheckServerFindsACollision: a label of the scrape target has taken the
// place of the exporter's.
func TestCheckServerFindsACollision(t *testing.T) {
	renamed := func(add func(name string, v float64, ls ...string)) {
		for _, cluster := range []string{"busy", "empty"} {
			oneCluster(func(name string, v float64, ls ...string) {
				ls = append([]string{"exported_cluster", cluster}, ls...)
				for i := range ls {
					if ls[i] == "cluster" {
						ls[i+1] = "eu-1"
					}
				}
				add(name, v, ls...)
			})
		}
	}
	rs := pack(t, "zeta-auto")
	require.NotContains(t, checked(t, rs, exporters(t, oneCluster, "e1")), "exported_cluster")
	e := exporters(t, renamed, "e1")
	require.Contains(t, checked(t, rs, e), `seatunnel_zeta_workers has a label exported_cluster: another label cluster, of the scrape target or of all of this Prometheus, has taken the place of the exporter's own ("busy" is now "eu-1", "empty" is now "eu-1")`)
	require.InDelta(t, 2, values(t, e, rs.Workers.Sources.Text)[`{cluster="eu-1"}`], 0)
}

// TestSourcesCountClusters: neither a second exporter nor a second Prometheus
// makes one cluster two, or hides that there are two.
func TestSourcesCountClusters(t *testing.T) {
	for name, c := range map[string]struct {
		exporters, prometheus int
		apart                 bool // each exporter watches a cluster of its own
		workers               []string
		want                  float64
	}{
		"one exporter":                  {1, 1, false, []string{"a", "b"}, 1},
		"two exporters":                 {2, 1, false, []string{"a", "b"}, 1},
		"one exporter, two Prometheus":  {1, 2, false, []string{"a", "b"}, 1},
		"two exporters, two Prometheus": {2, 2, false, []string{"a", "b"}, 1},
		"no workers":                    {2, 2, false, nil, 1},
		"two clusters":                  {2, 1, true, []string{"a", "b"}, 2},
		"two clusters, two Prometheus":  {2, 2, true, []string{"a", "b"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			instances := []string{"e1", "e2"}[:c.exporters]
			asked := 0
			e := exporters(t, func(add func(name string, v float64, ls ...string)) {
				cluster := ""
				if c.apart {
					cluster = instances[asked]
				}
				asked++
				for _, prometheus := range []string{"p1", "p2"}[:c.prometheus] {
					add("seatunnel_zeta_workers", float64(len(c.workers)), "cluster", "p", "replica", prometheus)
					for _, w := range c.workers {
						add("seatunnel_zeta_worker_sample_age_seconds", 0, "cluster", "p", "replica", prometheus, "worker", cluster+w)
					}
				}
			}, instances...)
			for _, name := range []string{"zeta-auto", "zeta-fixed-slot", "zeta-dynamic-slot", "zeta-ample", "zeta-responsive", "zeta-thrifty"} {
				require.Equal(t, map[string]float64{`{cluster="p"}`: c.want}, values(t, e, pack(t, name).Workers.Sources.Text), name)
			}
		})
	}
}

// TestSourcesCountClustersWhileAScrapeIsLost: readings that look back mix two
// clusters of one name while the newest scrape of one is missing, so the count looks
// back, too; and an exporter that has moved is not counted twice for it.
func TestSourcesCountClustersWhileAScrapeIsLost(t *testing.T) {
	for name, c := range map[string]struct {
		workers map[string]string // by exporter
		ends    string            // the exporter that was scraped last 15 s ago
		begins  string            // the exporter that was scraped first just now
		want    float64
	}{
		"two clusters":                            {map[string]string{"e1": "a", "e2": "b"}, "e2", "", 2},
		"one cluster, two exporters":              {map[string]string{"e1": "a", "e2": "a"}, "e2", "", 1},
		"one cluster, its exporter has moved":     {map[string]string{"e1": "a", "e2": "a"}, "e1", "e2", 1},
		"two clusters, the exporter of one moved": {map[string]string{"e1": "a", "e2": "a", "e3": "b"}, "e1", "e2", 2},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := source.OpenTemporary(t.TempDir(), nil)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			for instance, worker := range c.workers {
				for name, more := range map[string]string{"seatunnel_zeta_workers": "", "seatunnel_zeta_worker_sample_age_seconds": worker} {
					line := source.Series{Labels: labels.FromStrings(model.MetricNameLabel, name, "instance", instance, "cluster", "p", "worker", more)}
					for ago := 10; ago >= 0; ago-- {
						v := 1.0
						switch {
						case instance == c.begins && ago > 0:
							continue
						case instance == c.ends && ago == 0:
							v = math.Float64frombits(value.StaleNaN)
						}
						line.Points = append(line.Points, source.Point{T: now.Add(-time.Duration(ago) * 15 * time.Second).UnixMilli(), V: v})
					}
					require.NoError(t, db.Append(line))
				}
			}
			e, err := source.NewEngine(source.EngineOptions{}, db)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, e.Close()) })
			for _, name := range []string{"zeta-ample", "zeta-responsive", "zeta-thrifty"} {
				require.Equal(t, map[string]float64{`{cluster="p"}`: c.want}, values(t, e, pack(t, name).Workers.Sources.Text), name)
			}
		})
	}
}

// TestTelemetryOfTwoPrometheus: each node counts once, however many Prometheus
// scrape it.
func TestTelemetryOfTwoPrometheus(t *testing.T) {
	nodes := func(prometheus ...string) *source.Engine {
		return exporters(t, func(add func(name string, v float64, ls ...string)) {
			for _, p := range prometheus {
				for name, v := range map[string]float64{"node_count": 3, "node_state": 1, "process_cpu_seconds_total": 7} {
					add(name, v, "job", "zeta", "cluster", "c", "replica", p)
				}
				add("jvm_memory_bytes_used", 1, "job", "zeta", "cluster", "c", "area", "heap", "replica", p)
				add("jvm_memory_bytes_max", 2, "job", "zeta", "cluster", "c", "area", "heap", "replica", p)
			}
		}, "n1", "n2")
	}
	one, two := nodes("p1"), nodes("p1", "p2")
	rs := pack(t, "zeta-telemetry-only")
	for _, in := range rs.inputs() {
		require.Equal(t, values(t, one, in.expr.Text), values(t, two, in.expr.Text), in.name)
	}
	require.Equal(t, map[string]float64{"{}": 2}, values(t, two, rs.Workers.Reporting.Text))
}

func TestWhatCountsEach(t *testing.T) {
	for text, want := range map[string]string{
		`sum by (cluster) (a)`:                                 "sum",
		`avg by (cluster) (a < 1)`:                             "avg",
		`avg by (cluster) (max by (cluster, worker) (a))`:      "",
		`count by (cluster) (count by (cluster, worker) (a))`:  "",
		`count by (cluster) ((count by (cluster) (a)) > 1)`:    "count",
		`sum by (cluster) (increase(a[5m]))`:                   "sum",
		`max by (cluster) (a)`:                                 "",
		`avg by (cluster) (max by (cluster) (b) and on () a)`:  "",
		`avg by (cluster) (a unless on () max(b))`:             "avg",
		`avg by (cluster) (max by (cluster, worker) (b) or a)`: "avg",
		`a > 1`: "",
		fmt.Sprintf(`quantile by (cluster) (0.9, %s)`, "a * 2"): "quantile",
	} {
		e, err := parser.NewParser(parser.Options{}).ParseExpr(text)
		require.NoError(t, err)
		got := "not found"
		parser.Inspect(e, func(n parser.Node, path []parser.Node) error {
			if v, ok := n.(*parser.VectorSelector); ok && v.Name == "a" {
				got = countsEach(append(path, n))
			}
			return nil
		})
		require.Equal(t, want, got, text)
	}
}
