package zeta

import (
	"container/list"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

// prober keeps one collector per target and cluster name, so that counters and
// the ids of failed jobs survive from probe to probe. The number is bounded:
// the target is chosen by whoever calls /probe.
type prober struct {
	config    ProbeConfig
	allowed   targets
	most      int
	transport http.RoundTripper
	logger    *slog.Logger
	clock     func() time.Time
	long      outgoing.LongReplies

	mu     sync.Mutex
	byKey  map[probeKey]*list.Element
	recent *list.List // of *probed, the latest first
	closed bool
}

type probeKey struct{ target, cluster string }

type probed struct {
	key       probeKey
	collector *Collector
	users     int
	last      time.Time
}

func newProber(opts ExporterOptions, long outgoing.LongReplies) (*prober, error) {
	allowed, err := newTargets(opts.Probe.AllowedTargets)
	if err != nil {
		return nil, err
	}
	return &prober{
		config: opts.Probe, allowed: allowed, most: opts.MaxProbeTargets,
		transport: opts.Transport, logger: opts.Logger, clock: opts.Clock, long: long,
		byKey: map[probeKey]*list.Element{}, recent: list.New(),
	}, nil
}

// probeError is a problem of the request, told to its sender.
type probeError struct {
	status int
	text   string
}

func (e *probeError) Error() string { return e.text }

// request reads the parameters of /probe.
func (p *prober) request(query url.Values) (probeKey, error) {
	raw := query["target"]
	if len(raw) != 1 || raw[0] == "" {
		return probeKey{}, &probeError{http.StatusBadRequest, "parameter target is needed once: /probe?target=http://host:8080"}
	}
	target, err := parseTarget(raw[0])
	if err != nil {
		return probeKey{}, &probeError{http.StatusBadRequest, "parameter target: " + err.Error()}
	}
	if !p.allowed.admit(target) {
		return probeKey{}, &probeError{http.StatusForbidden, "parameter target: not in probe.allowed_targets"}
	}
	cluster := target.Host
	if names, given := query["cluster"]; given {
		if len(names) != 1 {
			return probeKey{}, &probeError{http.StatusBadRequest, "parameter cluster is there more than once"}
		}
		cluster = names[0]
	}
	if err := validName(cluster); err != nil {
		return probeKey{}, &probeError{http.StatusBadRequest, "parameter cluster: " + err.Error()}
	}
	return probeKey{target.String(), cluster}, nil
}

// use returns the collector of a target until release is called.
func (p *prober) use(key probeKey) (c *Collector, release func(), err error) {
	p.mu.Lock()
	now := p.clock()
	old := p.forgetIdle(now)
	el, known := p.byKey[key]
	if !known {
		evicted, err := p.makeRoom()
		old = append(old, evicted...)
		if err == nil {
			el, err = p.add(key)
		}
		if err != nil {
			p.mu.Unlock()
			closeAll(old)
			return nil, nil, err
		}
	}
	entry := el.Value.(*probed)
	entry.users++
	entry.last = now
	p.recent.MoveToFront(el)
	p.mu.Unlock()
	closeAll(old)
	return entry.collector, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		entry.users--
		entry.last = p.clock()
	}, nil
}

// add makes the collector of a new target. Credentials go only to targets that
// somebody has listed: else /probe would hand them to any address it is given.
func (p *prober) add(key probeKey) (*list.Element, error) {
	if p.closed {
		return nil, &probeError{http.StatusServiceUnavailable, "the exporter is stopping"}
	}
	cfg := ClusterConfig{Name: key.cluster, URLs: []string{key.target}}
	if len(p.allowed) > 0 {
		cfg.HTTPClientConfig = p.config.HTTPClientConfig
	} else {
		cfg.HTTPClientConfig = outgoing.WithoutCredentials(p.config.HTTPClientConfig)
	}
	c, err := NewCollector(CollectorOptions{Cluster: cfg, Transport: p.transport, Logger: p.logger, Clock: p.clock, Long: p.long})
	if err != nil {
		return nil, fmt.Errorf("probing: %w", err)
	}
	el := p.recent.PushFront(&probed{key: key, collector: c})
	p.byKey[key] = el
	return el, nil
}

// forgetIdle drops what nobody has probed for an hour.
func (p *prober) forgetIdle(now time.Time) (old []*Collector) {
	for el := p.recent.Back(); el != nil; {
		entry, before := el.Value.(*probed), el.Prev()
		if now.Sub(entry.last) <= idleAfter {
			break
		}
		if entry.users == 0 {
			old = append(old, p.remove(el))
		}
		el = before
	}
	return old
}

// makeRoom drops the target that was probed longest ago when the bound is met.
func (p *prober) makeRoom() (old []*Collector, err error) {
	for el := p.recent.Back(); el != nil && p.recent.Len() >= p.most; {
		before := el.Prev()
		if el.Value.(*probed).users == 0 {
			old = append(old, p.remove(el))
		}
		el = before
	}
	if p.recent.Len() >= p.most {
		return old, &probeError{http.StatusServiceUnavailable, "too many targets are being probed"}
	}
	return old, nil
}

func (p *prober) remove(el *list.Element) *Collector {
	entry := p.recent.Remove(el).(*probed)
	delete(p.byKey, entry.key)
	return entry.collector
}

func (p *prober) close() {
	p.mu.Lock()
	p.closed = true
	var all []*Collector
	for el := p.recent.Front(); el != nil; el = p.recent.Front() {
		all = append(all, p.remove(el))
	}
	p.mu.Unlock()
	closeAll(all)
}

func closeAll(collectors []*Collector) {
	for _, c := range collectors {
		c.Close()
	}
}
