package alerts

import (
	"errors"
	"fmt"
	"reflect"
)

// Change is a checked set of settings that has not been applied yet.
type Change struct {
	n        *Notifier
	settings Settings
	senders  []*sender
}

// Prepare checks settings, so that the rest of a configuration can still be
// refused before anything has changed.
func (n *Notifier) Prepare(s Settings) (*Change, error) {
	c := &Change{n: n, settings: s.withDefaults()}
	names := map[string]bool{}
	var errs []error
	for _, e := range s.Alertmanagers {
		sender, err := newSender(e, c.settings.QueueCapacity, n.logger, n.httpOptions...)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if names[sender.name] {
			errs = append(errs, fmt.Errorf("alertmanager %s is listed twice", sender.name))
		}
		names[sender.name] = true
		c.senders = append(c.senders, sender)
	}
	return c, errors.Join(errs...)
}

// Apply swaps to the settings and sends everything again, so that no alert ends
// for the time that the change took. An Alertmanager that stays keeps its
// queue; one that goes gets what is still queued for it.
func (c *Change) Apply() {
	n := c.n
	n.mu.Lock()
	defer n.notify()
	defer n.mu.Unlock()
	old := n.senders
	n.senders = nil
	for _, s := range c.senders {
		n.senders = append(n.senders, n.keepOrStart(s, &old, c.settings.QueueCapacity))
	}
	n.settings = c.settings
	n.instruments.capacity.Set(float64(c.settings.QueueCapacity))
	for _, s := range old {
		s.stop(n.drain)
		if !named(n.senders, s.name) {
			n.instruments.forget(s.name)
		}
	}
	if len(n.senders) == 0 {
		n.clear()
		return
	}
	n.resend()
}

// keepOrStart returns the old sender of the same endpoint, which it takes off
// the list, or starts the new one.
func (n *Notifier) keepOrStart(s *sender, old *[]*sender, limit int) *sender {
	for i, o := range *old {
		if reflect.DeepEqual(o.endpoint, s.endpoint) {
			*old = append((*old)[:i:i], (*old)[i+1:]...)
			o.drop(o.queue.Resize(limit))
			return o
		}
	}
	s.counts = n.instruments.of(s.name)
	if n.running {
		n.start(s)
	}
	return s
}

func named(senders []*sender, name string) bool {
	for _, s := range senders {
		if s.name == name {
			return true
		}
	}
	return false
}

// clear forgets all alerts: nobody is told any more.
func (n *Notifier) clear() {
	n.outbox = nil
	for key, p := range n.scopes {
		p.alerts, p.since, p.gone = nil, nil, true
		n.dirty[key] = true
	}
	clear(n.unattended)
}
