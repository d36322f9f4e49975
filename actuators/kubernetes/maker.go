package kubernetes

import (
	"time"

	"github.com/zeta-scaler/zeta-scaler/actuators"
)

// WritesTo implements actuators.Maker. Whether two kubeconfigs lead to the same
// cluster is not for us to know.
func (o *Options) WritesTo() string {
	if o.Kubeconfig != "" {
		return o.Target() + " of " + o.Kubeconfig
	}
	return o.Target()
}

// Workload is the object that is scaled and the kubeconfig that leads to it, for
// those who write about it.
func (o *Options) Workload() (namespace, kind, name, kubeconfig string) {
	return o.Namespace, o.Kind, o.Name, o.Kubeconfig
}

// CallTimeout implements actuators.Maker.
func (o *Options) CallTimeout() time.Duration { return 0 }

// Releases implements actuators.Releaser.
func (o *Options) Releases() bool { return true }

// Make implements actuators.Maker.
func (o *Options) Make(e actuators.Env) (actuators.Actuator, error) {
	with := *o
	with.Logger = e.Logger
	a, err := New(with)
	if err != nil {
		return nil, err
	}
	return a, nil
}
