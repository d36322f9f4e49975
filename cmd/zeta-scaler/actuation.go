package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/actuators/exec"
	"github.com/zeta-scaler/zeta-scaler/actuators/kubernetes"
	actuatorlog "github.com/zeta-scaler/zeta-scaler/actuators/log"
	"github.com/zeta-scaler/zeta-scaler/actuators/webhook"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/events"
	eventskubernetes "github.com/zeta-scaler/zeta-scaler/events/kubernetes"
	eventswebhook "github.com/zeta-scaler/zeta-scaler/events/webhook"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// makers make an actuator from its section of the configuration. A new one is a
// package and a line here.
func (s *service) makers() map[string]func(a *config.Actuator, scopeBy []string) (actuators.Actuator, error) {
	return map[string]func(a *config.Actuator, scopeBy []string) (actuators.Actuator, error){
		"log": func(*config.Actuator, []string) (actuators.Actuator, error) { return actuatorlog.New(s.logger), nil },
		"exec": func(a *config.Actuator, _ []string) (actuators.Actuator, error) {
			return exec.New(exec.Options{
				Command: a.Exec.Command, Args: a.Exec.Args, Timeout: a.Exec.Timeout, Observe: a.Exec.Observe, Logger: s.logger,
			})
		},
		"webhook": func(a *config.Actuator, scopeBy []string) (actuators.Actuator, error) {
			return webhook.New(webhook.Options{
				URL: a.Webhook.URL, Timeout: a.Webhook.Timeout, TemplateFile: a.Webhook.TemplateFile,
				SecretFile: a.Webhook.SecretFile, HTTPClientConfig: a.Webhook.HTTPConfig, Labels: scopeBy, Logger: s.logger,
			})
		},
		"kubernetes": func(a *config.Actuator, _ []string) (actuators.Actuator, error) {
			return kubernetes.New(kubernetes.Options{
				Namespace: a.Kubernetes.Namespace, Kind: a.Kubernetes.Kind, Name: a.Kubernetes.Name,
				Kubeconfig: a.Kubernetes.Kubeconfig, Logger: s.logger,
			})
		},
	}
}

// actuation makes an actuator for every listed scope whose configuration names
// one; the others get log. A scope that is advisory has one, too: its mode can
// change at run time.
func (s *service) actuation(cfg *config.Config) ([]actuators.ScopeConfig, error) {
	makers := s.makers()
	var out []actuators.ScopeConfig
	var errs []error
	for i := range cfg.Scopes {
		sc := &cfg.Scopes[i]
		rs := cfg.RuleSet(sc.RuleSet)
		kind := sc.Actuator.Kind()
		c := actuators.ScopeConfig{
			Scope: cfg.Resolved(sc), Mode: sc.Mode, Deployment: sc.Deployment,
			Kind: kind, Target: sc.Actuator.Target(),
			Cooldown: orNone(sc.Cooldown), FailureBackoff: sc.FailureBackoff,
			CallTimeout:        callTimeout(&sc.Actuator),
			ConvergenceTimeout: sc.ConvergenceTimeout, BootDeadline: rs.Step.BootDeadline,
			Rounds:        rs.Step.Policy == rules.StepExponential || rs.Step.Policy == rules.StepDemand,
			TriggerWindow: config.TriggerWindow(rs),
		}
		build, known := makers[kind]
		if !known {
			// The configuration refuses to act with it.
			c.Mode = scaling.Advisory
			out = append(out, c)
			continue
		}
		var err error
		if c.Actuator, err = build(&sc.Actuator, rs.ScopeBy); err != nil {
			errs = append(errs, fmt.Errorf("scopes[%d].actuator.%s: %w", i, kind, err))
			continue
		}
		out = append(out, c)
	}
	return out, errors.Join(errs...)
}

// callGrace is what the executor waits longer than an actuator: the actuator
// knows better what its time-out means.
const callGrace = 10 * time.Second

// callTimeout bounds one call, 0 leaves it to the executor.
func callTimeout(a *config.Actuator) time.Duration {
	switch {
	case a.Exec != nil:
		return a.Exec.Timeout + callGrace
	case a.Webhook != nil:
		return a.Webhook.Timeout + callGrace
	}
	return 0
}

// orNone turns a duration of 0 into what the executor takes for none at all.
func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// errFollower answers for a replica that does not lead: Alertmanager asks again,
// and finds the leader.
var errFollower = errors.New("this replica does not lead")

// acceptor asks the executor of the running term.
type acceptor struct{ *service }

func (a acceptor) Accept(ctx context.Context, id string) (scaling.Verdict, error) {
	if t := a.term.Load(); t != nil {
		return t.executor.Accept(ctx, id)
	}
	return scaling.Verdict{}, errFollower
}

func (a acceptor) Resolve(ctx context.Context, id string) (scaling.Verdict, error) {
	if t := a.term.Load(); t != nil {
		return t.executor.Resolve(ctx, id)
	}
	return scaling.Verdict{}, errFollower
}

// eventHandlers are those that the configuration names; it has checked them.
func (s *service) eventHandlers() (map[string]events.Handler, error) {
	makers := map[string]func() (events.Handler, error){
		"log": func() (events.Handler, error) { return events.NewLog(s.logger), nil },
		"webhook": func() (events.Handler, error) {
			w := s.cfg.EventWebhook
			return eventswebhook.New(eventswebhook.Options{
				URL: w.URL, Timeout: w.Timeout, SecretFile: w.SecretFile, HTTPClientConfig: w.HTTPConfig, Logger: s.logger,
			})
		},
		"kubernetes": func() (events.Handler, error) {
			host, _ := os.Hostname() // only a name for people
			return eventskubernetes.New(eventskubernetes.Options{
				Object: s.workload, Kubeconfig: s.eventsKubeconfig(), Instance: host, Logger: s.logger,
			})
		},
	}
	out := map[string]events.Handler{}
	for _, name := range s.cfg.Events {
		h, err := makers[name]()
		if err != nil {
			return nil, fmt.Errorf("events: %s: %w", name, err)
		}
		out[name] = h
	}
	return out, nil
}

// workload is the Kubernetes object that a scope's actuator scales.
func (s *service) workload(key string) (eventskubernetes.Object, bool) {
	sc := s.running.Load().Listed(key)
	if sc == nil || sc.Actuator.Kubernetes == nil {
		return eventskubernetes.Object{}, false
	}
	k := sc.Actuator.Kubernetes
	return eventskubernetes.Object{Namespace: k.Namespace, Kind: k.Kind, Name: k.Name}, true
}

// eventsKubeconfig is that of the first scope that is scaled on Kubernetes, where
// its workload is, else that of the store. All events go to that one cluster.
func (s *service) eventsKubeconfig() string {
	for i := range s.cfg.Scopes {
		if k := s.cfg.Scopes[i].Actuator.Kubernetes; k != nil {
			return k.Kubeconfig
		}
	}
	return s.cfg.State.Kubeconfig
}
