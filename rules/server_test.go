package rules

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// fakeServer answers the first rule whose text an expression contains; all
// else is one sample of cluster a.
type fakeServer struct {
	answers   []fakeAnswer
	retention string
	asked     []string
	at        []time.Time
	now       time.Time
	took      time.Duration
}

type fakeAnswer struct {
	contains string
	answer   Answer
	err      error
}

func (f *fakeServer) Instant(_ context.Context, expr string, at time.Time) (Answer, error) {
	f.asked = append(f.asked, expr)
	f.at = append(f.at, at)
	f.now = f.now.Add(f.took)
	for _, a := range f.answers {
		if strings.Contains(expr, a.contains) {
			return a.answer, a.err
		}
	}
	if strings.Contains(expr, "count_over_time") {
		return Answer{}, nil
	}
	return Answer{Samples: []labels.Labels{labels.FromStrings("cluster", "a")}}, nil
}

func (f *fakeServer) Retention(context.Context) (string, error) {
	if f.retention == "" {
		return "", errors.New("status/runtimeinfo: 404")
	}
	return f.retention, nil
}

func (f *fakeServer) options() ServerOptions {
	return ServerOptions{Now: func() time.Time { return f.now }}
}

// said are the warnings, or the infos, of one check.
func said(ds []document.Diagnostic, s document.Severity, check string) []string {
	var out []string
	for _, d := range ds {
		if d.Severity == s && d.Check == check {
			out = append(out, d.Message)
		}
	}
	return out
}

func pack(t *testing.T, name string) *RuleSet {
	t.Helper()
	rs, _, err := Pack(name)
	require.NoError(t, err)
	return rs
}

func TestCheckServerFindsNothingWrong(t *testing.T) {
	f := &fakeServer{retention: "15d"}
	rs := pack(t, "zeta-fixed-slot")
	ds := CheckServer(t.Context(), rs, f, f.options())
	for _, d := range ds {
		require.Equal(t, document.SeverityInfo, d.Severity, d.Message)
	}
	require.Contains(t, said(ds, document.SeverityInfo, CheckServerSamples), "signal avg_cpu: one sample in 1 scope, took 0s")
	require.Equal(t, []string{"the server keeps samples for 15d; the longest window with its lookback is 20m"}, said(ds, document.SeverityInfo, CheckServerRetention))
	require.Contains(t, f.asked, rs.Signals[0].Expr.Text)
	require.Contains(t, f.asked, `count(seatunnel_zeta_slots{state="assigned"})`)
	require.Contains(t, f.asked, `max(count_over_time(seatunnel_zeta_resource_rejections_total[10m])) < 2`)
}

func TestCheckServer(t *testing.T) {
	two := Answer{Samples: []labels.Labels{
		labels.FromStrings("cluster", "a", "instance", "x"), labels.FromStrings("cluster", "a", "instance", "y"), labels.FromStrings("cluster", "b"),
	}}
	tests := []struct {
		name   string
		server fakeServer
		check  string
		want   string
	}{
		{
			"an error",
			fakeServer{answers: []fakeAnswer{{contains: "increase", err: errors.New("bad_data: no")}}},
			CheckServerQuery, "signal resource_rejections: the server does not answer it: bad_data: no",
		},
		{
			"warnings",
			fakeServer{answers: []fakeAnswer{{contains: "increase", answer: Answer{Samples: two.Samples[:1], Warnings: []string{"partial"}}}}},
			CheckServerQuery, "signal resource_rejections: the server warns: partial",
		},
		{"slow", fakeServer{took: 4 * time.Second}, CheckServerQuery, "signal avg_cpu: took 4s, more than 3s, and is asked every 30s"},
		{
			"two samples",
			fakeServer{answers: []fakeAnswer{{contains: "increase", answer: two}}},
			CheckServerSamples, "signal resource_rejections: scope a has 2 samples, so its value is unknown (duplicate_series)",
		},
		{
			"no label",
			fakeServer{answers: []fakeAnswer{{contains: "increase", answer: Answer{Samples: []labels.Labels{labels.EmptyLabels()}}}}},
			CheckServerSamples, "signal resource_rejections: 1 sample lacks a label of scope_by (cluster): no scope gets it",
		},
		{
			"no sample",
			fakeServer{answers: []fakeAnswer{{contains: "increase"}}},
			CheckServerSamples, "signal resource_rejections: no sample now, so its value is unknown",
		},
		{
			"no series",
			fakeServer{answers: []fakeAnswer{{contains: "count(seatunnel_zeta_pending_jobs)"}}},
			CheckServerSeries, "signal blocked_jobs: no series matches seatunnel_zeta_pending_jobs now",
		},
		{
			"rare scrapes",
			fakeServer{answers: []fakeAnswer{{contains: "count_over_time", answer: Answer{Samples: two.Samples[:1]}}}},
			CheckServerRange, "signal resource_rejections: no series of seatunnel_zeta_resource_rejections_total has two samples within 10m, so increase gives nothing",
		},
		{
			"short retention",
			fakeServer{retention: "15m or 10GiB"},
			CheckServerRetention, "the server keeps samples for 15m; the longest window with its lookback is 20m",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ds := CheckServer(t.Context(), pack(t, "zeta-fixed-slot"), &tt.server, tt.server.options())
			require.Contains(t, said(ds, document.SeverityWarning, tt.check), tt.want, document.Render(ds))
			for _, d := range ds {
				if d.Check != CheckServerRetention {
					require.Positive(t, d.Pos.Line)
				}
			}
		})
	}
}

func TestWhatAVersionOfZetaCannotTellIsSaid(t *testing.T) {
	for series, want := range map[string]string{
		"seatunnel_zeta_pending_jobs":                "2.3.9 to 2.3.12",
		"seatunnel_zeta_pending_job_oldest_seconds":  "2.3.9 to 2.3.12",
		"seatunnel_zeta_pending_head_required_slots": "only while a job waits",
		"seatunnel_zeta_workers":                     "is the exporter scraped",
	} {
		f := &fakeServer{answers: []fakeAnswer{{contains: "count(" + series}}}
		ds := CheckServer(t.Context(), pack(t, "zeta-fixed-slot"), f, f.options())
		i := slices.IndexFunc(ds, func(d document.Diagnostic) bool {
			return d.Check == CheckServerSeries && strings.Contains(d.Message, series)
		})
		require.NotEqual(t, -1, i, document.Render(ds))
		require.Contains(t, ds[i].Hint, want, series)
	}
	require.Contains(t, whyNoSeries("seatunnel_zeta_resource_rejections_total"), "2.3.13")
	require.Contains(t, mayBeAbsent("seatunnel_zeta_info"), "one version")
	require.Contains(t, mayBeAbsent("seatunnel_zeta_worker_heap_bytes"), "3.0")
	require.Empty(t, whyNoSeries("my_workers"))
}

func TestCheckServerAsksAsTheEvaluatorDoes(t *testing.T) {
	rs := pack(t, "zeta-fixed-slot")
	rs.QueryOffset = time.Minute
	f := &fakeServer{now: time.Unix(1000, 0)}
	CheckServer(t.Context(), rs, f, f.options())
	require.NotEmpty(t, f.at)
	for _, at := range f.at {
		require.Equal(t, time.Unix(940, 0), at)
	}
}

// A server that answers nothing is told of once, after one question.
func TestCheckServerSaysOnceThatNothingIsAnswered(t *testing.T) {
	rs, _, err := Pack("zeta-auto")
	require.NoError(t, err)
	f := &fakeServer{answers: []fakeAnswer{{contains: "", err: errors.New("401 Unauthorized")}}}
	ds := CheckServer(t.Context(), rs, f, f.options())
	require.Len(t, ds, 1, document.Render(ds))
	require.Equal(t, document.SeverityError, ds[0].Severity)
	require.Equal(t, CheckServerQuery, ds[0].Check)
	require.Contains(t, ds[0].String(), "401 Unauthorized")
	require.Len(t, f.asked, 1)
}

func TestCheckServerStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := &fakeServer{}
	require.Empty(t, CheckServer(ctx, pack(t, "zeta-auto"), f, f.options()))
	require.Empty(t, f.asked)
}

func TestParseRetention(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"15d": 15 * 24 * time.Hour, "15d or 50GiB": 15 * 24 * time.Hour, "1h30m": 90 * time.Minute, "50GiB": 0, "512MB or 2h": 2 * time.Hour, "": 0,
	} {
		got, err := parseRetention(text)
		require.Equal(t, want, got, text)
		require.Equal(t, want == 0, err != nil, text)
	}
}

func TestLookbackIsTheLongestWindow(t *testing.T) {
	set := fmt.Sprintf(minimal+"step: {scheduler_backlog: %s}\nquery_offset: 1m\n", "1m")
	rs, err := Parse("x.yaml", []byte(strings.Replace(set, "sum(x), scale_out: {above: 1}", "'sum(rate(x[2m] offset 3m))', scale_out: {above: 1, for: 10m}, keep_firing_for: 5m", 1)))
	require.NoError(t, err)
	// for 10m + keep 5m + 2 gaps of 30s, a range of 2m that ends 3m ago, asked 1m late.
	require.Equal(t, 22*time.Minute, rs.Lookback())
}
