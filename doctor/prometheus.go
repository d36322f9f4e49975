package doctor

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

const (
	linkPrometheus = "prometheus"
	linkSeries     = "series"
	// maxSkew is how far two clocks may be apart: windows begin and end at ours,
	// samples bear the time of Prometheus.
	maxSkew = 5 * time.Second
	// staleAfter is how old the newest sample may be; scrapes are at most a minute
	// apart almost everywhere.
	staleAfter = 2 * time.Minute
)

// asker asks one Prometheus.
type asker interface {
	Instant(ctx context.Context, expr string, at time.Time) (source.Vector, error)
}

// prometheus asks the remote servers, and for the series of every cluster.
func (c *chain) prometheus(ctx context.Context) {
	if c.cfg.Prometheus == nil {
		c.skip(linkPrometheus, "", "it is inside the service; what the service says of it stands below")
		return
	}
	reached := false
	for _, address := range c.cfg.Prometheus.URLs {
		reached = c.server(ctx, address) || reached
	}
	if c.answers = reached; !reached {
		return
	}
	remote, err := source.NewRemote(c.cfg.RemoteOptions())
	if err != nil {
		c.bad(linkPrometheus, "", "mend the section prometheus", "%v", err)
		return
	}
	defer func() { _ = remote.Close() }()
	c.series(ctx, remote)
}

// server asks one replica by itself: while another answers, one that is away
// would not be noticed.
func (c *chain) server(ctx context.Context, address string) bool {
	o := c.cfg.RemoteOptions()
	o.URLs = []string{address}
	remote, err := source.NewRemote(o)
	if err != nil {
		c.bad(linkPrometheus, "", "mend prometheus.urls", "%v", err)
		return false
	}
	defer func() { _ = remote.Close() }()
	shown := shownURL(address)
	asked, cancel := c.within(ctx)
	defer cancel()
	v, err := remote.Instant(asked, "vector(1)", c.Now())
	switch {
	case err != nil:
		c.bad(linkPrometheus, shown, c.advice(err, "prometheus.urls", "prometheus.http_config", "try curl 'URL/api/v1/query?query=up' from this machine"), "%s", strings.TrimPrefix(oneLine(err), shown+": "))
		return false
	case len(v.Warnings) > 0:
		c.doubt(linkPrometheus, shown, "answers with warnings count as unknown", "it answers with warnings: %s", strings.Join(v.Warnings, "; "))
	default:
		c.ok(linkPrometheus, shown, "answers queries")
	}
	c.skew(asked, address, shown)
	return true
}

// skew compares the server's clock, which stands in every reply of HTTP, with
// ours.
func (c *chain) skew(ctx context.Context, address, shown string) {
	client, err := outgoing.New(outgoing.Options{Name: "doctor", Config: c.cfg.Prometheus.HTTPConfig})
	if err != nil {
		return // said by the query before
	}
	defer client.CloseIdleConnections()
	before := c.Now()
	reply, err := client.Get(ctx, strings.TrimRight(address, "/")+"/api/v1/status/buildinfo")
	if err != nil {
		return
	}
	defer func() { _ = reply.Body.Close() }()
	theirs, err := http.ParseTime(reply.Header.Get("Date"))
	if err != nil {
		return
	}
	// The header has whole seconds, and the reply took its time.
	ahead := theirs.Sub(before)
	if late := ahead - c.Now().Sub(before); ahead > -maxSkew && late < maxSkew {
		return
	}
	c.bad(linkPrometheus, shown, "run NTP on both machines: windows would be looked for where there is nothing yet",
		"its clock is %s %s", ahead.Abs().Round(time.Second), map[bool]string{true: "ahead of ours", false: "behind ours"}[ahead > 0])
}

// series looks for what the exporter says of every cluster and how old it is.
func (c *chain) series(ctx context.Context, q asker) {
	up, err := c.values(ctx, q, "max by (cluster) (seatunnel_zeta_up)")
	if err != nil {
		c.bad(linkSeries, "", "see the link before", "seatunnel_zeta_up: %s", oneLine(err))
		return
	}
	ages, err := c.values(ctx, q, "min by (cluster) (time() - timestamp(seatunnel_zeta_up))")
	if err != nil {
		c.bad(linkSeries, "", "see the link before", "age of seatunnel_zeta_up: %s", oneLine(err))
		return
	}
	for _, name := range c.expected(up) {
		c.one(name, up, ages)
	}
}

// expected are the clusters that should have series: those that are configured,
// those that listed scopes name, or else whatever is there.
func (c *chain) expected(up map[string]float64) []string {
	var names []string
	for i := range c.cfg.Clusters {
		names = append(names, c.cfg.Clusters[i].Name)
	}
	for i := range c.cfg.Scopes {
		if name := c.cfg.Scopes[i].Match["cluster"]; name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		for name := range up {
			names = append(names, name)
		}
		if len(names) == 0 {
			c.bad(linkSeries, "", scrapeHint, "Prometheus has no series seatunnel_zeta_up at all")
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

const scrapeHint = "is zeta-scaler exporter running, and is it a target of this Prometheus (its page Status → Targets)? docs/exporter.md has the scrape job"

// one says what is there of one cluster.
func (c *chain) one(name string, up, ages map[string]float64) {
	value, there := up[name]
	_, unnamed := up[""]
	age := time.Duration(ages[name] * float64(time.Second))
	switch {
	case unnamed && (!there || name == "") && c.byCluster():
		c.bad(linkSeries, name, "is a relabelling of the scrape job dropping it? docs/exporter.md has the scrape job", "seatunnel_zeta_up has no label cluster, so it belongs to no scope")
	case !there && len(up) == 0:
		c.bad(linkSeries, name, scrapeHint, "Prometheus has no series seatunnel_zeta_up at all")
	case !there:
		c.bad(linkSeries, name, "spell the cluster as the exporter's clusters[].name does, or add it there",
			"no series seatunnel_zeta_up{cluster=%s}; there are clusters %s", strconv.Quote(name), quoted(up))
	case value != 1:
		c.bad(linkSeries, name, "the exporter runs and does not reach Zeta: open the exporter's own page, it says why", "seatunnel_zeta_up is %g", value)
	case age > staleAfter:
		c.bad(linkSeries, name, "is the scrape failing now? see Status → Targets of Prometheus", "the newest sample is %s old", age.Round(time.Second))
	case age < -maxSkew:
		c.bad(linkSeries, name, "run NTP on both machines", "the newest sample is %s in the future", (-age).Round(time.Second))
	default:
		c.ok(linkSeries, name, "seatunnel_zeta_up is 1, newest sample %s ago", max(age, 0).Round(time.Second))
	}
}

// byCluster reports whether a rule set tells scopes apart by cluster.
func (c *chain) byCluster() bool {
	return slices.ContainsFunc(c.cfg.Rules, func(rs *rules.RuleSet) bool { return slices.Contains(rs.ScopeBy, "cluster") })
}

func quoted(up map[string]float64) string {
	var names []string
	for name := range up {
		names = append(names, strconv.Quote(name))
	}
	if len(names) == 0 {
		return "none"
	}
	slices.Sort(names)
	if more := len(names) - 10; more > 0 {
		names = append(names[:10], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// values asks for one value per cluster.
func (c *chain) values(ctx context.Context, q asker, expr string) (map[string]float64, error) {
	ctx, cancel := c.within(ctx)
	defer cancel()
	v, err := q.Instant(ctx, expr, c.Now())
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for i := range v.Samples {
		out[v.Samples[i].Labels.Get("cluster")] = v.Samples[i].Value
	}
	return out, nil
}

// scopeOf is the scope of a sample, false if it lacks a label.
func scopeOf(s *source.Sample, by []string) (scaling.Scope, bool) {
	var labels []scaling.Label
	for _, name := range by {
		value := s.Labels.Get(name)
		if value == "" {
			return scaling.Scope{}, false
		}
		labels = append(labels, scaling.Label{Name: name, Value: value})
	}
	return scaling.NewScope(labels), true
}

// shownURL is an address without what could be secret.
func shownURL(address string) string {
	u, err := outgoing.ParseURL(address)
	if err != nil {
		return "(an address that cannot be read)"
	}
	return outgoing.Shown(u)
}
