package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	promconfig "github.com/prometheus/common/config"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/alerts"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/webhook"
)

// chain is the way from a recommendation to workers, with the parts that serve
// has: notifier → Alertmanager (a stand-in) → webhook → executor → actuator. It
// is a Publisher and moves in the loop's goroutine: virtual time stands still
// until all that a tick has led to is done.
type chain struct {
	notifier *alerts.Notifier
	executor *actuators.Executor
	operator *operator
	server   *http.Server
	fail     func(error)
}

// webhookPath is where Alertmanager calls back.
const webhookPath = "/webhook/alertmanager"

// newChain puts the way together. Close it in the end.
func (d *Demo) newChain(ctx context.Context) (*chain, error) {
	c := &chain{fail: d.fail, operator: &operator{world: d.world, note: d.printer.note}}
	var err error
	if c.executor, err = actuators.New(ctx, actuators.Options{
		Store: d.o.Store, Clock: d.clock, Epoch: d.o.Epoch, Logger: d.o.Logger, Registerer: d.o.Registerer,
		Emit: d.printer.action, Rand: func() float64 { return 0 },
	}); err != nil {
		return nil, err
	}
	c.executor.Configure([]actuators.ScopeConfig{d.actuation()})
	listener := newInMemory()
	manager := &alertmanager{
		now: d.clock.Now, firing: map[string]bool{}, url: "http://zeta-scaler" + webhookPath,
		client: &http.Client{Transport: &http.Transport{DialContext: listener.dial, DisableKeepAlives: true}, Timeout: realTimeout},
	}
	// Both are behind one listener in memory: alerts come in at the one path, and
	// what Alertmanager makes of them at the other.
	mux := http.NewServeMux()
	mux.Handle("POST /api/v2/alerts", manager)
	mux.Handle("POST "+webhookPath, webhook.New(webhook.Options{Acceptor: c.executor, Logger: d.o.Logger, Registerer: d.o.Registerer}))
	c.server = &http.Server{Handler: mux, ReadHeaderTimeout: realTimeout}
	go func() { _ = c.server.Serve(listener) }() // until it is closed
	c.notifier, err = alerts.New(ctx, alerts.Options{
		Settings: alerts.Settings{Alertmanagers: []alerts.Endpoint{{URL: "http://alertmanager", HTTPClientConfig: promconfig.DefaultHTTPClientConfig}}},
		Store:    d.o.Store, Epoch: d.o.Epoch, Logger: d.o.Logger, Registerer: d.o.Registerer, Clock: d.clock.Now,
		HTTPOptions: []promconfig.HTTPClientOption{promconfig.WithDialContextFunc(listener.dial), promconfig.WithKeepAlivesDisabled()},
	})
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// actuation is the one scope as the executor sees it.
func (d *Demo) actuation() actuators.ScopeConfig {
	var labels []scaling.Label
	for _, name := range d.o.RuleSet.ScopeBy {
		labels = append(labels, scaling.Label{Name: name, Value: d.o.Cluster})
	}
	return actuators.ScopeConfig{
		Scope: scaling.NewScope(labels), Mode: scaling.Webhook, Kind: "simulated", Target: "simulated cluster",
		Actuator: &platform{d.world}, BootDeadline: d.o.RuleSet.Step.BootDeadline,
		TriggerWindow: config.TriggerWindow(d.o.RuleSet),
	}
}

// Publish implements evaluator.Publisher.
func (c *chain) Publish(ctx context.Context, evaluations []scaling.Evaluation, gone []scaling.Scope) {
	c.notifier.Publish(ctx, evaluations, gone)
	c.executor.Publish(ctx, evaluations, gone)
	err := c.notifier.Deliver(ctx)
	if err == nil {
		err = c.executor.Advance(ctx)
	}
	if err != nil && ctx.Err() == nil {
		c.fail(fmt.Errorf("carrying out a recommendation: %w", err))
	}
	c.operator.Publish(ctx, evaluations, gone)
}

func (c *chain) close() error { return c.server.Close() }

// platform is the simulated cluster as something that can be scaled.
type platform struct{ world *world }

// Observe implements actuators.Actuator.
func (p *platform) Observe(context.Context, actuators.Target) (actuators.State, error) {
	registered, booting := p.world.current().Workers()
	return actuators.State{Desired: registered + booting, Ready: registered}, nil
}

// Scale implements actuators.Actuator.
func (p *platform) Scale(_ context.Context, _ actuators.Target, want int, _ actuators.Fence) error {
	cluster := p.world.current()
	registered, booting := cluster.Workers()
	cluster.AddWorkers(max(0, want-registered-booting))
	return nil
}

// Release implements actuators.Actuator.
func (p *platform) Release(context.Context, actuators.Target, []actuators.Worker, actuators.Fence) error {
	return actuators.ErrUnsupported
}

// Capabilities implements actuators.Actuator.
func (p *platform) Capabilities() actuators.Capabilities {
	return actuators.Capabilities{Observes: true}
}
