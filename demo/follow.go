package demo

import (
	"time"

	promconfig "github.com/prometheus/common/config"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/alerts"
	"github.com/zeta-scaler/zeta-scaler/app"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/demo/sim"
	"github.com/zeta-scaler/zeta-scaler/demo/site"
	"github.com/zeta-scaler/zeta-scaler/drain"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// drainCooldown is how long the scope rests after a worker is gone.
const drainCooldown = 5 * time.Minute

// follow gives a term the way from a recommendation to workers, with the parts
// that serve has: notifier → Alertmanager (a stand-in) → webhook → executor →
// actuator.
func (d *simulation) follow(p *app.Parts) {
	p.Scopes = []actuators.ScopeConfig{{
		Scope: d.scope(), Mode: scaling.Webhook, Kind: site.Kind, Target: "simulated cluster",
		Actuator: site.Platform{Current: d.world.current}, BootDeadline: d.rules.Step.BootDeadline,
		Rounds: d.rules.Step.LaterRounds(), TriggerWindow: config.TriggerWindow(d.rules),
	}}
	if d.world.story.Drains {
		p.Drains = []drain.ScopeConfig{{
			Scope: d.scope(), Mode: scaling.Webhook, Bounds: d.world.story.Bounds, Deployment: scaling.Session,
			Kind: site.Kind, Target: "simulated cluster", Actuator: site.Platform{Current: d.world.current}, Cluster: clusterName,
			Engine: sim.View{Current: d.world.current}, Configs: site.Configs{}, Hold: true, Cooldown: drainCooldown,
		}}
	}
	p.Alerting = alerts.Settings{Alertmanagers: []alerts.Endpoint{{URL: "http://alertmanager", HTTPClientConfig: promconfig.DefaultHTTPClientConfig}}}
	p.AlertHTTP = []promconfig.HTTPClientOption{promconfig.WithDialContextFunc(d.network.listener.dial), promconfig.WithKeepAlivesDisabled()}
}
