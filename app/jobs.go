package app

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/jobs"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/web/handler"
	"github.com/zeta-scaler/zeta-scaler/zeta"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// jobLibrary has the configs of jobs that a configuration names, and those that
// are kept in the store.
func jobLibrary(cfg *config.Config, store state.Store, logger *slog.Logger) *jobs.Library {
	o := jobs.Options{Folder: cfg.Jobs.Folder, Secrets: cfg.Jobs.SecretsFolder, Store: store, Logger: logger}
	if cfg.Jobs.Sealed() {
		o.Keys = cfg.Jobs.Keys
	}
	return jobs.New(o)
}

// submitter passes jobs on to the clusters of the configuration that runs,
// whether or not this process leads.
type submitter struct{ *service }

// Submit implements api.Jobs.
func (s submitter) Submit(ctx context.Context, cluster string, job jobs.Submission) (string, jobs.Submitted, error) {
	cfg := s.running.Load()
	to, err := clusterOf(cfg.ClusterConfigs(), cluster)
	if err != nil {
		return "", jobs.Submitted{}, err
	}
	engine, err := control.New(control.Options{Cluster: to})
	if err != nil {
		return "", jobs.Submitted{}, fmt.Errorf("asking cluster %q: %w", to.Name, err)
	}
	defer engine.Close()
	done, err := jobLibrary(cfg, s.store, s.logger).Cluster(to.Name).Submit(ctx, engine, job)
	return to.Name, done, err
}

// Kept implements api.Jobs.
func (s submitter) Kept(ctx context.Context) (kept []jobs.Kept, unreadable int, err error) {
	return jobLibrary(s.running.Load(), s.store, s.logger).Kept(ctx)
}

// clusterOf finds a cluster by its name, or the only one.
func clusterOf(clusters []zeta.ClusterConfig, name string) (zeta.ClusterConfig, error) {
	for _, c := range clusters {
		if c.Name == name {
			return c, nil
		}
	}
	switch {
	case len(clusters) == 0:
		return zeta.ClusterConfig{}, fmt.Errorf("%w: the configuration lists none in clusters", jobs.ErrNoCluster)
	case name != "":
		return zeta.ClusterConfig{}, fmt.Errorf("%w: the configuration does not list %q in clusters", jobs.ErrNoCluster, handler.Shown(name))
	case len(clusters) > 1:
		return zeta.ClusterConfig{}, fmt.Errorf("%w: the configuration lists %d, name one", jobs.ErrNoCluster, len(clusters))
	}
	return clusters[0], nil
}
