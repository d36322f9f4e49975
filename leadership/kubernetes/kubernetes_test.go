package kubernetes

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/kube/kubetest"
	"github.com/zeta-scaler/zeta-scaler/leadership"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// leasePath is where the API server has the Lease of these tests.
const leasePath = "/apis/coordination.k8s.io/v1/namespaces/test/leases/zeta-scaler"

// replica is a candidate that runs in a test.
type replica struct {
	// cut is true while it cannot reach the API server.
	cut atomic.Bool
	// terms gets each term as it begins, ended its end.
	terms chan leadership.Term
	ended chan time.Time
	stop  context.CancelFunc
	done  chan error
}

// begin starts a replica whose lead waits for the end of its context and then
// takes a while to stop.
func begin(t *testing.T, api *kubetest.Server, store state.Store, name string, stopping time.Duration) *replica {
	t.Helper()
	r := &replica{
		terms: make(chan leadership.Term, 10), ended: make(chan time.Time, 10), done: make(chan error, 1),
	}
	o := Options{Store: store, Identity: name, URL: func() string { return "http://" + name + ":9880" }}
	require.NoError(t, o.setDefaults())
	client := api.Client(t, func(*http.Request) kubetest.Fate {
		if r.cut.Load() {
			return kubetest.Lost
		}
		return kubetest.Pass
	})
	lead := func(ctx context.Context, term leadership.Term) error {
		r.terms <- term
		<-ctx.Done()
		r.ended <- time.Now()
		time.Sleep(stopping)
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.stop = cancel
	go func() { r.done <- newCandidate(o, client).Run(ctx, lead) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-r.done)
	})
	return r
}

func TestTakeoverFromALeaderThatIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, store := kubetest.New(), memory.New()
		first := begin(t, api, store, "first", 0)
		one := <-first.terms
		require.Equal(t, uint64(1), one.Epoch)
		second := begin(t, api, store, "second", 0)
		time.Sleep(time.Minute)
		require.NoError(t, one.Leads())
		require.Empty(t, second.terms)

		cut := time.Now()
		first.cut.Store(true)
		over := <-first.ended
		require.ErrorIs(t, one.Leads(), state.ErrFenced)
		require.WithinDuration(t, cut.Add(9*time.Second), over, time.Second, "10 s after the last renewal, 0 to 2 s ago")
		two := <-second.terms
		require.Equal(t, uint64(2), two.Epoch)
		require.Greater(t, time.Since(over), 2*time.Second, "the old leader stopped before the new one began")
		require.Less(t, time.Since(cut), 20*time.Second)
		who, err := state.Leaders(store).Get(t.Context(), state.EpochKey)
		require.NoError(t, err)
		require.Equal(t, "second", who.Value.Holder)
		require.Equal(t, "http://second:9880", who.Value.URL)

		// It comes back, and waits for its turn.
		first.cut.Store(false)
		time.Sleep(time.Minute)
		require.NoError(t, two.Leads())
		require.ErrorIs(t, one.Leads(), state.ErrFenced)
		require.Empty(t, first.terms)
		second.stop()
		require.Equal(t, uint64(3), (<-first.terms).Epoch)
	})
}

func TestStopHandsOverOnlyAfterLeadReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, store := kubetest.New(), memory.New()
		const stopping = 40 * time.Second // longer than a lease
		first := begin(t, api, store, "first", stopping)
		<-first.terms
		second := begin(t, api, store, "second", 0)
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
		api, store := kubetest.New(), memory.New()
		first := begin(t, api, store, "first", time.Minute)
		<-first.terms
		second := begin(t, api, store, "second", 0)
		first.cut.Store(true)
		two := <-second.terms
		first.cut.Store(false)
		time.Sleep(5 * time.Minute)
		require.NoError(t, two.Leads())
		require.Empty(t, second.ended)
	})
}

func TestErrorOfLeadEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, store := kubetest.New(), memory.New()
		o := Options{Store: store, Identity: "first"}
		require.NoError(t, o.setDefaults())
		wrong := errors.New("the port is taken")
		lead := func(context.Context, leadership.Term) error { return wrong }
		require.ErrorIs(t, newCandidate(o, api.Client(t, nil)).Run(t.Context(), lead), wrong)
		var l lease
		require.True(t, api.Object(t, leasePath, &l))
		require.Empty(t, l.Spec.HolderIdentity, "the lease was given up")
	})
}

// broken is a store that cannot be written.
type broken struct {
	state.Store
	repaired atomic.Bool
}

func (b *broken) Apply(ctx context.Context, f state.Fence, batch state.Batch) ([]uint64, error) {
	if !b.repaired.Load() {
		return nil, errors.New("the disk is full")
	}
	return b.Store.Apply(ctx, f, batch)
}

func TestNobodyLeadsWithoutAnEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := kubetest.New()
		store := &broken{Store: memory.New()}
		r := begin(t, api, store, "first", 0)
		time.Sleep(time.Minute)
		require.Empty(t, r.terms)
		store.repaired.Store(true)
		require.Equal(t, uint64(1), (<-r.terms).Epoch)
	})
}

func TestOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]Options{
		"lease duration is 1.5s, expected whole seconds":                            {Identity: "x", Timing: leadership.Timing{LeaseDuration: 1500 * time.Millisecond}},
		"lease duration is 10s, expected more than the renew deadline of 10s":       {Identity: "x", Timing: leadership.Timing{LeaseDuration: 10 * time.Second}},
		"renew deadline is 2s, expected more than 1.2 times the retry period of 2s": {Identity: "x", Timing: leadership.Timing{RenewDeadline: 2 * time.Second}},
		"this process has no identity":                                              {},
	} {
		err := Run(t.Context(), o, nil)
		require.ErrorContains(t, err, want)
	}
}
