package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/zeta-scaler/zeta-scaler/demo/sim"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/zeta"
)

const (
	// scrapeInterval is half of the packs' evaluation interval.
	scrapeInterval = 15 * time.Second
	// scrapeTook is what a virtual scrape takes: real durations would make no
	// two runs alike.
	scrapeTook = 5 * time.Millisecond
	// realTimeout bounds a request to memory; it only matters on a machine that
	// is overloaded beyond use.
	realTimeout = time.Minute
	masterURL   = "http://10.20.0.1:8080"
	masterURLV1 = "http://10.20.0.1:5801"
)

// world is everything that zeta-scaler looks at: the cluster with its story,
// the exporter that asks it and the TSDB that is filled from both.
type world struct {
	o    *Options
	note func(at time.Time, text string)

	mu       sync.Mutex // guards cluster for readers of the handler
	cluster  *sim.Cluster
	story    Scenario
	began    time.Time // when the current round of the story began
	round    uint64
	upcoming []Event

	db        *source.Temporary
	exporter  *source.Target
	telemetry *source.Target
	collector *zeta.Collector
	registry  *prometheus.Registry
	client    *http.Client
	url       string
	now       time.Time
}

// newWorld begins the first round at o.Start.
func newWorld(o *Options, note func(time.Time, string)) (*world, error) {
	w := &world{o: o, note: note, now: o.Start}
	if err := w.begin(o.Start); err != nil {
		return nil, err
	}
	var err error
	if w.db, err = source.OpenTemporary("", slog.New(slog.DiscardHandler)); err != nil {
		return nil, err
	}
	w.url = masterURL
	if w.story.Cluster.Version == sim.V238 {
		w.url = masterURLV1
	}
	w.client = &http.Client{Transport: w}
	w.exporter = w.db.Target(labels.FromStrings("job", "zeta-exporter", "instance", "exporter:9881"))
	w.telemetry = w.db.Target(labels.FromStrings("job", "zeta", "instance", w.url[len("http://"):]))
	w.collector, err = zeta.NewCollector(zeta.CollectorOptions{
		Cluster:   zeta.ClusterConfig{Name: o.Cluster, URLs: []string{w.url}, EndpointTimeout: realTimeout},
		Transport: w,
		Timeout:   realTimeout,
		Logger:    o.Logger,
		Clock:     w.time,
	})
	if err != nil {
		return nil, errors.Join(err, w.db.Close())
	}
	w.registry = prometheus.NewRegistry()
	if err := w.registry.Register(w.collector); err != nil {
		return nil, errors.Join(fmt.Errorf("registering the exporter's collector: %w", err), w.close())
	}
	return w, nil
}

// begin starts a round: the story's cluster as it is at the start.
func (w *world) begin(at time.Time) error {
	story, err := FindScenario(w.o.Scenario)
	if err != nil {
		return err
	}
	o := story.Cluster
	o.Name, o.Start, o.Seed = w.o.Cluster, at, w.o.Seed+w.round
	cluster, err := sim.New(o)
	if err != nil {
		return fmt.Errorf("starting the cluster of scenario %s: %w", story.Name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cluster, w.story, w.began, w.upcoming = cluster, story, at, story.Events
	w.round++
	return nil
}

// current is the cluster of this round.
func (w *world) current() *sim.Cluster {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cluster
}

// RoundTrip answers from the cluster of this round; the exporter outlives it.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	return w.current().Transport().RoundTrip(r)
}

// advance lets the cluster live until t, with all that happens to it. Beyond
// the end of the story a new round begins.
func (w *world) advance(t time.Time) error {
	for {
		end := w.began.Add(w.story.Length)
		until := t
		if end.Before(t) {
			until = end
		}
		if err := w.play(until); err != nil {
			return err
		}
		if until.Equal(t) {
			return nil
		}
		if err := w.begin(end); err != nil {
			return err
		}
		w.note(end, "the story begins again")
	}
}

// play makes the events up to t happen, each at its time.
func (w *world) play(t time.Time) error {
	for len(w.upcoming) > 0 && !w.began.Add(w.upcoming[0].At).After(t) {
		e := w.upcoming[0]
		w.upcoming = w.upcoming[1:]
		at := w.began.Add(e.At)
		w.cluster.Advance(at)
		if e.Note != "" {
			w.note(at, e.Note)
		}
		if e.Do != nil {
			if err := e.Do(w.cluster); err != nil {
				return fmt.Errorf("scenario %s at %s: %w", w.story.Name, e.At, err)
			}
		}
		if e.At == 0 {
			w.cluster.Settle() // what a story begins with has been so for long
		}
	}
	w.cluster.Advance(t)
	w.setTime(t)
	return nil
}

// scrape fills the TSDB from both targets at t.
func (w *world) scrape(ctx context.Context, t time.Time) error {
	if err := w.advance(t); err != nil {
		return err
	}
	if err := w.scrapeExporter(t); err != nil {
		return err
	}
	return w.scrapeTelemetry(ctx, t)
}

// scrapeExporter writes what the exporter's page would say.
func (w *world) scrapeExporter(t time.Time) error {
	families, err := w.registry.Gather()
	if err != nil {
		return fmt.Errorf("gathering the exporter's metrics: %w", err)
	}
	var page bytes.Buffer
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	enc := expfmt.NewEncoder(&page, format)
	for _, f := range families {
		if err := enc.Encode(f); err != nil {
			return fmt.Errorf("writing the exporter's page: %w", err)
		}
	}
	_, err = w.exporter.AppendText(string(format), page.Bytes(), t, scrapeTook)
	return err
}

// scrapeTelemetry writes the master's own metrics; a master that hangs is a
// target that is down.
func (w *world) scrapeTelemetry(ctx context.Context, t time.Time) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+w.current().MetricsPath(), nil)
	if err != nil {
		return fmt.Errorf("scraping the master: %w", err)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return w.telemetry.AppendFailure(t, scrapeTook)
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return fmt.Errorf("scraping the master: %w", err)
	}
	// Zeta names no format version, so it is the fallback's, as in a real
	// Prometheus with fallback_scrape_protocol.
	_, err = w.telemetry.AppendText("", body, t, scrapeTook)
	return err
}

// time is virtual time as the exporter sees it.
func (w *world) time() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) setTime(t time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = t
}

func (w *world) close() error {
	w.collector.Close()
	return w.db.Close()
}
