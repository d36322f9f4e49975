package source_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/source"
)

// running is an Embedded whose Run goes on until stop.
type running struct {
	*source.Embedded
	stop func()
}

// startEmbedded opens and runs; the test stops it at its end at the latest.
func startEmbedded(t *testing.T, opts source.EmbeddedOptions) *running {
	t.Helper()
	e, err := source.OpenEmbedded(opts)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	stopped := false
	r := &running{Embedded: e, stop: func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, e.Close())
	}}
	t.Cleanup(r.stop)
	return r
}

// eventually waits until an expression yields samples that satisfy ok.
func (r *running) eventually(t *testing.T, expr string, ok func([]source.Sample) bool) {
	t.Helper()
	var last []source.Sample
	require.Eventually(t, func() bool {
		v, err := r.Instant(t.Context(), expr, time.Now())
		if err != nil {
			return false
		}
		last = v.Samples
		return ok(v.Samples)
	}, 20*time.Second, 10*time.Millisecond, "%s: %v", expr, &last)
}

// is asks for exactly one sample of that value.
func is(value float64) func([]source.Sample) bool {
	return func(s []source.Sample) bool { return len(s) == 1 && s[0].Value == value }
}

func none(s []source.Sample) bool { return len(s) == 0 }

// metricsPage serves a page that the test changes; empty is a failure.
func metricsPage(t *testing.T) (address string, page *atomic.Pointer[string]) {
	t.Helper()
	page = &atomic.Pointer[string]{}
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p := page.Load()
		if p == nil || *p == "" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, *p)
	}))
	return strings.TrimPrefix(url, "http://"), page
}

func TestEmbeddedScrapesStoresAndRestarts(t *testing.T) {
	address, page := metricsPage(t)
	page.Store(new("m{w=\"a\"} 1\nm{w=\"b\"} 2\n"))
	opts := source.EmbeddedOptions{
		Path: filepath.Join(t.TempDir(), "data", "tsdb"),
		Scrape: source.ScrapeOptions{
			Configs: "- job_name: zeta\n  scrape_interval: 50ms\n  scrape_timeout: 50ms\n  static_configs: [{targets: ['" + address + "'], labels: {cluster: x}}]\n",
		},
	}
	e := startEmbedded(t, opts)
	e.eventually(t, `up{job="zeta",instance="`+address+`",cluster="x"}`, is(1))
	e.eventually(t, `sum(m{cluster="x"})`, is(3))

	page.Store(new("m{w=\"a\"} 5\n"))
	e.eventually(t, `m`, is(5)) // b is stale at once, not after five minutes
	page.Store(new(""))
	e.eventually(t, `up`, is(0))
	e.eventually(t, `m`, none)
	page.Store(new("m{w=\"a\"} 6\n"))
	e.eventually(t, `m`, is(6))
	stopped := time.Now()
	e.stop()

	opts.Scrape = source.ScrapeOptions{}
	e = startEmbedded(t, opts)
	v, err := e.Instant(t.Context(), `m`, stopped)
	require.NoError(t, err)
	require.Len(t, v.Samples, 1)
	require.InDelta(t, 6, v.Samples[0].Value, 0, "what was scraped before the restart is there")
	m, err := e.Range(t.Context(), `min(up)`, source.Window{Start: stopped.Add(-time.Minute).Truncate(time.Second), End: stopped, Step: 10 * time.Millisecond})
	require.NoError(t, err)
	require.Len(t, m.Series, 1)
}

func TestEmbeddedCollectsInProcess(t *testing.T) {
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "seatunnel_zeta_workers", Help: "w"}, []string{"cluster"})
	gauge.WithLabelValues("prod").Set(3)
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(gauge)
	// A handler that fails on demand and sees the scrape's time-out.
	var timeout atomic.Value
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timeout.Store(r.Header.Get("X-Prometheus-Scrape-Timeout-Seconds"))
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, "h{job=\"theirs\"} 7\n")
	})
	internals := prometheus.NewRegistry()
	scrapes := source.ScrapeOptions{
		Interval: 50 * time.Millisecond,
		InProcess: []source.InProcess{
			{Job: "zeta", Instance: "exporter", Labels: map[string]string{"region": "eu"}, Gatherer: reg},
			{Job: "zeta", Instance: "handler", Handler: handler, Interval: 60 * time.Millisecond, Timeout: 40 * time.Millisecond},
			{Job: "honest", Instance: "handler", Handler: handler, HonorLabels: true},
		},
	}
	e := startEmbedded(t, source.EmbeddedOptions{Path: t.TempDir(), Scrape: scrapes, Internals: internals})
	e.eventually(t, `seatunnel_zeta_workers{cluster="prod",job="zeta",instance="exporter",region="eu"}`, is(3))
	e.eventually(t, `sum(up)`, is(3))
	e.eventually(t, `h{job="zeta",exported_job="theirs",instance="handler"}`, is(7))
	e.eventually(t, `h{job="theirs",instance="handler"}`, is(7))
	require.Contains(t, []string{"0.04", "0.05"}, timeout.Load())

	gauge.DeleteLabelValues("prod")
	e.eventually(t, `seatunnel_zeta_workers`, none)
	e.eventually(t, `up{instance="exporter"}`, is(1))
	gauge.WithLabelValues("prod").Set(4)
	e.eventually(t, `seatunnel_zeta_workers`, is(4))

	count, err := testutil.GatherAndCount(internals, "prometheus_tsdb_head_series")
	require.NoError(t, err)
	require.Equal(t, 1, count)
}

func TestEmbeddedHangingGathererCostsItsOwnScrapes(t *testing.T) {
	release := make(chan struct{})
	var calls atomic.Int64
	e := startEmbedded(t, source.EmbeddedOptions{Path: t.TempDir(), Scrape: source.ScrapeOptions{
		Interval: 30 * time.Millisecond,
		InProcess: []source.InProcess{
			{Job: "slow", Instance: "a", Gatherer: gatherer(func() { calls.Add(1); <-release })},
			{Job: "fast", Instance: "a", Gatherer: gatherer(func() {})},
		},
	}})
	t.Cleanup(func() { close(release) })
	e.eventually(t, `up{job="slow"}`, is(0))
	e.eventually(t, `count_over_time(up{job="slow"}[1m]) > 3`, func(s []source.Sample) bool { return len(s) == 1 })
	e.eventually(t, `up{job="fast"}`, is(1))
	require.Equal(t, int64(1), calls.Load(), "one scrape in flight")
}

func TestEmbeddedDiscoversFromFilesAndHTTP(t *testing.T) {
	address, page := metricsPage(t)
	page.Store(new("m 1\n"))
	dir := t.TempDir()
	write(t, filepath.Join(dir, "targets.json"), []byte(`[]`))
	sd := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `[{"targets":["`+address+`"],"labels":{"via":"http"}}]`)
	}))
	e := startEmbedded(t, source.EmbeddedOptions{Path: t.TempDir(), Scrape: source.ScrapeOptions{
		Dir: dir, Interval: 50 * time.Millisecond,
		Configs: `
- job_name: files
  file_sd_configs: [{files: [targets.json]}]
- job_name: http
  http_sd_configs: [{url: "` + sd + `"}]
`,
	}})
	e.eventually(t, `m{via="http",job="http"}`, is(1))
	absent(t, e.Engine, `m{job="files"}`, time.Now())

	// Renamed into place, as tools do, so that no half file is read.
	write(t, filepath.Join(dir, "new"), []byte(`[{"targets":["`+address+`"],"labels":{"via":"file"}}]`))
	require.NoError(t, os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "targets.json")))
	e.eventually(t, `m{via="file",job="files"}`, is(1))
}

func TestEmbeddedReload(t *testing.T) {
	one := source.InProcess{Job: "zeta", Instance: "one", Gatherer: gatherer(func() {})}
	two := source.InProcess{Job: "zeta", Instance: "two", Gatherer: gatherer(func() {})}
	scrapes := func(targets ...source.InProcess) source.ScrapeOptions {
		return source.ScrapeOptions{Interval: 50 * time.Millisecond, InProcess: targets}
	}
	e := startEmbedded(t, source.EmbeddedOptions{Path: t.TempDir(), Scrape: scrapes(one)})
	e.eventually(t, `up{instance="one"}`, is(1))

	bad := scrapes(two)
	bad.Configs = "- job_name: x\n  typo: 1\n"
	require.Error(t, e.Reload(bad))
	e.eventually(t, `count_over_time(up{instance="one"}[200ms]) > 1`, func(s []source.Sample) bool { return len(s) == 1 })
	absent(t, e.Engine, `up{instance="two"}`, time.Now())

	// What only turns out to be wrong when it is used leaves everything, too.
	good := scrapes(one)
	good.Configs = "- {job_name: x, static_configs: [{targets: ['127.0.0.1:1']}]}\n"
	require.NoError(t, e.Reload(good))
	e.eventually(t, `up{job="x"}`, is(0))
	bad.Configs = "- {job_name: x, tls_config: {ca_file: nowhere.pem}, static_configs: [{targets: ['127.0.0.1:1']}]}\n"
	require.Error(t, e.Reload(bad))
	e.eventually(t, fmt.Sprintf(`up{instance="one"} and timestamp(up{instance="one"}) > %f`, float64(time.Now().UnixMilli())/1000), is(1))
	absent(t, e.Engine, `up{instance="two"}`, time.Now())

	require.NoError(t, e.Reload(scrapes(one, two)))
	e.eventually(t, `sum(up)`, is(2))
	require.NoError(t, e.Reload(scrapes(two)))
	e.eventually(t, `up{instance="one"}`, none)
	e.eventually(t, `up{instance="two"}`, is(1))
}

func TestEmbeddedConfigurationErrors(t *testing.T) {
	g := gatherer(func() {})
	tests := []struct {
		name   string
		scrape source.ScrapeOptions
		want   string
	}{
		{"unknown key", source.ScrapeOptions{Configs: "# jobs\n- job_name: a\n  scrape_intervall: 5s\n"}, "scrape_configs: yaml: unmarshal errors:\n  line 3: field scrape_intervall not found"},
		{"unknown discovery", source.ScrapeOptions{Configs: "- job_name: a\n  kubernetes_sd_configs: [{role: pod}]\n"}, "line 2: field kubernetes_sd_configs not found"},
		{"wrong type", source.ScrapeOptions{Configs: "- job_name: a\n\n  scrape_interval: soon\n"}, `not a valid duration string: "soon"`},
		{"not a list", source.ScrapeOptions{Configs: "job_name: a\n"}, "line 1: expected a list of jobs"},
		{"not YAML", source.ScrapeOptions{Configs: "- job_name: [\n"}, "scrape_configs: yaml: "},
		{"other sections", source.ScrapeOptions{Configs: "- job_name: a\nremote_write: []\n"}, "scrape_configs: yaml: "},
		{"two documents", source.ScrapeOptions{Configs: "- job_name: a\n---\n- job_name: b\n"}, "expected one document"},
		{"job twice", source.ScrapeOptions{Configs: "- job_name: a\n- job_name: a\n"}, `multiple scrape configs with job name "a"`},
		{"null job", source.ScrapeOptions{Configs: "-\n"}, "empty or null scrape config"},
		{"timeout", source.ScrapeOptions{Configs: "- {job_name: a, scrape_interval: 1s, scrape_timeout: 2s}\n"}, "scrape timeout greater than scrape interval"},
		{"target twice", source.ScrapeOptions{InProcess: []source.InProcess{{Job: "a", Instance: "b", Gatherer: g}, {Job: "a", Instance: "b", Gatherer: g}}}, "in-process target 2 (job \"a\", instance \"b\"): is given twice"},
		{"no instance", source.ScrapeOptions{InProcess: []source.InProcess{{Job: "a", Gatherer: g}}}, "job and instance must be set"},
		{"nothing to scrape", source.ScrapeOptions{InProcess: []source.InProcess{{Job: "a", Instance: "b"}}}, "exactly one of gatherer and handler"},
		{"label twice", source.ScrapeOptions{InProcess: []source.InProcess{{Job: "a", Instance: "b", Gatherer: g, Labels: map[string]string{"job": "c"}}}}, `label "job" is set twice`},
		{"reserved label", source.ScrapeOptions{InProcess: []source.InProcess{{Job: "a", Instance: "b", Gatherer: g, Labels: map[string]string{"__address__": "c"}}}}, `label "__address__" is not a name`},
		{"slow target", source.ScrapeOptions{InProcess: []source.InProcess{{Job: "a", Instance: "b", Gatherer: g, Timeout: time.Hour}}}, "timeout 1h0m0s is longer than the interval 15s"},
		{"slow jobs", source.ScrapeOptions{Timeout: time.Hour, Configs: "- job_name: a\n"}, "scrape timeout greater than scrape interval"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tsdb")
			_, err := source.OpenEmbedded(source.EmbeddedOptions{Path: path, Scrape: tt.scrape})
			require.ErrorContains(t, err, tt.want)
			require.NoDirExists(t, path)
		})
	}
}

func TestEmbeddedAcceptsEmptyConfigurations(t *testing.T) {
	for _, configs := range []string{"", "[]\n", "# nothing\n", "null\n", "---\n- job_name: a\n", "[{job_name: a}]"} {
		t.Run(fmt.Sprintf("%q", configs), func(t *testing.T) {
			e, err := source.OpenEmbedded(source.EmbeddedOptions{Path: t.TempDir(), Scrape: source.ScrapeOptions{Configs: configs}})
			require.NoError(t, err)
			require.NoError(t, e.Close())
		})
	}
}

func TestEmbeddedFolderIsLocked(t *testing.T) {
	dir := t.TempDir()
	e, err := source.OpenEmbedded(source.EmbeddedOptions{Path: dir})
	require.NoError(t, err)
	_, err = source.OpenEmbedded(source.EmbeddedOptions{Path: dir})
	require.ErrorContains(t, err, "another process has it open")
	require.ErrorContains(t, err, "lock DB directory")
	require.NoError(t, e.Close())

	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	_, err = source.OpenEmbedded(source.EmbeddedOptions{Path: filepath.Join(dir, "file", "tsdb")})
	require.ErrorContains(t, err, "creating the tsdb folder")
}

func TestEmbeddedRunsOnce(t *testing.T) {
	e, err := source.OpenEmbedded(source.EmbeddedOptions{Path: t.TempDir()})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, e.Run(ctx))
	require.ErrorContains(t, e.Run(t.Context()), "ran already")
	require.NoError(t, e.Close())
}
