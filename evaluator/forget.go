package evaluator

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

const (
	// clusterUp is 1 while a cluster answers its exporter, and 0 while it does not.
	clusterUp = "seatunnel_zeta_up"
	// clusterLabel is the label by which the exporter names a cluster.
	clusterLabel = "cluster"
)

// stays reports whether a scope is there whatever the source says of it.
func (s *scopeState) stays() bool { return s.listed != nil || s.known }

// forget drops discovered scopes that no query has named for too long, counted
// in ticks: a clock that jumps ahead drops nobody. Nor does an outage of the
// source, whose ticks are provisional, nor one of the scope's cluster.
func (r *runner) forget(ctx context.Context, at int64) {
	// Who is back before the store could be written was never gone.
	r.gone = slices.DeleteFunc(r.gone, func(s *scopeState) bool { return r.group.scopes.byKey[joinValues(s.Labels)] != nil })
	if r.forgetAfter <= 0 || r.discoveryFailed {
		return
	}
	due := r.group.unseen(at, r.forgetAfter)
	if len(due) == 0 {
		return
	}
	kept := r.silentClusters(ctx, at, due)
	gone := r.group.scopes.remove(func(s *scopeState) bool { return slices.Contains(due, s) && !kept[s] })
	for s := range kept {
		s.unseen = 0 // it begins anew, should the cluster come back without the scope
	}
	for _, s := range gone {
		r.dropped.put(s.Key, s.published.generation)
		r.Logger.Warn("a scope is forgotten: there was no sample of it for scope_defaults.forget_after",
			"scope", s.Key, "rule_set", r.group.name, "last_sample", time.UnixMilli(s.lastSeen).UTC(), "forget_after", r.forgetAfter)
	}
	r.gone = append(r.gone, gone...)
}

// unseen counts for how long each scope had no sample, and returns those for
// which it is too long.
func (g *group) unseen(at int64, after time.Duration) []*scopeState {
	var due []*scopeState
	step := g.interval.Milliseconds()
	for _, s := range g.scopes.sorted {
		if s.unseen += step; s.lastSeen == at {
			s.unseen = 0
		}
		if !s.stays() && s.unseen >= after.Milliseconds() {
			due = append(due, s)
		}
	}
	return due
}

// silentClusters are those of the scopes whose cluster does not answer its
// exporter, or is named by the configuration and not known to answer: what is
// silent is not gone. Without an answer nobody is.
func (r *runner) silentClusters(ctx context.Context, at int64, due []*scopeState) map[*scopeState]bool {
	ctx, cancel := context.WithTimeout(ctx, min(r.QueryTimeout, r.group.interval))
	defer cancel()
	up, err := r.Source.Instant(ctx, clusterUp, time.UnixMilli(at))
	kept := map[*scopeState]bool{}
	for _, s := range due {
		answers, known := answersExporter(s.Labels, up.Samples)
		if err != nil || known && !answers || !known && r.configured(s) {
			kept[s] = true
		}
	}
	return kept
}

// configured reports whether the configuration names the scope's cluster.
func (r *runner) configured(s *scopeState) bool {
	return slices.ContainsFunc(s.Labels, func(l scaling.Label) bool {
		return l.Name == clusterLabel && slices.Contains(r.clusters, l.Value)
	})
}

// answersExporter reports whether a scope's cluster answers any exporter, if
// there is a series about it: one that shares labels with the scope, and differs
// in none.
func answersExporter(scope []scaling.Label, up []source.Sample) (answers, known bool) {
	for i := range up {
		if !sharesLabels(scope, up[i].Labels) {
			continue
		}
		known = true
		answers = answers || up[i].Value > 0
	}
	return answers, known
}

func sharesLabels(scope []scaling.Label, ls labels.Labels) bool {
	shared := false
	for _, l := range scope {
		switch ls.Get(l.Name) {
		case "":
		case l.Value:
			shared = true
		default:
			return false
		}
	}
	return shared
}

// know adds the clusters that the configuration names, where scopes are clusters:
// they exist from the first tick on, with or without an answer.
func (r *runner) know(clusters []string) {
	g := r.group
	r.clusters = clusters
	if !g.discover || !slices.Equal(g.scopes.by, []string{clusterLabel}) {
		return
	}
	for _, name := range clusters {
		ls := []scaling.Label{{Name: clusterLabel, Value: name}}
		if key := joinValues(ls); g.configured[key] || g.scopes.byKey[key] != nil {
			continue
		}
		g.newScope(ls, nil, g.shadows, notBegun).known = true
	}
}
