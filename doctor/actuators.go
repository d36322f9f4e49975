package doctor

import (
	"context"
	"errors"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

const linkActuator = "actuator"

// callback says whether what Alertmanager sends back would be taken.
func (c *chain) callback(ctx context.Context) {
	for i := range c.cfg.Scopes {
		if c.cfg.Scopes[i].Mode == scaling.Webhook {
			c.accepted(ctx)
			return
		}
	}
	c.skip(linkCallback, "", "no scope has mode webhook: nothing has to come back")
}

// actuators reads what every listed scope would be scaled by.
func (c *chain) actuators(ctx context.Context) {
	if len(c.cfg.Scopes) == 0 {
		c.skip(linkActuator, "", "no scope is listed (scopes): all are advisory, nothing ever acts")
		return
	}
	for i := range c.cfg.Scopes {
		if ctx.Err() != nil {
			return
		}
		c.actuator(ctx, &c.cfg.Scopes[i])
	}
}

// platformHint says what to try where a platform cannot be read.
func platformHint(kind string) string {
	switch kind {
	case "yarn":
		return "yarn app -status SERVICE as the user of actuator.yarn.user; docs/yarn.md has what the ResourceManager has to allow"
	case "kubernetes":
		return "kubectl auth can-i get statefulsets -n NAMESPACE --as=system:serviceaccount:NAMESPACE:zeta-scaler; docs/actuators-kubernetes.md has the rights"
	default:
		return "docs/actuators.md has the rights and settings of " + kind
	}
}

func (c *chain) actuator(ctx context.Context, s *config.Scope) {
	scope := c.cfg.Resolved(s)
	kind, maker := c.cfg.Actuator(s)
	subject := scope.Shown() + " (" + kind + ")"
	if maker == nil {
		c.bad(linkActuator, subject, "set scopes[].actuator", "there is none")
		return
	}
	a, err := maker.Make(actuators.Env{Labels: c.cfg.RuleSet(s.RuleSet).ScopeBy, Logger: c.logger})
	if err != nil {
		c.bad(linkActuator, subject, "mend scopes[].actuator."+kind, "%s", oneLine(err))
		return
	}
	can := a.Capabilities()
	if can.DryRun {
		c.ok(linkActuator, subject, "only says what it would do")
		return
	}
	ctx, cancel := c.within(ctx)
	defer cancel()
	st, err := a.Observe(ctx, actuators.Target{Scope: scope, Name: maker.WritesTo()})
	switch {
	case errors.Is(err, actuators.ErrUnsupported):
		c.ok(linkActuator, subject, "cannot be read: the inventory alone says when an action has worked")
	case err != nil:
		c.bad(linkActuator, subject, c.advice(err, "scopes[].actuator."+kind, "scopes[].actuator."+kind, platformHint(kind)), "%s", oneLine(err))
	case st.OtherWriter != "":
		c.bad(linkActuator, subject, "one writer only: take the other one away, or leave the scope advisory", "%s changes the same target", st.OtherWriter)
	default:
		c.ok(linkActuator, subject, "has %s, asked for %d", scaling.Counted(st.Ready, "worker"), st.Desired)
	}
}
