package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/source"
)

const (
	// watchEvery is how often Prometheus is asked which clusters answer.
	watchEvery = 30 * time.Second
	// maxWatched bounds the clusters that are shown beside those of the
	// configuration.
	maxWatched = 1000
	// clustersUp is 1 for each cluster that answers any exporter.
	clustersUp = "max by (cluster) (seatunnel_zeta_up)"
	// clusterVersions is one series for each cluster and version.
	clusterVersions = "max by (cluster, version) (seatunnel_zeta_info)"
)

var (
	errClusterSilent = errors.New("the exporter gets no answer from it: seatunnel_zeta_up is 0")
	errNoExporter    = errors.New("there is no seatunnel_zeta_up of it in Prometheus: is its exporter running, and scraped?")
)

// clusterNames are those of the configuration.
func (s *service) clusterNames() []string {
	var out []string
	for _, c := range s.running.Load().Clusters {
		out = append(out, c.Name)
	}
	return out
}

// clusterWatch knows from Prometheus which clusters answer their exporter. It
// is for those who do not collect them by themselves.
type clusterWatch struct {
	mu     sync.Mutex
	byName map[string]*contact.Log
}

func newClusterWatch() *clusterWatch { return &clusterWatch{byName: map[string]*contact.Log{}} }

// run asks until ctx ends; configured are the names of the configuration.
func (w *clusterWatch) run(ctx context.Context, s evaluator.Source, configured func() []string) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		w.ask(ctx, s, configured())
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// ask takes over what Prometheus says now. While it says nothing, nothing is
// known about the clusters either.
func (w *clusterWatch) ask(ctx context.Context, s evaluator.Source, configured []string) {
	ctx, cancel := context.WithTimeout(ctx, watchEvery/2)
	defer cancel()
	now := time.Now()
	up, err := s.Instant(ctx, clustersUp, now)
	if err != nil {
		w.keep(configured, nil, false)
		return
	}
	w.keep(configured, up.Samples, true)
	versions, err := s.Instant(ctx, clusterVersions, now)
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range versions.Samples {
		if l := w.byName[v.Labels.Get("cluster")]; l != nil {
			l.Tell("", v.Labels.Get("version"))
		}
	}
}

// keep notes the clusters that an answer names, and those that it should.
func (w *clusterWatch) keep(configured []string, up []source.Sample, answered bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := map[string]bool{}
	for _, v := range up {
		name := v.Labels.Get("cluster")
		if name == "" || len(seen) >= maxWatched {
			continue
		}
		seen[name] = true
		if v.Value > 0 {
			w.log(name).Note(nil)
		} else {
			w.log(name).Note(errClusterSilent)
		}
	}
	for _, name := range configured {
		if l := w.log(name); answered && !seen[name] {
			l.Note(errNoExporter)
		}
	}
	for name := range w.byName {
		if answered && !seen[name] && !slices.Contains(configured, name) {
			delete(w.byName, name)
		}
	}
}

func (w *clusterWatch) log(name string) *contact.Log {
	if w.byName[name] == nil {
		w.byName[name] = contact.New(name, "", nil)
	}
	return w.byName[name]
}

// contacts are the clusters in the order of their names.
func (w *clusterWatch) contacts() []contact.Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []contact.Status
	for _, l := range w.byName {
		out = append(out, l.Status())
	}
	slices.SortFunc(out, func(a, b contact.Status) int { return strings.Compare(a.Name, b.Name) })
	return out
}
