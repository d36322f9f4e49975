package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/drain"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/webhook"
	"github.com/zeta-scaler/zeta-scaler/zeta"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// engines are the Zeta clusters that drains ask, opened once for each
// configuration of one.
type engines struct {
	mu   sync.Mutex
	open []openEngine
}

type openEngine struct {
	cluster   zeta.ClusterConfig
	attribute string
	engine    *control.Engine
}

// of returns the engine of a cluster, opened if need be. It connects to nothing.
func (e *engines) of(cluster zeta.ClusterConfig, attribute string) (*control.Engine, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, o := range e.open {
		if o.attribute == attribute && reflect.DeepEqual(o.cluster, cluster) {
			return o.engine, nil
		}
	}
	engine, err := control.New(control.Options{Cluster: cluster, Attribute: attribute})
	if err == nil {
		e.open = append(e.open, openEngine{cluster, attribute, engine})
	}
	return engine, err
}

// keep closes every engine that none of the scopes uses any more. It is not for
// while a drain is open: what that has stopped is restored through the engine that
// it began with.
func (e *engines) keep(scopes []drain.ScopeConfig) {
	used := map[drain.Engine]bool{}
	for i := range scopes {
		used[scopes[i].Engine] = true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var kept []openEngine
	for _, o := range e.open {
		if used[o.engine] {
			kept = append(kept, o)
			continue
		}
		o.engine.Close()
	}
	e.open = kept
}

// draining is what the configuration says about drains of listed scopes; acting
// has their actuators.
func (s *service) draining(cfg *config.Config, acting []actuators.ScopeConfig) ([]drain.ScopeConfig, error) {
	library := jobLibrary(cfg, s.store, s.logger)
	var out []drain.ScopeConfig
	var errs []error
	for i := range cfg.Scopes {
		sc := &cfg.Scopes[i]
		if !sc.Drain.Enabled {
			continue
		}
		cluster, err := cfg.DrainCluster(sc)
		if err != nil {
			errs = append(errs, fmt.Errorf("scopes[%d].drain: %w", i, err))
			continue
		}
		engine, err := s.engines.of(cluster, sc.Drain.WorkerAttribute)
		if err != nil {
			errs = append(errs, fmt.Errorf("scopes[%d].drain: asking cluster %q: %w", i, cluster.Name, err))
			continue
		}
		a := &acting[i]
		out = append(out, drain.ScopeConfig{
			Scope: a.Scope, Mode: a.Mode, Bounds: a.Bounds, Deployment: a.Deployment, Kind: a.Kind, Target: a.Target, Actuator: a.Actuator,
			Cluster: oneName(cfg.ClusterConfigs(), cluster), Engine: engine, Endpoint: submitURL(cluster), Configs: library.Cluster(cluster.Name),
			Timeout: sc.Drain.Timeout, Hold: sc.Drain.Hold, AllowStateMembers: sc.Drain.AllowStateMembers,
			Cooldown: sc.Cooldown, FailureBackoff: sc.FailureBackoff, ConvergenceTimeout: sc.ConvergenceTimeout, CallTimeout: a.CallTimeout,
		})
	}
	return out, errors.Join(errs...)
}

// oneName is the name of a Zeta cluster, or of the first entry that asks one of the
// same nodes: two scopes must not drain one cluster at once because it is listed
// twice.
func oneName(all []zeta.ClusterConfig, c zeta.ClusterConfig) string {
	node := func(raw string) string { return strings.ToLower(strings.TrimSuffix(raw, "/")) }
	for _, other := range all {
		for _, u := range other.URLs {
			if slices.ContainsFunc(c.URLs, func(mine string) bool { return node(mine) == node(u) }) {
				return other.Name
			}
		}
	}
	return c.Name
}

// submitURL is where a person submits a job to a cluster: below Hazelcast's own
// paths with REST v1, which is what a member's port serves.
func submitURL(c zeta.ClusterConfig) string {
	if len(c.URLs) == 0 {
		return ""
	}
	base := strings.TrimSuffix(c.URLs[0], "/")
	if u, err := url.Parse(base); err == nil && u.Port() == "5801" && u.Path == "" {
		base += "/hazelcast/rest/maps"
	}
	return base + "/submit-job"
}

// drains asks the drainer of the running term.
type drains struct{ *service }

func (d drains) drainer() (*drain.Drainer, error) {
	if t := d.term.Load(); t != nil {
		return t.drainer, nil
	}
	return nil, api.ErrFollower
}

// Plan implements api.Drains.
func (d drains) Plan(ctx context.Context, scope, worker string) (scaling.DrainPlan, error) {
	x, err := d.drainer()
	if err != nil {
		return scaling.DrainPlan{}, err
	}
	return x.Plan(ctx, scope, worker)
}

// Request implements api.Drains.
func (d drains) Request(ctx context.Context, scope, worker, by, reason string) (scaling.Drain, error) {
	x, err := d.drainer()
	if err != nil {
		return scaling.Drain{}, err
	}
	return x.Request(ctx, scope, worker, by, reason)
}

// Cancel implements api.Drains.
func (d drains) Cancel(ctx context.Context, scope, by, reason string) (scaling.Drain, error) {
	x, err := d.drainer()
	if err != nil {
		return scaling.Drain{}, err
	}
	return x.Cancel(ctx, scope, by, reason)
}

// Acceptor asks a term's drainer about what is its own, and its executor about
// everything else.
func (t *Term) Acceptor() webhook.Acceptor { return termAcceptor{t} }

type termAcceptor struct{ *Term }

func (t termAcceptor) Accept(ctx context.Context, id string) (scaling.Verdict, error) {
	if v, mine, err := t.drainer.Accept(ctx, id); mine || err != nil {
		return v, err
	}
	return t.executor.Accept(ctx, id)
}

func (t termAcceptor) Resolve(ctx context.Context, id string) (scaling.Verdict, error) {
	if v, mine, err := t.drainer.Resolve(ctx, id); mine || err != nil {
		return v, err
	}
	return t.executor.Resolve(ctx, id)
}
