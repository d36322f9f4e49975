package zeta

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/web/handler"
	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

// timeoutOffset is what is taken off Prometheus' scrape time-out, so that the
// page arrives before Prometheus gives up.
const timeoutOffset = 500 * time.Millisecond

// maxScrapeTimeout bounds the time-out that a caller may ask for.
const maxScrapeTimeout = 2 * time.Minute

// ExporterOptions are what an [Exporter] is made of.
type ExporterOptions struct {
	// Clusters are on /metrics.
	Clusters []ClusterConfig
	// Probe says whom /probe may ask.
	Probe ProbeConfig
	// Process has the metrics of the process for /metrics; nil: those of Go and
	// of the operating system.
	Process prometheus.Gatherer
	// MaxRequests bounds the requests to /metrics and /probe that are served at
	// once; more get 503. 0 means 40.
	MaxRequests int
	// MaxProbeTargets bounds the targets that are remembered; 0 means 500.
	MaxProbeTargets int
	// Logger and Clock are as in CollectorOptions.
	Logger *slog.Logger
	Clock  func() time.Time
	// Transport replaces network and credentials, for tests.
	Transport http.RoundTripper
}

func (o ExporterOptions) withDefaults() ExporterOptions {
	if o.MaxRequests == 0 {
		o.MaxRequests = 40
	}
	if o.MaxProbeTargets == 0 {
		o.MaxProbeTargets = 500
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return o
}

// Exporter serves the metrics of configured clusters and of probed ones.
type Exporter struct {
	collectors []*Collector
	clusters   []ClusterConfig
	prober     *prober
	process    prometheus.Gatherer
	slots      chan struct{}
	requests   tasks
	logger     *slog.Logger
}

// NewExporter makes an exporter; it reports every problem of the configuration
// at once. Close it when it is no longer needed.
func NewExporter(opts ExporterOptions) (*Exporter, error) {
	opts = opts.withDefaults()
	problems := []error{ValidateClusters(opts.Clusters)}
	if err := opts.Probe.Validate(); err != nil {
		problems = append(problems, prefixed("probe", err)...)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("making the exporter: %w", err)
	}
	long := outgoing.NewLongReplies()
	prober, err := newProber(opts, long)
	if err != nil {
		return nil, fmt.Errorf("making the exporter: %w", err)
	}
	e := &Exporter{
		clusters: opts.Clusters, prober: prober, process: opts.Process,
		slots: make(chan struct{}, opts.MaxRequests), logger: opts.Logger,
	}
	if e.process == nil {
		own := prometheus.NewRegistry()
		own.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
		e.process = own
	}
	for _, cluster := range opts.Clusters {
		c, err := NewCollector(CollectorOptions{
			Cluster: cluster, Transport: opts.Transport, Logger: opts.Logger, Clock: opts.Clock,
			Timeout: maxScrapeTimeout, Long: long,
		})
		if err != nil {
			e.Close()
			return nil, fmt.Errorf("making the exporter: %w", err)
		}
		e.collectors = append(e.collectors, c)
	}
	return e, nil
}

// Close waits for the scrapes that are being served, then ends all requests to
// clusters and waits for them: a page must not say that a cluster is down
// because the exporter goes. Later scrapes get 503.
func (e *Exporter) Close() {
	e.requests.close()
	closeAll(e.collectors)
	e.prober.close()
}

// Contacts say of each configured cluster how it answers.
func (e *Exporter) Contacts() []contact.Status {
	out := make([]contact.Status, len(e.collectors))
	for i, c := range e.collectors {
		out[i] = c.Contact()
	}
	return out
}

// Handler serves /metrics, /probe, /-/healthy and the landing page.
func (e *Exporter) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", e.limited(http.HandlerFunc(e.serveMetrics)))
	mux.Handle("GET /probe", e.limited(http.HandlerFunc(e.serveProbe)))
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("zeta-scaler exporter is healthy.\n"))
	})
	mux.HandleFunc("GET /{$}", e.serveLanding)
	return mux
}

// limited refuses what exceeds the bound: waiting would only make Prometheus
// time out a little later.
func (e *Exporter) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !e.requests.begin() {
			handler.Refuse(w, http.StatusServiceUnavailable, "the exporter is stopping or being reloaded, try again")
			return
		}
		defer e.requests.end()
		select {
		case e.slots <- struct{}{}:
			defer func() { <-e.slots }()
			next.ServeHTTP(w, r)
		default:
			handler.Refuse(w, http.StatusServiceUnavailable, "too many scrapes at once, try again later")
		}
	})
}

func (e *Exporter) serveMetrics(w http.ResponseWriter, r *http.Request) {
	e.serve(w, r, e.process, e.collectors...)
}

func (e *Exporter) serveProbe(w http.ResponseWriter, r *http.Request) {
	key, err := e.prober.request(r.URL.Query())
	if err != nil {
		refuse(w, err)
		return
	}
	c, release, err := e.prober.use(key)
	if err != nil {
		e.logger.Error("probe failed", "target", key.target, "err", err)
		refuse(w, err)
		return
	}
	defer release()
	e.serve(w, r, nil, c)
}

func refuse(w http.ResponseWriter, err error) {
	if e, ok := errors.AsType[*probeError](err); ok {
		handler.Refuse(w, e.status, e.text)
		return
	}
	handler.Refuse(w, http.StatusInternalServerError, "probing failed, see the log of the exporter")
}

// serve collects within the caller's time-out and writes the page.
func (e *Exporter) serve(w http.ResponseWriter, r *http.Request, process prometheus.Gatherer, of ...*Collector) {
	ctx, cancel := context.WithTimeout(r.Context(), scrapeTimeout(r.Header))
	defer cancel()
	clusters := prometheus.NewRegistry()
	for _, c := range of {
		if err := clusters.Register(c.WithContext(ctx)); err != nil {
			// Names are unique, so this cannot happen; the page says so if it does.
			handler.Refuse(w, http.StatusInternalServerError, err.Error())
			return
		}
	}
	gatherers := prometheus.Gatherers{clusters}
	if process != nil {
		gatherers = prometheus.Gatherers{process, clusters}
	}
	promhttp.HandlerFor(gatherers, promhttp.HandlerOpts{
		ErrorLog:          slog.NewLogLogger(e.logger.Handler(), slog.LevelError),
		ErrorHandling:     promhttp.ContinueOnError,
		EnableOpenMetrics: true,
	}).ServeHTTP(w, r)
}

// scrapeTimeout is what Prometheus says it will wait, less the offset.
func scrapeTimeout(h http.Header) time.Duration {
	seconds, err := strconv.ParseFloat(h.Get("X-Prometheus-Scrape-Timeout-Seconds"), 64)
	if err != nil || !(seconds > 0) {
		return defaultScrapeTimeout
	}
	timeout := time.Duration(min(seconds, maxScrapeTimeout.Seconds()) * float64(time.Second))
	if timeout > 2*timeoutOffset {
		return timeout - timeoutOffset
	}
	return timeout / 2
}
