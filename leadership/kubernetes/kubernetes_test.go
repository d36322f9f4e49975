package kubernetes

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordination "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/zeta-scaler/zeta-scaler/leadership"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// leases plays the one Lease of an API server, resource version and all.
type leases struct {
	mu       sync.Mutex
	lease    *coordination.Lease
	revision int
}

// client is one candidate's way to it, which can be cut.
type client struct {
	coordinationv1.LeaseInterface
	*leases
	cut atomic.Bool
}

var (
	errCut   = errors.New("no route to host")
	resource = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
)

func (c *client) Leases(string) coordinationv1.LeaseInterface { return c }

func (c *client) Get(context.Context, string, metav1.GetOptions) (*coordination.Lease, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.cut.Load():
		return nil, errCut
	case c.lease == nil:
		return nil, apierrors.NewNotFound(resource, "zeta-scaler")
	}
	return c.lease.DeepCopy(), nil
}

func (c *client) Create(_ context.Context, l *coordination.Lease, _ metav1.CreateOptions) (*coordination.Lease, error) {
	return c.write(l, func() bool { return c.lease == nil })
}

func (c *client) Update(_ context.Context, l *coordination.Lease, _ metav1.UpdateOptions) (*coordination.Lease, error) {
	return c.write(l, func() bool { return c.lease != nil && l.ResourceVersion == c.lease.ResourceVersion })
}

func (c *client) write(l *coordination.Lease, may func() bool) (*coordination.Lease, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut.Load() {
		return nil, errCut
	}
	if !may() {
		return nil, apierrors.NewConflict(resource, l.Name, errors.New("the object has been modified"))
	}
	c.revision++
	c.lease = l.DeepCopy()
	c.lease.ResourceVersion = strconv.Itoa(c.revision)
	return c.lease.DeepCopy(), nil
}

// replica is a candidate that runs in a test.
type replica struct {
	*candidate
	client *client
	// terms gets each term as it begins, ended its end.
	terms chan leadership.Term
	ended chan time.Time
	stop  context.CancelFunc
	done  chan error
}

// begin starts a replica whose lead waits for the end of its context and then
// takes a while to stop.
func begin(t *testing.T, l *leases, store state.Store, name string, stopping time.Duration) *replica {
	t.Helper()
	r := &replica{
		client: &client{leases: l}, terms: make(chan leadership.Term, 10), ended: make(chan time.Time, 10),
		done: make(chan error, 1),
	}
	o := Options{Store: store, Identity: name}
	require.NoError(t, o.setDefaults())
	r.candidate = &candidate{Options: o, client: r.client, lead: func(ctx context.Context, term leadership.Term) error {
		r.terms <- term
		<-ctx.Done()
		r.ended <- time.Now()
		time.Sleep(stopping)
		return ctx.Err()
	}}
	ctx, cancel := context.WithCancel(t.Context())
	r.stop = cancel
	go func() { r.done <- r.run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-r.done)
	})
	return r
}

func TestTakeoverFromALeaderThatIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := &leases{}, memory.New()
		first := begin(t, l, store, "first", 0)
		one := <-first.terms
		require.Equal(t, uint64(1), one.Epoch)
		second := begin(t, l, store, "second", 0)
		time.Sleep(time.Minute)
		require.NoError(t, one.Leads())
		require.Empty(t, second.terms)

		cut := time.Now()
		first.client.cut.Store(true)
		over := <-first.ended
		require.ErrorIs(t, one.Leads(), leadership.ErrLost)
		require.WithinDuration(t, cut.Add(9*time.Second), over, time.Second, "10 s after the last renewal, 0 to 2 s ago")
		two := <-second.terms
		require.Equal(t, uint64(2), two.Epoch)
		require.Greater(t, time.Since(over), 2*time.Second, "the old leader stopped before the new one began")
		require.Less(t, time.Since(cut), 20*time.Second)
		who, err := leadership.Current(t.Context(), store)
		require.NoError(t, err)
		require.Equal(t, "second", who.Holder)

		// It comes back, and waits for its turn.
		first.client.cut.Store(false)
		time.Sleep(time.Minute)
		require.NoError(t, two.Leads())
		require.ErrorIs(t, one.Leads(), leadership.ErrLost)
		require.Empty(t, first.terms)
		second.stop()
		require.Equal(t, uint64(3), (<-first.terms).Epoch)
	})
}

func TestStopHandsOverOnlyAfterLeadReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := &leases{}, memory.New()
		const stopping = 40 * time.Second // longer than a lease
		first := begin(t, l, store, "first", stopping)
		<-first.terms
		second := begin(t, l, store, "second", 0)
		time.Sleep(time.Second)
		asked := time.Now()
		first.stop()
		<-second.terms
		took := time.Since(asked)
		require.GreaterOrEqual(t, took, stopping)
		require.Less(t, took, stopping+6*time.Second, "it does not wait for the lease to end")
	})
}

// A leader that hangs on to its end after the lease was lost does not take the
// lease from its successor.
func TestLostLeaseIsNotGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := &leases{}, memory.New()
		first := begin(t, l, store, "first", time.Minute)
		<-first.terms
		second := begin(t, l, store, "second", 0)
		first.client.cut.Store(true)
		two := <-second.terms
		first.client.cut.Store(false)
		time.Sleep(5 * time.Minute)
		require.NoError(t, two.Leads())
		require.Empty(t, second.ended)
	})
}

func TestErrorOfLeadEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := &leases{}, memory.New()
		o := Options{Store: store, Identity: "first"}
		require.NoError(t, o.setDefaults())
		wrong := errors.New("the port is taken")
		c := &candidate{Options: o, client: &client{leases: l}, lead: func(context.Context, leadership.Term) error { return wrong }}
		require.ErrorIs(t, c.run(t.Context()), wrong)
		require.Empty(t, *l.lease.Spec.HolderIdentity, "the lease was given up")
	})
}

// broken is a store that cannot be written.
type broken struct {
	state.Store
	repaired atomic.Bool
}

func (b *broken) Apply(ctx context.Context, batch state.Batch) ([]uint64, error) {
	if !b.repaired.Load() {
		return nil, errors.New("the disk is full")
	}
	return b.Store.Apply(ctx, batch)
}

func TestNobodyLeadsWithoutAnEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leases{}
		store := &broken{Store: memory.New()}
		r := begin(t, l, store, "first", 0)
		time.Sleep(time.Minute)
		require.Empty(t, r.terms)
		store.repaired.Store(true)
		require.Equal(t, uint64(1), (<-r.terms).Epoch)
	})
}

// A process that was frozen asks before any of its goroutines could renew the
// lease or end a context.
func TestFrozenProcessKnowsAtOnce(t *testing.T) {
	start := time.Now()
	for name, tc := range map[string]struct {
		now  time.Time
		lost bool
	}{
		"just before the deadline":     {start.Add(10*time.Second - 1), false},
		"at the deadline":              {start.Add(10 * time.Second), true},
		"the monotonic clock went on":  {start.Add(time.Hour), true},
		"only the wall clock went on":  {start.Round(0).Add(time.Hour), true},
		"the wall clock was set back":  {start.Add(time.Second), false},
		"a renewal that took no time":  {start, false},
		"only the wall clock, shortly": {start.Round(0).Add(9 * time.Second), false},
	} {
		t.Run(name, func(t *testing.T) {
			l := &lock{clock: func() time.Time { return tc.now }, deadline: 10 * time.Second, renewed: start}
			if !tc.lost {
				require.NoError(t, l.leads())
				return
			}
			require.ErrorIs(t, l.leads(), leadership.ErrLost)
			l.clock = func() time.Time { return start }
			require.ErrorIs(t, l.leads(), leadership.ErrLost, "it does not come back")
		})
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]Options{
		"whole seconds": {Identity: "x", LeaseDuration: 1500 * time.Millisecond},
		"no identity":   {},
	} {
		err := Run(t.Context(), o, nil)
		require.ErrorContains(t, err, want)
	}
}
