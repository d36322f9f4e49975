// Package kubernetes lets replicas of one cluster agree on a leader. A Lease
// says who is alive; it fences nobody. What fences is the epoch in the store,
// raised after the lease was acquired (spec 4.3), and a leader's own clock: it
// stops acting before anybody else may begin.
package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/zeta-scaler/zeta-scaler/kube"
	"github.com/zeta-scaler/zeta-scaler/leadership"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// DefaultName is the name of the Lease if nothing says otherwise.
const DefaultName = "zeta-scaler"

// Options say which lease is competed for.
type Options struct {
	// Store keeps the epoch; all replicas must share it.
	Store state.Store
	// Namespace is where the Lease is; empty is the namespace of the pod or of
	// the kubeconfig's current context.
	Namespace string
	// Name is the name of the Lease, "zeta-scaler" if empty.
	Name string
	// Kubeconfig is a file; empty is the service account of the pod.
	Kubeconfig string
	// Identity names this process and no other, ever: a pod's name alone will not
	// do where a container can restart.
	Identity string
	// URL says where other replicas reach this process while it leads; nil says
	// nothing.
	URL func() string
	// Logger gets changes of leadership; nil discards them.
	Logger *slog.Logger
	// Clock tells the time with its monotonic reading; nil is time.Now.
	Clock func() time.Time
	// Timing is how long the lease lasts, in whole seconds; zeros are the defaults.
	leadership.Timing `yaml:",inline"`
	// Transport, if not nil, wraps the connection to the API server.
	Transport func(http.RoundTripper) http.RoundTripper
}

func (o *Options) setDefaults() error {
	if o.Name == "" {
		o.Name = DefaultName
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.LeaseDuration%time.Second != 0 || o.LeaseDuration/time.Second > math.MaxInt32 {
		return fmt.Errorf("lease duration is %s, expected whole seconds", o.LeaseDuration)
	}
	if err := o.Complete(); err != nil {
		return err
	}
	if o.Identity == "" {
		return errors.New("this process has no identity")
	}
	return nil
}

// Run competes for the lease until ctx ends, as leadership.Candidate does.
func Run(ctx context.Context, o Options, lead func(ctx context.Context, term leadership.Term) error) error {
	if err := o.setDefaults(); err != nil {
		return fmt.Errorf("competing for a lease: %w", err)
	}
	client, err := kube.Open(kube.Options{
		Kubeconfig: o.Kubeconfig, Transport: o.Transport,
		Timeout: o.RenewDeadline / 2, // two tries fit into the deadline even if the first hangs
	})
	if err != nil {
		return fmt.Errorf("competing for a lease: %w", err)
	}
	return newCandidate(o, client).Run(ctx, lead)
}

// object is the Lease as this process sees and writes it.
type object struct {
	elector
	namespace string
	clock     func() time.Time
	leases    kube.Objects[lease]
	// last is the lease as it was read or written last. One goroutine at a time
	// uses it.
	last observed
	// current says that last is what the API server is believed to have.
	current bool
}

func newCandidate(o Options, client *kube.Client) *leadership.Candidate {
	if o.Namespace == "" {
		o.Namespace = client.Namespace()
	}
	return &leadership.Candidate{
		Lease: &object{
			elector:   elector{name: o.Name, identity: o.Identity, duration: o.LeaseDuration},
			namespace: o.Namespace, clock: o.Clock, leases: kube.In[lease](client, kube.Leases, o.Namespace),
		},
		Store: o.Store, Identity: o.Identity, URL: o.URL, Timing: o.Timing, Clock: o.Clock, Logger: o.Logger,
	}
}

// Try implements leadership.Lease.
func (c *object) Try(ctx context.Context) (a leadership.Attempt, err error) {
	if err = c.look(ctx); err == nil {
		a.At = c.clock()
		if next := c.next(c.last, a.At); next != nil {
			a.Held, err = c.write(ctx, next)
		}
	}
	a.Lost = !a.Held && c.current && c.last.holder() != c.identity
	a.Ends = c.ends(c.last)
	return a, err
}

// look reads the lease, unless it is known.
func (c *object) look(ctx context.Context) error {
	if c.current && c.last.holder() == c.identity {
		return nil
	}
	l, err := c.leases.Get(ctx, c.name)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading Lease %s/%s: %w", c.namespace, c.name, err)
	}
	c.last, c.current = c.last.see(l, c.clock()), true
	return nil
}

// write puts the lease in the place of the one that was observed, if that is
// still there.
func (c *object) write(ctx context.Context, next *lease) (done bool, err error) {
	c.current = false
	var written *lease
	if c.last.lease == nil {
		written, err = c.leases.Create(ctx, next)
	} else {
		written, err = c.leases.Update(ctx, c.name, next)
	}
	switch {
	case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
		return false, nil // somebody else was faster: the next try looks
	case err != nil:
		return false, fmt.Errorf("writing Lease %s/%s: %w", c.namespace, c.name, err)
	}
	c.last, c.current = c.last.see(written, c.clock()), true
	return true, nil
}

// GiveUp implements leadership.Lease.
func (c *object) GiveUp(ctx context.Context) error {
	// A renewal that was under way may come between the first look and write.
	for range 2 {
		if err := c.look(ctx); err != nil {
			return err
		}
		next := c.release(c.last, c.clock())
		if next == nil {
			return nil
		}
		if given, err := c.write(ctx, next); given || err != nil {
			return err
		}
	}
	return nil
}
