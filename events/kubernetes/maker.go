package kubernetes

import (
	"time"

	"github.com/zeta-scaler/zeta-scaler/events"
	"github.com/zeta-scaler/zeta-scaler/kube"
)

// Section is what the configuration says about the handler: nothing. What it
// needs is said about actuators and store.
type Section struct {
	// Budget bounds the requests together with those of others, nil does not.
	Budget *kube.Budget
}

// workload is an actuator that scales an object of Kubernetes.
type workload interface {
	Workload() (namespace, kind, name, kubeconfig string)
}

// inCluster is a store that is kept in Kubernetes.
type inCluster interface {
	Place() (namespace, name, kubeconfig string)
}

// Patience implements events.Maker.
func (*Section) Patience() time.Duration { return 0 }

// Make implements events.Maker.
func (s *Section) Make(e events.Env) (events.Handler, error) {
	h, err := New(Options{
		Object: func(scope string) (Object, bool) {
			w, ok := e.Actuator(scope).(workload)
			if !ok {
				return Object{}, false
			}
			namespace, kind, name, _ := w.Workload()
			return Object{Namespace: namespace, Kind: kind, Name: name}, true
		},
		Kubeconfig: kubeconfig(e), Instance: e.Instance, Budget: s.Budget, Logger: e.Logger,
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

// kubeconfig is that of the first scope that is scaled on Kubernetes, where its
// workload is, else that of the store. All events go to that one cluster.
func kubeconfig(e events.Env) string {
	for _, a := range e.Actuators {
		if w, ok := a.(workload); ok {
			_, _, _, file := w.Workload()
			return file
		}
	}
	if s, ok := e.Store.(inCluster); ok {
		_, _, file := s.Place()
		return file
	}
	return ""
}
