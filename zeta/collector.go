package zeta

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/trouble"
	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

// defaultScrapeTimeout is that of Prometheus less half a second.
const defaultScrapeTimeout = 9500 * time.Millisecond

// CollectorOptions are what a [Collector] is made of.
type CollectorOptions struct {
	// Cluster names the cluster and says how it is asked.
	Cluster ClusterConfig
	// Transport replaces network and credentials: tests and simulations answer
	// from memory. A reply's Date header counts as the cluster's time, so a
	// simulation sets it to its own time or leaves it out.
	Transport http.RoundTripper
	// Timeout is the longest a scrape takes; 0 means 9.5s.
	Timeout time.Duration
	// Logger gets one line per change of state of an endpoint; nil: none.
	Logger *slog.Logger
	// Clock tells the time that samples are aged by; nil: time.Now. It does not
	// drive time-outs, which are real.
	Clock func() time.Time
	// Long is as in ClientOptions.
	Long outgoing.LongReplies
}

// Collector makes the seatunnel_zeta_* metrics of one cluster. It asks the
// cluster anew at each collection and keeps nothing from one to the next but
// its counters and the ids of failed jobs. It registers nothing by itself.
type Collector struct {
	cluster string
	client  *Client
	timeout time.Duration
	logger  *slog.Logger
	clock   func() time.Time
	descs   descs
	work    tasks
	contact *contact.Log

	mu         sync.Mutex
	running    *scrape
	rejections rejections
	failures   map[Endpoint]float64
	// silent is of each endpoint's answers.
	silent map[Endpoint]*trouble.State
}

// NewCollector makes a collector. Close it when it is no longer needed.
func NewCollector(opts CollectorOptions) (*Collector, error) {
	if opts.Timeout < 0 {
		return nil, fmt.Errorf("making a collector: timeout %s is negative", opts.Timeout)
	}
	client, err := NewClient(ClientOptions{Cluster: opts.Cluster, Transport: opts.Transport, Long: opts.Long})
	if err != nil {
		return nil, err
	}
	c := &Collector{
		contact: contact.New(opts.Cluster.Name, client.address(), opts.Clock),
		cluster: opts.Cluster.Name, client: client, timeout: opts.Timeout,
		logger: opts.Logger, clock: opts.Clock, descs: newDescs(opts.Cluster.Name),
		failures: map[Endpoint]float64{}, silent: map[Endpoint]*trouble.State{},
	}
	if c.timeout == 0 {
		c.timeout = defaultScrapeTimeout
	}
	if c.logger == nil {
		c.logger = slog.New(slog.DiscardHandler)
	}
	if c.clock == nil {
		c.clock = time.Now
	}
	for _, e := range Endpoints() {
		c.failures[e] = 0
		c.silent[e] = trouble.New(c.logger, slog.LevelWarn, "endpoint does not answer, its metrics are absent", "endpoint answers again")
	}
	return c, nil
}

// Contact is how the cluster answers: it is up if /overview was answered in the
// latest collection.
func (c *Collector) Contact() contact.Status { return c.contact.Status() }

// Close ends all requests and waits for them. Later collections find nothing.
func (c *Collector) Close() {
	c.client.Close()
	c.work.close()
}

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(ch chan<- *prometheus.Desc) { c.descs.describe(ch) }

// Collect implements [prometheus.Collector]; it asks the cluster.
func (c *Collector) Collect(ch chan<- prometheus.Metric) { c.collect(context.Background(), ch) }

// WithContext is the collector with a deadline: what has not come back when ctx
// ends is absent.
func (c *Collector) WithContext(ctx context.Context) prometheus.Collector {
	return boundCollector{c, ctx}
}

type boundCollector struct {
	*Collector
	ctx context.Context //nolint:containedctx // Collect has no parameter for it
}

func (b boundCollector) Collect(ch chan<- prometheus.Metric) { b.collect(b.ctx, ch) }

func (c *Collector) collect(ctx context.Context, ch chan<- prometheus.Metric) {
	c.descs.emit(ch, c.Snapshot(ctx))
}
