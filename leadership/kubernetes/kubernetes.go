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
	"net/http"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/zeta-scaler/zeta-scaler/leadership"
	"github.com/zeta-scaler/zeta-scaler/state"
	statekubernetes "github.com/zeta-scaler/zeta-scaler/state/kubernetes"
)

// Defaults of Options.
const (
	DefaultName          = "zeta-scaler"
	DefaultLeaseDuration = 15 * time.Second
	DefaultRenewDeadline = 10 * time.Second
	DefaultRetryPeriod   = 2 * time.Second
)

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
	// Logger gets changes of leadership; nil discards them.
	Logger *slog.Logger
	// Clock tells the time with its monotonic reading; nil is time.Now.
	Clock func() time.Time
	// LeaseDuration is how long the others wait after the last renewal that they
	// saw, in whole seconds (15 s if 0). RenewDeadline is how long after its last
	// renewal a leader still acts (10 s), RetryPeriod how long it waits between
	// tries (2 s). Each is shorter than the one before it.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// NewLeader, if not nil, is called in a goroutine of its own with the
	// identity of every leader that is seen.
	NewLeader func(identity string)
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
	if o.NewLeader == nil {
		o.NewLeader = func(string) {}
	}
	for _, d := range []struct {
		value *time.Duration
		or    time.Duration
	}{
		{&o.LeaseDuration, DefaultLeaseDuration},
		{&o.RenewDeadline, DefaultRenewDeadline},
		{&o.RetryPeriod, DefaultRetryPeriod},
	} {
		if *d.value == 0 {
			*d.value = d.or
		}
	}
	if o.LeaseDuration%time.Second != 0 {
		return fmt.Errorf("lease duration is %s, expected whole seconds", o.LeaseDuration)
	}
	if o.Identity == "" {
		return errors.New("this process has no identity")
	}
	return nil
}

// Run competes for the lease until ctx ends. Each time that this process leads
// it raises the epoch and calls lead, with a context that ends the moment
// leadership is lost, and waits until lead has returned before it competes
// again. When ctx ends, lead's context ends too, and the lease is given up once
// lead has returned, so that another replica takes over at once.
//
// If lead returns while it leads, Run gives the lease up and returns lead's
// error. It returns nil when ctx ended.
func Run(ctx context.Context, o Options, lead func(ctx context.Context, term leadership.Term) error) error {
	if err := o.setDefaults(); err != nil {
		return fmt.Errorf("competing for a lease: %w", err)
	}
	config, namespace, err := statekubernetes.ClientConfig(o.Kubeconfig)
	if err != nil {
		return fmt.Errorf("competing for a lease: %w", err)
	}
	if o.Namespace == "" {
		o.Namespace = namespace
	}
	if o.Transport != nil {
		config.Wrap(o.Transport)
	}
	// Two tries fit into the deadline even if the first hangs.
	config.Timeout = o.RenewDeadline / 2
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("competing for a lease: %w", err)
	}
	c := &candidate{Options: o, client: client.CoordinationV1(), lead: lead}
	return c.run(ctx)
}

// candidate competes for the lease, again and again.
type candidate struct {
	Options
	client coordinationv1.LeasesGetter
	lead   func(ctx context.Context, term leadership.Term) error
}

func (c *candidate) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if done, err := c.compete(ctx); done {
			return err
		}
		c.wait(ctx) // the others first; and a store that is down is left in peace
	}
	return nil
}

// compete waits for the lease, leads, and gives it up.
func (c *candidate) compete(ctx context.Context) (done bool, err error) {
	l := &lock{
		Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name},
			Client:     c.client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: c.Identity},
			Labels:     map[string]string{"app.kubernetes.io/managed-by": "zeta-scaler"},
		},
		clock: c.Clock, deadline: c.RenewDeadline,
	}
	started := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: l, Name: c.Name, ReleaseOnCancel: true,
		LeaseDuration: c.LeaseDuration, RenewDeadline: c.RenewDeadline, RetryPeriod: c.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(started) },
			OnStoppedLeading: func() {},
			OnNewLeader:      c.NewLeader,
		},
	})
	if err != nil {
		return true, fmt.Errorf("competing for a lease: %w", err)
	}
	// The elector goes on renewing while lead comes to its end, so it does not
	// stop with ctx.
	electing, stop := context.WithCancel(klog.NewContext(
		context.WithoutCancel(ctx), logr.FromSlogHandler(quiet{c.Logger.Handler()})))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		elector.Run(electing)
	}()
	defer func() {
		stop()
		<-ended
	}()
	select {
	case <-ctx.Done():
		return true, nil
	case <-ended:
		return false, nil
	case <-started:
		l.hold()
		defer l.letGo()
		return c.term(ctx, l, ended)
	}
}

// term raises the epoch and leads.
func (c *candidate) term(parent context.Context, l *lock, ended <-chan struct{}) (done bool, err error) {
	ctx, cancel := context.WithCancelCause(parent)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		l.watch(ctx, cancel, ended)
	}()
	defer func() {
		cancel(nil)
		<-watched
	}()
	since := state.Instant(c.Clock())
	epoch, err := leadership.Raise(ctx, c.Store, leadership.Claim{Holder: c.Identity, Since: since, Leads: l.leads})
	if err != nil {
		if ctx.Err() == nil {
			c.Logger.Error("cannot lead: the epoch was not raised; giving the lease up", "err", err)
		}
		return false, nil
	}
	c.Logger.Info("this replica leads", "epoch", epoch, "identity", c.Identity)
	err = c.lead(ctx, leadership.NewTerm(epoch, since, l.leads))
	if lost := l.leads(); lost != nil {
		c.Logger.Warn("this replica leads no longer", "epoch", epoch, "identity", c.Identity, "err", lost)
		return false, nil
	}
	c.Logger.Info("this replica gives leadership up", "epoch", epoch, "identity", c.Identity)
	if parent.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // it says that it was told to stop
	}
	return true, err
}

// wait waits for one retry period.
func (c *candidate) wait(ctx context.Context) {
	timer := time.NewTimer(c.RetryPeriod)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// quiet lowers what client-go logs by one level: what operators have to know we
// say ourselves.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return q.Handler.Enabled(ctx, level-4)
}

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	r.Level -= 4
	return q.Handler.Handle(ctx, r)
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
