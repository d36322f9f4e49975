package yarn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/zeta-scaler/zeta-scaler/actuators"
)

// decommissionBody names an instance to remove. A number or a state beside it would
// take its place.
type decommissionBody struct {
	Components []decommissioned `json:"components"`
}

type decommissioned struct {
	Name      string   `json:"name"`
	Instances []string `json:"decommissioned_instances"`
}

// Release removes one instance by name. It does so only while the service is
// stable and the instance is listed: one that is not would be taken from the
// definition's number alone. A name that was removed never comes back, so that
// asking again removes nobody.
func (a *Actuator) Release(ctx context.Context, _ actuators.Target, workers []actuators.Worker, f actuators.Fence) error {
	w, err := actuators.ToRelease(workers, f)
	if err != nil {
		return fmt.Errorf("yarn: %w", err)
	}
	unlock, err := a.lock(ctx)
	if err != nil {
		return fmt.Errorf("releasing %s of %s: %w", w.Name, a, err)
	}
	defer unlock()
	s, c, err := a.readToWrite(ctx, f)
	if err != nil {
		return err
	}
	gone, err := a.removable(s, c, w, f)
	if err != nil {
		return err
	}
	if gone {
		if c.State == stable && a.book.owes(c.Wanted, a.now()) {
			return a.settle(ctx)
		}
		return nil
	}
	if err := a.confirm(ctx, s, c, c.Wanted-1, f); err != nil {
		return err
	}
	return a.decommission(ctx, s, c, w.Name, f)
}

// removable says whether an instance may be removed, or is gone by the same request.
func (a *Actuator) removable(s *service, c *component, w actuators.Worker, f actuators.Fence) (gone bool, err error) {
	k := c.instance(w.Name)
	switch {
	case c.removed(w.Name):
		if by, known := a.book.removedBy(w.Name); known && by != f.ActionID {
			return false, a.refused("releasing %s of %s: it was decommissioned before, on behalf of %s", w.Name, a, by)
		}
		return true, nil
	case k == nil:
		return false, a.refused("releasing %s: %s has no instance of that name", w.Name, a)
	case !sameHost(w.Address, k.IP):
		return false, a.refused("releasing %s of %s: it is at %s, and the worker that is meant at %s", w.Name, a, k.IP, w.Address)
	case k.ends():
		return false, fmt.Errorf("releasing %s of %s: it is %s and about to be replaced; nothing was asked for", w.Name, a, k.State)
	case s.State != stable || c.State != stable:
		return false, fmt.Errorf("releasing %s: service %s is %s and component %s %s; an instance is removed only while both are %s",
			w.Name, a.o.Service, s.State, a.o.Component, c.State, stable)
	case c.Wanted < 1:
		return false, a.refused("releasing %s: %s keeps up no instance", w.Name, a)
	}
	return false, nil
}

// sameHost compares hosts as far as both are known.
func sameHost(address, ip string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	return host == "" || ip == "" || host == ip
}

// decommission removes an instance that is listed and waits until it is not.
func (a *Actuator) decommission(ctx context.Context, s *service, c *component, name string, f actuators.Fence) error {
	doing := fmt.Sprintf("decommissioning %s of %s", name, a)
	left := c.Wanted - 1
	done := func(now *component) bool { return now.Wanted == left && now.instance(name) == nil }
	a.book.asks(s.ID, c.Wanted, left)
	a.book.removes(name, f.ActionID)
	q := call{path: a.servicePath(), body: decommissionBody{[]decommissioned{{a.o.Component, []string{name}}}}}
	r, err := a.client.ask(ctx, q)
	if err == nil && r.status != http.StatusOK && r.status != http.StatusAccepted {
		err = r.failure(q)
	}
	if err != nil {
		return a.reconcile(ctx, doing, s, c, err, done)
	}
	shown, err := a.shows(ctx, done)
	if shown {
		a.book.settles(s.ID, left)
		a.logger.InfoContext(ctx, "an instance was decommissioned", "instance", name, "left", left, "action_id", f.ActionID)
		return nil
	}
	// One that ended by itself a moment ago was taken from the definition's number
	// alone.
	return fmt.Errorf("%s: %w: %w", doing, actuators.ErrUnknownOutcome, errors.Join(err, a.settle(ctx)))
}
