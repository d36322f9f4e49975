package metrics_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestPage compares the whole page of a rule set without scope_by, one with
// it, and a scope about which nothing is known, with a golden file.
func TestPage(t *testing.T) {
	c := collector()
	unknown := cluster("dark")
	unknown.Recommendation.CurrentWorkers = nil
	unknown.Recommendation.RecommendedWorkers = nil
	unknown.Recommendation.StaleWorkerCount = nil
	unknown.Recommendation.MetricsValid = false
	unknown.Recommendation.Action = scaling.NoAction
	unknown.SlotMode = scaling.UnknownSlots
	for i := range unknown.Inputs {
		unknown.Inputs[i].Value = scaling.Value{}
	}
	unknown.Shadows[0].RecommendedWorkers = nil
	c.Publish(t.Context(), []scaling.Evaluation{evaluation(), cluster("prod"), unknown}, nil)
	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(c))
	got := render(t, reg, expfmt.TypeTextPlain)
	require.NotEmpty(t, got)
	const golden = "testdata/page.txt"
	if *update {
		require.NoError(t, os.WriteFile(golden, got, 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// schema is spec 3.2: every metric with its own labels. The single scope has
// exactly these labels and no other.
var schema = map[string][]string{
	"seatunnel_autoscaler_recommended_workers":                nil,
	"seatunnel_autoscaler_current_workers":                    nil,
	"seatunnel_autoscaler_recommended_delta":                  nil,
	"seatunnel_autoscaler_recommendations_total":              {"action"},
	"seatunnel_autoscaler_action_status":                      {"status"},
	"seatunnel_autoscaler_cooldown_remaining_seconds":         nil,
	"seatunnel_autoscaler_ineffective":                        nil,
	"seatunnel_autoscaler_metrics_valid":                      nil,
	"seatunnel_autoscaler_stale_workers":                      nil,
	"seatunnel_autoscaler_input_avg_cpu":                      nil,
	"seatunnel_autoscaler_input_avg_memory":                   nil,
	"seatunnel_autoscaler_input_slot_utilization":             {"slot_mode"},
	"seatunnel_autoscaler_input_blocked_jobs":                 nil,
	"seatunnel_autoscaler_input_oldest_blocked_seconds":       nil,
	"seatunnel_autoscaler_input_unsatisfied_slots":            nil,
	"seatunnel_autoscaler_input_resource_rejections":          nil,
	"seatunnel_autoscaler_signal_value":                       {"class", "signal"},
	"seatunnel_autoscaler_signal_held_seconds":                {"direction", "signal"},
	"seatunnel_autoscaler_signal_window_seconds":              {"direction", "signal"},
	"seatunnel_autoscaler_signal_sustained_timestamp_seconds": {"direction", "signal"},
	"seatunnel_autoscaler_signal_threshold":                   {"direction", "signal"},
	"seatunnel_autoscaler_mode":                               nil,
	"seatunnel_autoscaler_observed_timestamp_seconds":         nil,
	"seatunnel_autoscaler_next_action_timestamp_seconds":      {"action"},
	"seatunnel_autoscaler_worker_bound":                       {"bound"},
	"seatunnel_autoscaler_recommendation_generation":          nil,
	"seatunnel_autoscaler_master_epoch":                       nil,
	"seatunnel_autoscaler_paused":                             nil,
	"seatunnel_autoscaler_limited":                            {"bound"},
	"seatunnel_autoscaler_evaluations_total":                  nil,
	"seatunnel_autoscaler_evaluation_failures_total":          {"reason"},
	"seatunnel_autoscaler_evaluation_duration_seconds":        nil,
	"seatunnel_autoscaler_ticks_missed_total":                 nil,
	"seatunnel_autoscaler_clock_jumps_total":                  nil,
	"seatunnel_autoscaler_ignored_samples_total":              nil,
	"seatunnel_autoscaler_ruleset_info":                       {"digest", "ruleset", "version"},
	"seatunnel_autoscaler_shadow_recommended_workers":         {"ruleset", "version"},
	"seatunnel_autoscaler_shadow_disagreements_total":         nil,
	"zeta_scaler_build_info": {
		"branch", "goarch", "goos", "goversion", "revision", "tags", "version",
	},
	"zeta_scaler_config_last_reload_successful":                nil,
	"zeta_scaler_config_last_reload_success_timestamp_seconds": nil,

	"zeta_scaler_leader":    nil,
	"zeta_scaler_page_info": {"url"},

	"zeta_scaler_contact_up":                            {"kind", "name"},
	"zeta_scaler_contact_last_answer_timestamp_seconds": {"kind", "name"},
}

func TestEveryMetricOfTheSpec(t *testing.T) {
	single, many := collector(), collector()
	single.Publish(t.Context(), []scaling.Evaluation{evaluation()}, nil)
	many.Publish(t.Context(), []scaling.Evaluation{
		evaluation(scaling.Label{Name: "cluster", Value: "a"}, scaling.Label{Name: "tag", Value: "b"}),
	}, nil)
	alone, scoped := gather(t, registry(t, single)), gather(t, registry(t, many))
	for name, own := range schema {
		require.Contains(t, alone, name)
		require.Equal(t, own, labelNames(alone[name]), "%s of the single scope", name)
		want := own
		if perScope(name) {
			want = append([]string{"cluster", "scope", "tag"}, own...)
			slices.Sort(want)
		}
		require.Equal(t, want, labelNames(scoped[name]), "%s with scope_by", name)
	}
	for name := range alone {
		require.Contains(t, schema, name, "not in the spec's list")
	}
}

// perScope tells the metrics of a scope from those of the loop and process.
func perScope(name string) bool {
	return strings.HasPrefix(name, "seatunnel_autoscaler_") && !strings.Contains(name, "evaluation") &&
		!strings.Contains(name, "ticks_missed") && !strings.Contains(name, "clock_jumps") &&
		!strings.Contains(name, "ignored_samples")
}

// labelNames returns the label names of a family and requires that all of its
// metrics have the same.
func labelNames(f *dto.MetricFamily) []string {
	var out []string
	for i, m := range f.GetMetric() {
		var names []string
		for _, p := range m.GetLabel() {
			names = append(names, p.GetName())
		}
		if i > 0 && !slices.Equal(names, out) {
			return []string{"labels differ"}
		}
		out = names
	}
	return out
}

// The same checks as `promtool check metrics`.
func TestLint(t *testing.T) {
	c := collector()
	c.Publish(t.Context(), []scaling.Evaluation{evaluation(), cluster("prod")}, nil)
	problems, err := testutil.GatherAndLint(registry(t, c))
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestRecommendedWorkersIsNoHPAMetric(t *testing.T) {
	c := collector()
	c.Publish(t.Context(), []scaling.Evaluation{evaluation()}, nil)
	help := gather(t, registry(t, c))["seatunnel_autoscaler_recommended_workers"].GetHelp()
	require.Contains(t, help, "absolute target")
	require.Contains(t, help, "not an HPA metric")
}

// hostile are label values that no page may break on.
var hostile = []string{
	"", " ", `"`, `\`, "\n", `a"b\c` + "\nd", "}{,=", "# TYPE x counter", "日本", "\x00", "\xff\xfe", "a/b%2F",
	strings.Repeat("x", 5000),
}

// Every page is read back by Prometheus' own parsers with the same values.
func TestHostileNames(t *testing.T) {
	c := collector()
	var evaluations []scaling.Evaluation
	want := map[string]string{}
	for _, v := range hostile {
		e := cluster(v)
		e.Recommendation.RuleSet = scaling.RuleSetRef{Name: v, Version: v, Digest: v}
		e.Shadows[0].RuleSet = e.Recommendation.RuleSet
		e.Inputs[0].Name = v
		evaluations = append(evaluations, e)
		want[e.Scope.Key] = strings.ToValidUTF8(v, "\uFFFD")
	}
	require.Len(t, want, len(hostile))
	c.Publish(t.Context(), evaluations, nil)
	reg := registry(t, c)
	for _, format := range []expfmt.FormatType{expfmt.TypeOpenMetrics, expfmt.TypeTextPlain, expfmt.TypeProtoDelim} {
		t.Run(string(expfmt.NewFormat(format)), func(t *testing.T) {
			got := map[string]string{}
			samples := parse(t, reg, format)
			for _, l := range samples {
				if l.Get(model.MetricNameLabel) == "seatunnel_autoscaler_recommended_workers" {
					got[l.Get("scope")] = l.Get("cluster")
				}
			}
			require.Equal(t, want, got)
			require.Greater(t, len(samples), 50*len(hostile))
		})
	}
}

// render writes the page in a format.
func render(t *testing.T, g prometheus.Gatherer, format expfmt.FormatType) []byte {
	t.Helper()
	families, err := g.Gather()
	require.NoError(t, err)
	var page bytes.Buffer
	encoder := expfmt.NewEncoder(&page, expfmt.NewFormat(format))
	for _, f := range families {
		require.NoError(t, encoder.Encode(f))
	}
	if closer, ok := encoder.(expfmt.Closer); ok {
		require.NoError(t, closer.Close())
	}
	return page.Bytes()
}

// parse renders the page in a format and reads it as a scraping Prometheus.
func parse(t *testing.T, g prometheus.Gatherer, format expfmt.FormatType) []labels.Labels {
	t.Helper()
	page := render(t, g, format)
	media := string(expfmt.NewFormat(format))
	p, err := textparse.New(page, media, labels.NewSymbolTable(), textparse.ParserOptions{})
	require.NoError(t, err)
	var out []labels.Labels
	for {
		kind, err := p.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		if kind != textparse.EntrySeries && kind != textparse.EntryHistogram {
			continue
		}
		var l labels.Labels
		p.Labels(&l)
		out = append(out, l)
	}
}

// Labels that Prometheus would refuse, or that are the family's own, are left
// out: one of them would fail the whole page.
func TestHostileLabelNames(t *testing.T) {
	c := collector()
	c.Publish(t.Context(), []scaling.Evaluation{evaluation(
		scaling.Label{Name: "cluster", Value: "a"}, scaling.Label{Name: "cluster", Value: "b"},
		scaling.Label{Name: "scope", Value: "c"}, scaling.Label{Name: "signal", Value: "d"},
		scaling.Label{Name: "__name__", Value: "e"}, scaling.Label{Name: "", Value: "f"},
		scaling.Label{Name: "\xff", Value: "g"}, scaling.Label{Name: "le", Value: "h"},
	)}, nil)
	got := gather(t, registry(t, c))
	require.Equal(t, []string{"class", "cluster", "le", "scope", "signal"},
		labelNames(got["seatunnel_autoscaler_signal_value"]))
	require.Equal(t, map[string]float64{"a/b/c/d/e/f/g/h a": 5}, map[string]float64{
		got["seatunnel_autoscaler_recommended_workers"].GetMetric()[0].GetLabel()[2].GetValue() + " " +
			got["seatunnel_autoscaler_recommended_workers"].GetMetric()[0].GetLabel()[0].GetValue(): 5,
	})
}
