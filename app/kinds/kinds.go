// Package kinds lists what the configuration can choose from. Whoever writes a
// new actuator, store, leadership or event handler adds a package and a line
// here.
package kinds

import (
	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/actuators/exec"
	"github.com/zeta-scaler/zeta-scaler/actuators/kubernetes"
	"github.com/zeta-scaler/zeta-scaler/actuators/log"
	"github.com/zeta-scaler/zeta-scaler/actuators/webhook"
	"github.com/zeta-scaler/zeta-scaler/actuators/yarn"
	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/events"
	eventskubernetes "github.com/zeta-scaler/zeta-scaler/events/kubernetes"
	eventswebhook "github.com/zeta-scaler/zeta-scaler/events/webhook"
	"github.com/zeta-scaler/zeta-scaler/kube"
	"github.com/zeta-scaler/zeta-scaler/leadership"
	lease "github.com/zeta-scaler/zeta-scaler/leadership/kubernetes"
	leadershippostgres "github.com/zeta-scaler/zeta-scaler/leadership/postgres"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/file"
	statekubernetes "github.com/zeta-scaler/zeta-scaler/state/kubernetes"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
	statepostgres "github.com/zeta-scaler/zeta-scaler/state/postgres"
)

// All are the kinds by the key of the configuration that chooses one of them, in
// the order in which they are listed. The first is the default. What asks
// Kubernetes has one budget of requests, for each call of All: a program calls it
// once. Leases alone wait behind nobody. What changes YARN services takes turns.
func All() map[string]document.Kinds {
	budget, services := kube.NewBudget(), new(yarn.Locks)
	return map[string]document.Kinds{
		"actuator": {
			kind("log", func() actuators.Maker { return new(log.Options) }),
			kind("exec", func() actuators.Maker { return new(exec.Options) }),
			kind("webhook", func() actuators.Maker { return new(webhook.Options) }),
			kind("kubernetes", func() actuators.Maker { return &kubernetes.Options{Budget: budget} }),
			kind("yarn", func() actuators.Maker { return &yarn.Options{Locks: services} }),
		},
		"state": {
			kind("file", func() state.Opener { return new(file.Options) }),
			kind("memory", func() state.Opener { return new(memory.Options) }),
			kind("kubernetes", func() state.Opener { return &statekubernetes.Options{Budget: budget} }),
			kind("postgres", func() state.Opener { return new(statepostgres.Options) }),
		},
		"leadership": {
			kind("none", func() leadership.Maker { return new(leadership.Options) }),
			kind("kubernetes", func() leadership.Maker { return new(lease.Options) }),
			kind("postgres", func() leadership.Maker { return new(leadershippostgres.Options) }),
		},
		"events": {
			kind("log", func() events.Maker { return new(events.LogOptions) }),
			kind("kubernetes", func() events.Maker { return &eventskubernetes.Section{Budget: budget} }),
			kind("webhook", func() events.Maker { return new(eventswebhook.Options) }),
		},
	}
}

// kind is a kind whose options have to be an M: what makes the thing.
func kind[M any](name string, options func() M) document.Kind {
	return document.Kind{Name: name, New: func() any { return options() }}
}
