package alerts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// labelCluster is the label by which Zeta's clusters are told apart.
const labelCluster = "cluster"

// clusterKeys begin the keys of what is kept about clusters. No scope has such a
// key: after a percent sign there are digits.
const clusterKeys = "%cluster/"

// Clusters takes over how the clusters of this process answer now: one that has
// given no answer for as long as matters is an alert, which ends when it answers
// again, or is watched no more. Who was not asked yet may be as before.
func (n *Notifier) Clusters(all []contact.Status) {
	now := n.clock()
	n.mu.Lock()
	if len(n.senders) > 0 && !n.fenced {
		seen := map[string]bool{}
		for i := range all {
			scope := clusterScope(all[i].Name)
			seen[scope.Key] = true
			n.observeCluster(scope, &all[i], now)
		}
		for key, p := range n.scopes {
			if strings.HasPrefix(key, clusterKeys) && !seen[key] && !p.gone {
				n.abandon(key, now)
			}
		}
	}
	n.mu.Unlock()
	n.notify()
}

func (n *Notifier) observeCluster(scope scaling.Scope, c *contact.Status, now time.Time) {
	p := n.scopes[scope.Key]
	if p == nil {
		p = &scopeAlerts{}
		n.scopes[scope.Key] = p
	}
	delete(n.unattended, scope.Key)
	due, changed := p.observeCluster(scope, c, now, n.settings.ResendDelay)
	n.send(p, due)
	if changed {
		n.dirty[scope.Key] = true
	}
}

// clusterScope is under what a cluster's alerts are kept.
func clusterScope(name string) scaling.Scope {
	labels := []scaling.Label{{Name: labelCluster, Value: name}}
	return scaling.Scope{Key: clusterKeys + name, Labels: labels}
}

// observeCluster is observe for a cluster.
func (s *scopeAlerts) observeCluster(scope scaling.Scope, c *contact.Status, now time.Time, resendDelay time.Duration) (due []*alert, changed bool) {
	status := *c
	s.scope, s.cluster, s.gone = scope, &status, false
	fires := s.fires(ClusterDown)
	switch {
	case fires && c.State == contact.Up:
		for _, a := range s.alerts {
			a.resolve(now)
		}
		changed = true
	case !fires && c.State == contact.Down && now.Sub(*c.Since) >= patience:
		labels := clusterLabels(c.Name)
		id := identity(labels)
		s.alerts = slices.DeleteFunc(s.alerts, func(a *alert) bool { return a.identity == id })
		s.alerts = append(s.alerts, &alert{labels: labels, identity: id, startsAt: now})
		changed = true
	}
	due, corrected := s.due(now, resendDelay)
	return due, changed || corrected
}

// clusterLabels are those of an alert about a cluster. Its scope is that of the
// cluster as a whole.
func clusterLabels(name string) map[string]string {
	key := scaling.NewScope([]scaling.Label{{Name: labelCluster, Value: name}}).Key
	return map[string]string{
		labelName: ClusterDown, labelScope: key, labelCluster: strings.ToValidUTF8(name, "\uFFFD"), labelSeverity: Page,
	}
}

// clusterAnnotations say how a cluster answers.
func clusterAnnotations(c *contact.Status, to links) map[string]string {
	out := map[string]string{
		annotationSummary: c.Name + ": the Zeta cluster gives no answer", "runbook_url": to.section(ClusterDown),
		"description": clusterDescription(c),
	}
	if c.State == contact.Up {
		out[annotationSummary] = c.Name + ": the Zeta cluster answers again"
	}
	if to.external != "" {
		out["status_url"] = to.external + "/"
	}
	if c.Error != "" {
		out["error"] = c.Error
	}
	return out
}

func clusterDescription(c *contact.Status) string {
	switch {
	case c.State == contact.Up:
		return fmt.Sprintf("%s answers again since %s.", c.URL, timestamp(*c.Since))
	case c.State == contact.Unasked:
		return "It was not asked again since the service started."
	case c.LastAnswer == nil:
		return fmt.Sprintf("%s gives no answer since %s, and never did. Nothing is decided about it.", c.URL, timestamp(*c.Since))
	default:
		return fmt.Sprintf("%s gives no answer since %s; the last one came at %s. Nothing is decided about it.",
			c.URL, timestamp(*c.Since), timestamp(*c.LastAnswer))
	}
}

// clusterValidity is for how long an alert about a cluster is taken for active.
func clusterValidity(resendDelay time.Duration) time.Duration {
	return 4 * max(sweepEvery, resendDelay)
}
