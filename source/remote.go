package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/api"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/config"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

// Defaults of RemoteOptions.
const (
	DefaultTimeout     = 10 * time.Second
	DefaultMaxResponse = 64 << 20
	// DefaultMaxPoints is the round number below what a Prometheus server allows
	// per series and range query.
	DefaultMaxPoints = 11_000
)

// RemoteOptions say where and how to ask.
type RemoteOptions struct {
	// URLs are the addresses of one logical Prometheus, in order of preference,
	// each with the path in front of /api/v1 if there is one.
	URLs []string
	// Timeout bounds one request, tries at other replicas included; 0 is
	// DefaultTimeout. It is sent along, so that the server gives up too.
	Timeout time.Duration
	// MaxResponse bounds one reply in bytes, after decompression; 0 is
	// DefaultMaxResponse. Replies of more than 4 MiB are read one at a time, so
	// that this, and not a multiple of it, is what a wrong server takes up.
	MaxResponse int64
	// MaxPoints is how many points of a series are asked for at once; longer
	// ranges take several requests. 0 is DefaultMaxPoints.
	MaxPoints int
	// LookbackDelta overrides how old the newest sample of a series may be; 0
	// leaves it to the server.
	LookbackDelta time.Duration
	// Method is GET or POST; empty tries POST, because expressions can be longer
	// than a URL, and remembers for each address that only GET gets through.
	Method string
	// Headers and QueryParams go with every request. Replies come packed with gzip
	// but from this machine; a header Accept-Encoding says otherwise.
	Headers     map[string]string
	QueryParams url.Values
	// HTTPClientConfig holds authentication and TLS; nil is
	// config.DefaultHTTPClientConfig. Note that its zero value does not follow
	// redirects.
	HTTPClientConfig *config.HTTPClientConfig
	UserAgent        string
	Logger           *slog.Logger
	Registerer       prometheus.Registerer
}

// Remote asks a Prometheus-compatible HTTP API. It is safe for concurrent use.
type Remote struct {
	opts     RemoteOptions
	client   *outgoing.Client
	replicas *replicas
	metrics  *queryMetrics
	long     outgoing.LongReplies
}

// NewRemote checks the options and the files that they name. It does not ask
// the server anything.
func NewRemote(opts RemoteOptions) (*Remote, error) {
	opts.Timeout = cmp.Or(opts.Timeout, DefaultTimeout)
	opts.MaxResponse = cmp.Or(opts.MaxResponse, DefaultMaxResponse)
	opts.MaxPoints = cmp.Or(opts.MaxPoints, DefaultMaxPoints)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.HTTPClientConfig == nil {
		opts.HTTPClientConfig = &config.DefaultHTTPClientConfig
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	client, err := newHTTPClient(opts)
	if err != nil {
		return nil, fmt.Errorf("prometheus http client: %w", err)
	}
	all, err := newReplicaList(opts.URLs)
	if err != nil {
		return nil, err
	}
	m, err := newQueryMetrics(opts.Registerer)
	if err != nil {
		return nil, fmt.Errorf("registering query metrics: %w", err)
	}
	rm, err := newReplicaMetrics(opts.Registerer)
	if err != nil {
		return nil, fmt.Errorf("registering replica metrics: %w", err)
	}
	return &Remote{
		opts: opts, client: client, metrics: m, replicas: newReplicas(all, opts.Logger, rm), long: outgoing.NewLongReplies(),
	}, nil
}

func (o *RemoteOptions) check() error {
	var errs []error
	if len(o.URLs) == 0 {
		errs = append(errs, errors.New("no prometheus url is given"))
	}
	if o.Timeout < 0 || o.MaxResponse < 0 || o.MaxPoints < 0 || o.LookbackDelta < 0 {
		errs = append(errs, errors.New("timeout, max response, max points and lookback delta must not be negative"))
	}
	if err := o.HTTPClientConfig.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("prometheus http_config: %w", err))
	}
	if !slices.Contains([]string{"", http.MethodGet, http.MethodPost}, o.Method) {
		errs = append(errs, fmt.Errorf("prometheus http method %q: expected GET or POST", o.Method))
	}
	for _, reserved := range []string{"query", "time", "start", "end", "step", "timeout", "lookback_delta"} {
		if o.QueryParams.Has(reserved) {
			errs = append(errs, fmt.Errorf("prometheus query parameter %q is set by the query itself", reserved))
		}
	}
	return errors.Join(errs...)
}

func newReplicaList(urls []string) ([]*replica, error) {
	var (
		all  []*replica
		errs []error
	)
	for i, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil {
			// The parser's error repeats the URL with its password.
			errs = append(errs, fmt.Errorf("prometheus url %d cannot be read", i+1))
			continue
		}
		name := outgoing.Shown(u)
		switch {
		case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
			errs = append(errs, fmt.Errorf("prometheus url %q: expected http://host:port or https://host:port", name))
			continue
		case slices.ContainsFunc(all, func(r *replica) bool { return r.name == name }):
			errs = append(errs, fmt.Errorf("prometheus url %q is given twice", name))
			continue
		}
		c, err := api.NewClient(api.Config{Address: raw})
		if err != nil {
			errs = append(errs, fmt.Errorf("prometheus url %q: %w", name, err))
			continue
		}
		all = append(all, &replica{client: c, name: name, encoding: encodingFor(u.Hostname())})
	}
	return all, errors.Join(errs...)
}

// encodingFor is how a server is asked to pack its replies. On this machine
// packing costs more than it saves: half of what a Prometheus does for a long
// range query, and a third of what reading it takes.
func encodingFor(host string) string {
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return "identity"
	}
	return "gzip"
}

// Close drops idle connections. Queries that still run may end.
func (r *Remote) Close() error {
	r.client.CloseIdleConnections()
	return nil
}

// Pinned is the address that queries go to, without credentials.
func (r *Remote) Pinned() string { return r.replicas.all[r.replicas.pin.Load()].name }

// Contacts say of each address how it answers.
func (r *Remote) Contacts() []contact.Status {
	out := make([]contact.Status, len(r.replicas.all))
	for i, a := range r.replicas.all {
		out[i] = a.contact.Status()
		out[i].InUse = int64(i) == r.replicas.pin.Load()
	}
	return out
}

// Instant evaluates expr at one instant, in milliseconds.
func (r *Remote) Instant(ctx context.Context, expr string, at time.Time) (v Vector, err error) {
	defer func(start time.Time) { r.metrics.observe(kindInstant, start, err) }(time.Now())
	e, err := r.query(ctx, "/api/v1/query", url.Values{"query": {expr}, "time": {seconds(at.UnixMilli())}})
	if err != nil {
		return Vector{}, err
	}
	if e.resultType != "vector" && e.resultType != "scalar" {
		return Vector{}, notSamples("a " + e.resultType)
	}
	return Vector{Samples: e.samples, Warnings: e.doubts(), Infos: e.infos}, nil
}

// Range evaluates expr at every step of w, in several requests if w is long.
func (r *Remote) Range(ctx context.Context, expr string, w Window) (m Matrix, err error) {
	defer func(start time.Time) { r.metrics.observe(kindRange, start, err) }(time.Now())
	if err := w.check(); err != nil {
		return Matrix{}, err
	}
	var parts []envelope
	for _, c := range w.chunks(r.opts.MaxPoints) {
		e, err := r.query(ctx, "/api/v1/query_range", url.Values{
			"query": {expr}, "start": {seconds(c.Start.UnixMilli())}, "end": {seconds(c.End.UnixMilli())},
			"step": {seconds(w.Step.Milliseconds())},
		})
		if err != nil {
			return Matrix{}, err
		}
		if e.resultType != "matrix" {
			return Matrix{}, noAnswerf(reasonBadResponse, "range query answered with a %s, expected a matrix", e.resultType)
		}
		if err := c.checkPoints(e.series); err != nil {
			return Matrix{}, err
		}
		parts = append(parts, e)
	}
	return merged(parts), nil
}

// chunks cuts a window into windows of at most points steps that together have
// exactly its steps.
func (w Window) chunks(points int) []Window {
	var all []Window
	for start := w.Start; !start.After(w.End); {
		c := Window{Start: start, End: start.Add(time.Duration(points-1) * w.Step), Step: w.Step}
		if c.End.After(w.End) {
			c.End = w.End
		}
		all = append(all, c)
		start = c.End.Add(w.Step)
	}
	return all
}

// checkPoints refuses an answer for other instants than those that were asked
// for. Caches in front of a server move ranges to multiples of the step: what
// they say would be taken for ticks without samples.
func (w Window) checkPoints(series []Series) error {
	start, step := w.Start.UnixMilli(), w.Step.Milliseconds()
	for i := range series {
		for _, p := range series[i].Points {
			if (p.T-start)%step != 0 {
				return noAnswerf(reasonBadResponse, "range query answered for %s, asked for every %s from %s: "+
					"something on the way aligns ranges to the step, switch that off", instant(p.T), w.Step, instant(start))
			}
		}
	}
	return nil
}

// merged joins the chunks of one range, which follow each other in time.
func merged(parts []envelope) Matrix {
	if len(parts) == 1 {
		return Matrix{Series: parts[0].series, Warnings: parts[0].doubts(), Infos: parts[0].infos}
	}
	var m Matrix
	index := newLabelsSet(0)
	for _, p := range parts {
		for _, s := range p.series {
			if i := index.find(s.Labels); i >= 0 {
				m.Series[i].Points = append(m.Series[i].Points, s.Points...)
				continue
			}
			index.add(s.Labels)
			m.Series = append(m.Series, s)
		}
		m.Warnings = append(m.Warnings, p.doubts()...)
		m.Infos = append(m.Infos, p.infos...)
	}
	m.Warnings, m.Infos = slices.Compact(orderedStrings(m.Warnings)), slices.Compact(orderedStrings(m.Infos))
	slices.SortFunc(m.Series, func(a, b Series) int { return labels.Compare(a.Labels, b.Labels) })
	return m
}

// seconds prints milliseconds as the API reads times and durations.
func seconds(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64) }
