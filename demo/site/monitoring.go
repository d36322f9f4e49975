package site

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/zeta-scaler/zeta-scaler/demo/sim"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/zeta"
)

const (
	// scrapeTook is what a virtual scrape takes: real durations would make no
	// two runs alike.
	scrapeTook = 5 * time.Millisecond
	// realTimeout bounds a request to memory; it only matters on a machine that
	// is overloaded beyond use.
	realTimeout = time.Minute
	masterURL   = "http://10.20.0.1:8080"
	masterURLV1 = "http://10.20.0.1:5801"
)

// Monitoring is the exporter that asks a simulated cluster, and the TSDB that is
// filled from the exporter's page and the master's own metrics.
type Monitoring struct {
	current   func() *sim.Cluster
	db        *source.Temporary
	exporter  *source.Target
	telemetry *source.Target
	collector *zeta.Collector
	registry  *prometheus.Registry
	client    *http.Client
	url       string
	page      bytes.Buffer
}

// MonitoringOptions are what a Monitoring is made of; all but Logger are
// required.
type MonitoringOptions struct {
	// Name is the cluster's, Version that of its Zeta.
	Name, Version string
	// Current is the cluster that is asked; it may become another.
	Current func() *sim.Cluster
	// Now is virtual time.
	Now    func() time.Time
	Logger *slog.Logger
}

// NewMonitoring opens an empty TSDB. Close it in the end.
func NewMonitoring(o MonitoringOptions) (*Monitoring, error) {
	m := &Monitoring{current: o.Current, url: masterURL}
	if o.Version == sim.V238 {
		m.url = masterURLV1
	}
	var err error
	if m.db, err = source.OpenTemporary("", slog.New(slog.DiscardHandler)); err != nil {
		return nil, err
	}
	m.client = &http.Client{Transport: m}
	m.exporter = m.db.Target(labels.FromStrings("job", "zeta-exporter", "instance", "exporter:9881"))
	m.telemetry = m.db.Target(labels.FromStrings("job", "zeta", "instance", strings.TrimPrefix(m.url, "http://")))
	m.collector, err = zeta.NewCollector(zeta.CollectorOptions{
		Cluster:   zeta.ClusterConfig{Name: o.Name, URLs: []string{m.url}, EndpointTimeout: realTimeout},
		Transport: m,
		Timeout:   realTimeout,
		Logger:    o.Logger,
		Clock:     o.Now,
	})
	if err != nil {
		return nil, errors.Join(err, m.db.Close())
	}
	m.registry = prometheus.NewRegistry()
	if err := m.registry.Register(m.collector); err != nil {
		return nil, errors.Join(fmt.Errorf("registering the exporter's collector: %w", err), m.Close())
	}
	return m, nil
}

// DB is the TSDB.
func (m *Monitoring) DB() *source.Temporary { return m.db }

// Exporter gathers what the exporter's page says.
func (m *Monitoring) Exporter() prometheus.Gatherer { return m.registry }

// RoundTrip answers from the current cluster; the exporter outlives it.
func (m *Monitoring) RoundTrip(r *http.Request) (*http.Response, error) {
	return m.current().Transport().RoundTrip(r)
}

// Scrape fills the TSDB from both targets as they are now, which is t.
func (m *Monitoring) Scrape(ctx context.Context, t time.Time) error {
	if err := m.scrapeExporter(t); err != nil {
		return err
	}
	return m.scrapeTelemetry(ctx, t)
}

// Lose is a scrape at t of which no answer comes back.
func (m *Monitoring) Lose(t time.Time) error {
	return errors.Join(m.exporter.AppendFailure(t, scrapeTook), m.telemetry.AppendFailure(t, scrapeTook))
}

// scrapeExporter writes what the exporter's page would say.
func (m *Monitoring) scrapeExporter(t time.Time) error {
	families, err := m.registry.Gather()
	if err != nil {
		return fmt.Errorf("gathering the exporter's metrics: %w", err)
	}
	m.page.Reset()
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	enc := expfmt.NewEncoder(&m.page, format)
	for _, f := range families {
		if err := enc.Encode(f); err != nil {
			return fmt.Errorf("writing the exporter's page: %w", err)
		}
	}
	_, err = m.exporter.AppendText(string(format), m.page.Bytes(), t, scrapeTook)
	return err
}

// scrapeTelemetry writes the master's own metrics; a master that hangs is a
// target that is down.
func (m *Monitoring) scrapeTelemetry(ctx context.Context, t time.Time) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url+m.current().MetricsPath(), nil)
	if err != nil {
		return fmt.Errorf("scraping the master: %w", err)
	}
	resp, err := m.client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return m.telemetry.AppendFailure(t, scrapeTook)
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return fmt.Errorf("scraping the master: %w", err)
	}
	// Zeta names no format version, so it is the fallback's, as in a real
	// Prometheus with fallback_scrape_protocol.
	_, err = m.telemetry.AppendText("", body, t, scrapeTook)
	return err
}

// Close frees the TSDB.
func (m *Monitoring) Close() error {
	m.collector.Close()
	return m.db.Close()
}
