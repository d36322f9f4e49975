package site

import (
	"context"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/demo/sim"
	"github.com/zeta-scaler/zeta-scaler/drain"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// Kind is what the platform is called where kinds of platforms are named.
const Kind = "simulated"

// Platform is a simulated cluster as something that can be scaled. Current says
// which it is at the moment.
type Platform struct{ Current func() *sim.Cluster }

var _ actuators.Actuator = Platform{}

// Observe implements actuators.Actuator.
func (p Platform) Observe(context.Context, actuators.Target) (actuators.State, error) {
	registered, booting := p.Current().Workers()
	return actuators.State{Desired: registered + booting, Ready: registered}, nil
}

// Scale implements actuators.Actuator.
func (p Platform) Scale(_ context.Context, _ actuators.Target, want int, _ actuators.Fence) error {
	cluster := p.Current()
	registered, booting := cluster.Workers()
	cluster.AddWorkers(max(0, want-registered-booting))
	return nil
}

// Workers implements actuators.Actuator.
func (p Platform) Workers(context.Context, actuators.Target) ([]actuators.Worker, error) {
	cluster := p.Current()
	names, leaving := cluster.WorkerNames()
	out := make([]actuators.Worker, len(names))
	for i, name := range names {
		out[i] = actuators.Worker{Name: name, Address: cluster.AddressOf(name), Leaving: leaving[name]}
	}
	return out, nil
}

// Release implements actuators.Actuator.
func (p Platform) Release(_ context.Context, _ actuators.Target, workers []actuators.Worker, f actuators.Fence) error {
	w, err := actuators.ToRelease(workers, f)
	if err != nil {
		return err
	}
	return p.Current().Release(w.Name)
}

// Capabilities implements actuators.Actuator.
func (p Platform) Capabilities() actuators.Capabilities {
	return actuators.Capabilities{Observes: true, Lists: true, Releases: true}
}

// Configs have a config for every job: the simulated cluster knows what it runs.
type Configs struct{}

var _ drain.Configs = Configs{}

// Config implements drain.Configs.
func (Configs) Config(context.Context, control.Job) (control.Config, error) {
	return control.Config{Format: "json", Text: []byte("{}")}, nil
}
