package config

import (
	"fmt"
	"slices"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/zeta"
)

// DrainCluster is the Zeta cluster whose workers a scope is about: the one that it
// names, the one that is called as its label cluster, or the only one.
func (c *Config) DrainCluster(s *Scope) (zeta.ClusterConfig, error) {
	byName := func(name string) int {
		return slices.IndexFunc(c.Clusters, func(cl Cluster) bool { return cl.Name == name })
	}
	at := byName(s.Drain.Cluster)
	switch {
	case len(c.Clusters) == 0:
		return zeta.ClusterConfig{}, fmt.Errorf("clusters is empty: where Zeta's REST API is has to be known")
	case s.Drain.Cluster != "" && at < 0:
		return zeta.ClusterConfig{}, fmt.Errorf("clusters has none with the name %q", s.Drain.Cluster)
	case s.Drain.Cluster == "":
		at = byName(s.Match["cluster"])
	}
	if at < 0 && len(c.Clusters) > 1 {
		return zeta.ClusterConfig{}, fmt.Errorf("clusters has %d entries, and none is called as the label cluster of the scope", len(c.Clusters))
	}
	return c.Clusters[max(at, 0)].exporter(), nil
}

// checkDrain requires what a drain cannot do without (spec 4.6).
func (c *Config) checkDrain(r *report, s *Scope, path string) {
	if !s.Drain.Enabled {
		return
	}
	enabled := document.Join(path, "enabled")
	if s.Deployment == scaling.Application {
		r.fail(enabled, CheckScope, "enabled: false", "%s is true, but an application's capacity is fixed: losing a worker fails its job", enabled)
		return
	}
	if _, err := c.DrainCluster(s); err != nil {
		r.fail(document.Join(path, "cluster"), CheckScope, "name one of clusters in "+document.Join(path, "cluster"),
			"%s does not say which Zeta cluster is asked: %v", document.Join(path, "cluster"), err)
	}
	if store := c.Store(); store != nil && !store.Durable() {
		r.fail(enabled, CheckScope, "state.type: file", "%s is true, but state.type %s forgets at a restart which jobs were stopped", enabled, c.State.Type)
	}
	kind, maker := c.Actuator(s)
	switch releases, ok := maker.(actuators.Releaser); {
	case ok && releases.Releases():
	case kind == "log":
		r.warn(enabled, CheckUnused, "name the workers in actuator.log.workers, or set another actuator",
			"%s is true, but the actuator log removes nothing: what would be done is only logged", enabled)
	default:
		r.fail(enabled, CheckScope, "see the keys of "+kind+" for workers", "%s is true, but the actuator %s, as it is configured, cannot remove a worker", enabled, kind)
	}
	if s.Mode == scaling.Advisory {
		r.warn(enabled, CheckUnused, "mode: webhook", "%s is true and the mode is advisory: only what a person asks for is drained", enabled)
	}
	if c.Jobs.Folder == "" && !c.Jobs.Sealed() {
		r.warn(enabled, CheckUnused, "set jobs.folder, or jobs.key_file", "%s is true, but no job's config is registered: a worker with a job in streaming mode is never drained", enabled)
	}
}
