package zeta

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

// Endpoint names a part of the REST API, as the label endpoint of
// scrape_errors_total shows it.
type Endpoint string

// The endpoints that are asked.
const (
	EndpointOverview        Endpoint = "overview"
	EndpointMonitoring      Endpoint = "system-monitoring-information"
	EndpointPendingJobs     Endpoint = "pending-jobs"
	EndpointResourceWorkers Endpoint = "resource-workers"
	EndpointFinishedJobs    Endpoint = "finished-jobs"
)

// Endpoints lists all endpoints.
func Endpoints() []Endpoint {
	return []Endpoint{EndpointOverview, EndpointMonitoring, EndpointPendingJobs, EndpointResourceWorkers, EndpointFinishedJobs}
}

// path is the endpoint's path below the API's prefix.
func (e Endpoint) path() string {
	switch e {
	case EndpointResourceWorkers:
		return "/resource/workers"
	case EndpointFinishedJobs:
		return "/finished-jobs/FAILED"
	}
	return "/" + string(e)
}

// ErrUnsupported is the answer of a Zeta version that does not have the
// endpoint. It is no failure.
var ErrUnsupported = errors.New("this version of Zeta has no such endpoint")

// dialect is the flavour of REST API that a node serves.
type dialect int

const (
	unknownDialect dialect = iota
	restV2                 // Jetty, http://host:8080[/context]
	restV1                 // Hazelcast, http://host:5801/hazelcast/rest/maps
)

const v1Prefix = "/hazelcast/rest/maps"

func (d dialect) prefix() string {
	if d == restV1 {
		return v1Prefix
	}
	return ""
}

// node is one base URL and what it turned out to speak.
type node struct {
	base  string
	fixed dialect // given by the URL itself

	mu      sync.Mutex
	dialect dialect
}

func newNode(raw string) *node {
	n := &node{base: strings.TrimRight(raw, "/")}
	if i := strings.Index(n.base, "/hazelcast/rest"); i >= 0 {
		n.base, n.fixed, n.dialect = n.base[:i], restV1, restV1
	}
	return n
}

func (n *node) speaks() dialect {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dialect
}

func (n *node) learn(d dialect) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fixed == unknownDialect {
		n.dialect = d
	}
}

func (n *node) url(d dialect, e Endpoint) string { return n.base + d.prefix() + e.path() }

// ClientOptions are what a [Client] is made of.
type ClientOptions struct {
	// Cluster says whom to ask and how. It must be valid.
	Cluster ClusterConfig
	// Transport replaces network and credentials, for tests and simulations.
	// nil: the transport of Cluster.HTTPClientConfig.
	Transport http.RoundTripper
	// Long is shared with other clients, so that all their long replies together
	// take the memory of one; nil: there is no such bound.
	Long outgoing.LongReplies
}

// Client asks one Zeta cluster. Any node answers for the whole cluster; the
// first that does is kept until it fails. At most one request per endpoint is
// in flight. All methods may be called at once; of two calls for the same
// endpoint one gets [ErrInFlight].
type Client struct {
	http *asker
	// streams is for replies that are read value by value: their length takes no
	// memory.
	streams *asker
	// stranger has no credentials: for Hazelcast's own API of a node that is asked
	// by REST v2, a server that nobody has configured.
	stranger *asker
	limits   flightLimits
	places   chan struct{}
	life     context.Context //nolint:containedctx // ends all requests on Close
	end      context.CancelFunc
	running  tasks
	nodes    []*node

	mu      sync.Mutex
	pinned  int
	version Version // of the latest /overview
	// jobBytes is how long a job was in the last reply of /pending-jobs that had one.
	jobBytes int64

	overview   flight[reply[Overview]]
	monitoring flight[reply[[]Member]]
	pending    flight[reply[PendingJobs]]
	resources  flight[reply[ResourceWorkers]]
	failed     flight[reply[FailedJobs]]
	ended      flight[reply[EndedJobs]]
}

// NewClient makes a client. It asks nothing yet.
func NewClient(opts ClientOptions) (*Client, error) {
	cfg := opts.Cluster.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("making the client of cluster %q: %w", cfg.Name, err)
	}
	// Zeta redirects nowhere; what does is a proxy, or somebody who wants our reach
	// into the network.
	o := outgoing.Options{
		Name: "zeta", Config: cfg.HTTPClientConfig, Transport: opts.Transport, MaxReply: cfg.MaxResponse,
		Redirects: outgoing.Redirects{Within: cfg.within},
		Key:       "clusters: urls", HTTPKey: "clusters: http_config",
	}
	client, err := outgoing.New(o)
	if err != nil {
		return nil, fmt.Errorf("making the client of cluster %q: %w", cfg.Name, err)
	}
	o.MaxReply *= streamFactor
	streams, err := outgoing.New(o)
	if err != nil {
		return nil, fmt.Errorf("making the client of cluster %q: %w", cfg.Name, err)
	}
	o.Config, o.MaxReply = outgoing.WithoutCredentials(cfg.HTTPClientConfig), cfg.MaxResponse
	stranger, err := outgoing.New(o)
	if err != nil {
		return nil, fmt.Errorf("making the client of cluster %q: %w", cfg.Name, err)
	}
	life, end := context.WithCancel(context.Background())
	c := &Client{
		http: &asker{client, opts.Long}, streams: &asker{streams, nil}, stranger: &asker{stranger, opts.Long}, life: life, end: end,
		limits: flightLimits{wait: cfg.EndpointTimeout, hang: hangLimit}, places: make(chan struct{}, maxAsked),
	}
	for _, u := range cfg.URLs {
		c.nodes = append(c.nodes, newNode(u))
	}
	return c, nil
}

// Close ends what is in flight and waits for it.
func (c *Client) Close() {
	c.end()
	c.running.close()
	c.http.CloseIdleConnections()
	c.streams.CloseIdleConnections()
	c.stranger.CloseIdleConnections()
}

// Overview asks the pinned node, then the others, until one answers. The error
// has a line per node that was asked.
func (c *Client) Overview(ctx context.Context) (Overview, error) {
	c.mu.Lock()
	first := c.pinned
	c.mu.Unlock()
	var problems []error
	for i := range c.nodes {
		at := (first + i) % len(c.nodes)
		n := c.nodes[at]
		r, err := c.overview.ask(ctx, c.life, &c.running, n, c.overviewLimits(), c.overviewOf)
		if err == nil {
			c.mu.Lock()
			c.pinned, c.version = at, r.value.Version()
			c.mu.Unlock()
			return r.value, nil
		}
		problems = append(problems, fmt.Errorf("asking %s: %w", redacted(n.base), err))
		if ctx.Err() != nil {
			// No time for the rest: the next scrape begins with them.
			c.mu.Lock()
			c.pinned = (at + 1) % len(c.nodes)
			c.mu.Unlock()
			break
		}
	}
	return Overview{}, errors.Join(problems...)
}

// overviewLimits let a lost reply of /overview go early: without it nothing is
// known of the cluster.
func (c *Client) overviewLimits() flightLimits {
	return flightLimits{wait: c.limits.wait, hang: max(overviewHangLimit, 2*c.limits.wait)}
}

// overviewOf asks one node in the dialect that it spoke last, else in REST v2,
// and in the other one if the answer looks as if it did not understand. Both
// are one flight: the second request follows the first. A dialect once learnt
// stays until the other one is answered, so that a single odd reply of
// /overview does not keep the other endpoints from being asked.
func (c *Client) overviewOf(ctx context.Context, n *node) (reply[Overview], error) {
	get := func(d dialect) (reply[Overview], error) {
		r, err := fetch(ctx, c.http, n.url(d, EndpointOverview), DecodeOverview)
		if err == nil {
			n.learn(d)
		}
		return r, err
	}
	first, second := restV2, restV1
	if n.speaks() == restV1 {
		first, second = restV1, restV2
	}
	r1, err1 := get(first)
	if err1 == nil || n.fixed != unknownDialect || !wrongDialect(err1) {
		return r1, err1
	}
	r2, err2 := get(second)
	if err2 != nil && wrongDialect(err2) {
		return r1, err1
	}
	return r2, err2
}

// wrongDialect reports whether a failure is what a node says to the other
// API's path: not found, a page, or a connection closed without a word (that
// is Hazelcast's way). A time-out, 401 or 500 says nothing about it.
func wrongDialect(err error) bool {
	if e, ok := errors.AsType[*StatusError](err); ok {
		return e.Code < 500 && e.Code != http.StatusUnauthorized && e.Code != http.StatusForbidden
	}
	if _, ok := errors.AsType[*notJSON](err); ok {
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || isReset(err)
}

// pin returns the node that answered last, what it speaks and the version that
// it named. ok is false while no node ever answered.
func (c *Client) pin() (n *node, d dialect, v Version, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n = c.nodes[c.pinned]
	d = n.speaks()
	return n, d, c.version, d != unknownDialect
}

// address is the node that is asked, without secrets.
func (c *Client) address() string {
	n, _, _, _ := c.pin()
	return redacted(n.base)
}

// Members asks for /system-monitoring-information.
func (c *Client) Members(ctx context.Context) ([]Member, error) {
	r, err := ask(ctx, c, &c.monitoring, EndpointMonitoring, mustExist, whole(c.http, DecodeMembers))
	return r.value, err
}

// PendingJobs asks for /pending-jobs: the head, and the others as far as they are
// not too long. The second result is when the
// reply was sent, in Unix milliseconds of the node that answered; 0 when it did
// not say.
func (c *Client) PendingJobs(ctx context.Context) (PendingJobs, int64, error) {
	_, d, v, _ := c.pin()
	s := v.pendingJobs(d)
	r, err := ask(ctx, c, &c.pending, EndpointPendingJobs, s, func(ctx context.Context, url string) (reply[PendingJobs], error) {
		r, err := fetch(ctx, c.streams, url+"?limit="+strconv.Itoa(c.queueLimit()), DecodePendingJobs)
		if e, ok := errors.AsType[*StatusError](err); unknownPath(err, d) || ok && e.Code == http.StatusBadRequest {
			// Something on the way, or a version of its own kind, takes no limit.
			r, err = fetch(ctx, c.streams, url, DecodePendingJobs)
		}
		return r, err
	})
	if r.value.jobBytes > 0 {
		c.mu.Lock()
		c.jobBytes = r.value.jobBytes
		c.mu.Unlock()
	}
	return r.value, r.sent, err
}

func (c *Client) queueLimit() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return jobsToAskFor(c.jobBytes)
}

// ResourceWorkers asks for /resource/workers. The second result is as that of
// PendingJobs.
func (c *Client) ResourceWorkers(ctx context.Context) (ResourceWorkers, int64, error) {
	_, d, v, _ := c.pin()
	r, err := ask(ctx, c, &c.resources, EndpointResourceWorkers, v.resourceWorkers(d), whole(c.http, DecodeResourceWorkers))
	return r.value, r.sent, err
}

// FailedJobs asks for /finished-jobs/FAILED. The reply can be large.
func (c *Client) FailedJobs(ctx context.Context) (FailedJobs, error) {
	r, err := ask(ctx, c, &c.failed, EndpointFinishedJobs, mustExist, whole(c.streams, DecodeFailedJobs))
	return r.value, err
}

// ask asks the pinned node; there is no failover here, because Overview has
// just found a node that answers.
func ask[T any](ctx context.Context, c *Client, f *flight[reply[T]], e Endpoint, s support,
	get func(ctx context.Context, url string) (reply[T], error),
) (reply[T], error) {
	var none reply[T]
	n, d, _, ok := c.pin()
	if !ok {
		return none, errors.New("no node has answered /overview yet")
	}
	if s == neverExists {
		return none, ErrUnsupported
	}
	r, err := f.ask(ctx, c.life, &c.running, n, c.limits, func(ctx context.Context, n *node) (reply[T], error) {
		return get(ctx, n.url(d, e))
	})
	if s == mayExist && unknownPath(err, d) {
		return none, ErrUnsupported
	}
	return r, err
}

// whole asks for a URL as it is.
func whole[T any](client *asker, decode func(io.Reader) (T, error)) func(context.Context, string) (reply[T], error) {
	return func(ctx context.Context, url string) (reply[T], error) { return fetch(ctx, client, url, decode) }
}

// unknownPath reports whether the node says that it has no such path. REST v1
// says 400, or 204 where it takes the path for a key of a map.
func unknownPath(err error, d dialect) bool {
	e, ok := errors.AsType[*StatusError](err)
	if !ok {
		return false
	}
	return e.Code == http.StatusNotFound || d == restV1 && (e.Code == http.StatusBadRequest || e.Code == http.StatusNoContent)
}

// redacted is a URL without its password, for messages.
func redacted(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "unreadable URL"
	}
	return u.Redacted()
}

// idleAfter is how long a cluster's memory is kept without a scrape.
const idleAfter = time.Hour
