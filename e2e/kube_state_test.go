//go:build e2e && unix

package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zeta-scaler/zeta-scaler/e2e/kube"
	"github.com/zeta-scaler/zeta-scaler/leadership"
	leaderkubernetes "github.com/zeta-scaler/zeta-scaler/leadership/kubernetes"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/kubernetes"
	"github.com/zeta-scaler/zeta-scaler/state/statetest"
)

// kubeState is a namespace in which a user has just the rights that the store
// and the lease need.
type kubeState struct {
	cluster               *kube.Cluster
	namespace, kubeconfig string
	stores                atomic.Int64
}

// TestKubernetesState runs the shared store and the leadership over it on a real
// API server.
func TestKubernetesState(t *testing.T) {
	c := kube.Start(t, lab, kube.Options{})
	k := &kubeState{cluster: c, namespace: c.Namespace(t, "state"), kubeconfig: c.Kubeconfig(t, "replica")}
	k.grant(t)
	t.Run("conformance", func(t *testing.T) {
		statetest.RunConformance(t, func(t testing.TB) state.Store { return k.open(t, k.fresh(), nil) })
	})
	t.Run("death in the middle of a batch", k.deathInABatch)
	t.Run("two writers", k.twoWriters)
	t.Run("history stays below the limit", k.historyIsBounded)
	t.Run("many scopes in one batch", k.manyScopes)
	t.Run("rights", k.rights)
	t.Run("takeover", k.takeover)
	t.Run("handover", k.handover)
}

func (k *kubeState) grant(t *testing.T) {
	t.Helper()
	rbac := k.cluster.Admin.RbacV1()
	_, err := rbac.Roles(k.namespace).Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "replica"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "create", "update", "delete"}},
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = rbac.RoleBindings(k.namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "replica"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "replica"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "replica"}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// fresh names a store that nobody has used.
func (k *kubeState) fresh() string { return fmt.Sprintf("s%d", k.stores.Add(1)) }

func (k *kubeState) open(t testing.TB, name string, way *way) *kubernetes.Store {
	t.Helper()
	o := kubernetes.Options{Namespace: k.namespace, Name: name, Kubeconfig: k.kubeconfig}
	if way != nil {
		o.Transport = way.wrap
	}
	s, err := kubernetes.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// way is a connection to the API server that can be cut, at once or after some
// more requests, with the last one executed or not.
type way struct {
	http.RoundTripper
	mu sync.Mutex
	// left is how many requests pass; cut says that it counts.
	left     int
	cut      bool
	execute  bool
	requests int
}

var errCutOff = errors.New("the network is down")

func (w *way) wrap(next http.RoundTripper) http.RoundTripper {
	w.RoundTripper = next
	return w
}

func (w *way) cutAfter(n int, execute bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut, w.left, w.execute = true, n, execute
}

func (w *way) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = false
}

func (w *way) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.requests++
	pass, last := !w.cut || w.left > 0, w.cut && w.left == 0 && w.execute
	w.left--
	w.mu.Unlock()
	if !pass && !last {
		return nil, errCutOff
	}
	reply, err := w.RoundTripper.RoundTrip(r)
	if last && err == nil {
		_ = reply.Body.Close()
		return nil, errCutOff
	}
	return reply, err
}

// oddKeys are scopes that no name of a ConfigMap could hold.
var oddKeys = []string{
	"", "prod/a%2Fb", "UPPER", "upper", "日本 \"x\"\n\t\\", strings.Repeat("long-", 200), "../..", "\x00",
}

// writeAll writes n into the records and the history of all odd keys.
func writeAll(ctx context.Context, s state.Store, n int) error {
	var b state.Batch
	for _, key := range oddKeys {
		_, version, err := state.Load[int](ctx, s, state.Execution, key)
		if err != nil {
			return err
		}
		p, err := state.NewPut(state.Execution, key, version, n)
		if err != nil {
			return err
		}
		b.Puts = append(b.Puts, p)
		b.History = append(b.History, state.Entry{Scope: key, At: time.Unix(int64(n), 0), Kind: state.ActionEntry, Value: p.Value})
	}
	_, err := s.Apply(ctx, state.NoFence, b)
	return err
}

// readAll returns the number that is in all of them.
func readAll(t *testing.T, s state.Store) int {
	t.Helper()
	n, _, err := state.Load[int](t.Context(), s, state.Execution, oddKeys[0])
	require.NoError(t, err)
	records, err := s.List(t.Context(), state.Execution)
	require.NoError(t, err)
	require.Len(t, records, len(oddKeys))
	for _, r := range records {
		require.Equal(t, fmt.Sprint(n), string(r.Value), "scope %q", r.Key)
	}
	for _, key := range oddKeys[1:] {
		h, err := s.History(t.Context(), state.Filter{Scope: key, Limit: 1000})
		require.NoError(t, err)
		require.Len(t, h, n, "scope %q", key)
	}
	return n
}

// deathInABatch cuts a writer off at every request of a batch; another one sees
// all of it or nothing, and goes on.
func (k *kubeState) deathInABatch(t *testing.T) {
	name := k.fresh()
	require.NoError(t, writeAll(t.Context(), k.open(t, name, nil), 1))
	n, whole := 1, 0
	for at := 0; ; at++ {
		w := &way{}
		s := k.open(t, name, w)
		require.Equal(t, n, readAll(t, s))
		w.mu.Lock()
		before := w.requests
		w.mu.Unlock()
		w.cutAfter(at, at%2 == 1)
		err := writeAll(t.Context(), s, n+1)
		other := k.open(t, name, nil)
		have := readAll(t, other)
		if err == nil {
			require.Equal(t, n+1, have, "an acknowledged batch is gone")
			whole++
		}
		require.Contains(t, []int{n, n + 1}, have)
		n = have + 1
		require.NoError(t, writeAll(t.Context(), other, n))
		require.Equal(t, n, readAll(t, k.open(t, name, nil)))
		if w.requests-before <= at {
			t.Logf("a batch over %d ConfigMaps: died at each of %d requests", len(oddKeys), at)
			require.Greater(t, whole, len(oddKeys), "once committed, a batch is whole wherever the writer dies")
			return
		}
	}
}

func (k *kubeState) twoWriters(t *testing.T) {
	const each = 15
	name := k.fresh()
	first := k.open(t, name, nil)
	require.NoError(t, writeAll(t.Context(), first, 0))
	g, ctx := errgroup.WithContext(t.Context())
	for _, s := range []*kubernetes.Store{first, k.open(t, name, nil)} {
		g.Go(func() error {
			for done := 0; done < each; {
				n, _, err := state.Load[int](ctx, s, state.Execution, oddKeys[0])
				if err == nil {
					err = writeAll(ctx, s, n+1)
				}
				switch {
				case err == nil:
					done++
				case !errors.Is(err, state.ErrConflict):
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	n, _, err := state.Load[int](t.Context(), first, state.Execution, oddKeys[1])
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, each)
	require.LessOrEqual(t, n, 2*each)
	h, err := first.History(t.Context(), state.Filter{Scope: oddKeys[1], Limit: 1000})
	require.NoError(t, err)
	require.Len(t, h, 2*each+1, "every acknowledged batch left its line")
}

// historyIsBounded writes far more than a ConfigMap holds, in text that does not
// compress.
func (k *kubeState) historyIsBounded(t *testing.T) {
	s := k.open(t, k.fresh(), nil)
	random := rand.NewChaCha8([32]byte{})
	const batches, lines, size = 20, 10, 16 << 10
	for b := range batches {
		batch := state.Batch{}
		for i := range lines {
			noise := make([]byte, size)
			_, _ = random.Read(noise)
			batch.History = append(batch.History, state.Entry{
				Scope: "loud", At: time.Unix(int64(b*lines+i), 0), Kind: state.DecisionEntry,
				Value: []byte(`"` + base64.StdEncoding.EncodeToString(noise) + `"`),
			})
		}
		_, err := s.Apply(t.Context(), state.NoFence, batch)
		require.NoError(t, err)
	}
	h, err := s.History(t.Context(), state.Filter{Limit: 1000})
	require.NoError(t, err)
	require.NotEmpty(t, h)
	require.Less(t, len(h), batches*lines/4)
	for i, e := range h {
		require.Equal(t, int64(batches*lines-1-i), e.At.Unix(), "the newest are kept, without a gap")
	}
	list, err := k.cluster.Admin.CoreV1().ConfigMaps(k.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=zeta-scaler"})
	require.NoError(t, err)
	require.NotEmpty(t, list.Items)
	for _, cm := range list.Items {
		n := 0
		for _, v := range cm.Data {
			n += len(v)
		}
		for _, v := range cm.BinaryData {
			n += len(v)
		}
		require.Less(t, n, 512<<10, cm.Name)
	}
}

func (k *kubeState) manyScopes(t *testing.T) {
	const scopes = 400
	name := k.fresh()
	w := &way{}
	s := k.open(t, name, w)
	value := bytes.Repeat([]byte("1234567890"), 200) // a number of 2,000 digits
	batch := func(versions []uint64) state.Batch {
		random := rand.NewChaCha8([32]byte{1})
		var b state.Batch
		for i := range scopes {
			noise := make([]byte, 1<<10)
			_, _ = random.Read(noise)
			p := state.Put{Kind: state.Decision, Key: fmt.Sprint("cluster-", i), Value: value}
			if versions != nil {
				p.Version = versions[i]
			}
			b.Puts = append(b.Puts, p)
			b.History = append(b.History, state.Entry{
				Scope: p.Key, Kind: state.DecisionEntry, Value: []byte(`"` + base64.StdEncoding.EncodeToString(noise) + `"`),
			})
		}
		return b
	}
	versions, err := s.Apply(t.Context(), state.NoFence, batch(nil))
	require.NoError(t, err)
	w.mu.Lock()
	before := w.requests
	w.mu.Unlock()
	began := time.Now()
	_, err = s.Apply(t.Context(), state.NoFence, batch(versions))
	require.NoError(t, err)
	t.Logf("a batch over %d scopes: %d requests, %s", scopes, w.requests-before, time.Since(began).Round(time.Millisecond))
	require.Less(t, w.requests-before, scopes+20, "one request per ConfigMap that changes, and a few for the commit")
	records, err := k.open(t, name, nil).List(t.Context(), state.Decision)
	require.NoError(t, err)
	require.Len(t, records, scopes)
}

func (k *kubeState) rights(t *testing.T) {
	_, err := kubernetes.Open(t.Context(), kubernetes.Options{
		Namespace: k.namespace, Kubeconfig: k.cluster.Kubeconfig(t, "somebody"),
	})
	require.ErrorContains(t, err, "get, list, create, update and delete on configmaps in this namespace")
}

// replica is a candidate in a goroutine.
type replica struct {
	name  string
	store *kubernetes.Store
	way   *way
	terms chan leadership.Term
	ended chan time.Time
	stop  context.CancelFunc
	done  chan error
}

func (k *kubeState) replica(t *testing.T, store, name string, timing leadership.Timing) *replica {
	t.Helper()
	r := &replica{
		name: name, way: &way{}, terms: make(chan leadership.Term, 10), ended: make(chan time.Time, 10), done: make(chan error, 1),
	}
	r.store = k.open(t, store, nil)
	ctx, cancel := context.WithCancel(t.Context())
	r.stop = cancel
	go func() {
		r.done <- leaderkubernetes.Run(ctx, leaderkubernetes.Options{
			Store: r.store, Namespace: k.namespace, Name: store, Kubeconfig: k.kubeconfig, Identity: name,
			Timing: timing, Transport: r.way.wrap,
		}, func(ctx context.Context, term leadership.Term) error {
			t.Logf("%s leads under epoch %d", name, term.Epoch)
			r.terms <- term
			<-ctx.Done()
			r.ended <- time.Now()
			return ctx.Err()
		})
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-r.done)
	})
	return r
}

// term waits for the replica's next term.
func (r *replica) term(t *testing.T) leadership.Term {
	t.Helper()
	select {
	case term := <-r.terms:
		return term
	case <-time.After(30 * time.Second):
		require.FailNow(t, r.name+" does not lead")
		return leadership.Term{}
	}
}

func (k *kubeState) takeover(t *testing.T) {
	name := k.fresh()
	short := leadership.Timing{LeaseDuration: 6 * time.Second, RenewDeadline: 4 * time.Second, RetryPeriod: 500 * time.Millisecond}
	one := k.replica(t, name, "one", short)
	old := one.term(t)
	require.NoError(t, old.Leads())
	two := k.replica(t, name, "two", short)
	fence := state.Fence(old.Epoch)
	write := func(s state.Store, f state.Fence, key string, version uint64) error {
		_, err := s.Apply(t.Context(), f, state.Batch{Puts: []state.Put{
			{Kind: state.Decision, Key: key, Version: version, Value: []byte(`{}`)},
		}})
		return err
	}
	require.NoError(t, write(one.store, fence, "a", 0))

	// The leader's renewals stop. Its way to the store stays: the worst case.
	cut := time.Now()
	one.way.cutAfter(0, false)
	over := <-one.ended
	require.ErrorIs(t, old.Leads(), state.ErrFenced)
	now := two.term(t)
	t.Logf("stopped after %s, replaced after %s", over.Sub(cut).Round(time.Millisecond), time.Since(cut).Round(time.Millisecond))
	require.Less(t, over.Sub(cut), short.LeaseDuration)
	require.True(t, over.Before(now.Since), "the old leader stopped before the new one began")
	require.Equal(t, old.Epoch+1, now.Epoch)

	// Not even a record that the new leader never touched can be written.
	require.ErrorIs(t, write(one.store, fence, "b", 0), state.ErrFenced)
	require.ErrorIs(t, write(one.store, fence, "a", 0), state.ErrFenced)
	require.NoError(t, write(two.store, state.Fence(now.Epoch), "b", 0))
	who, err := state.Leaders(one.store).Get(t.Context(), state.EpochKey)
	require.NoError(t, err)
	require.Equal(t, "two", who.Value.Holder)

	one.way.mend()
	two.stop()
	again := one.term(t)
	require.Equal(t, now.Epoch+1, again.Epoch)
	require.ErrorIs(t, old.Leads(), state.ErrFenced, "a new term does not revive the old one")
	require.ErrorIs(t, write(one.store, fence, "c", 0), state.ErrFenced)
}

// handover: nobody waits for a lease that was given up.
func (k *kubeState) handover(t *testing.T) {
	name := k.fresh()
	long := leadership.Timing{LeaseDuration: time.Hour, RenewDeadline: time.Minute, RetryPeriod: 500 * time.Millisecond}
	one := k.replica(t, name, "one", long)
	first := one.term(t)
	two := k.replica(t, name, "two", long)
	asked := time.Now()
	one.stop()
	require.Greater(t, two.term(t).Epoch, first.Epoch)
	t.Logf("handed over in %s", time.Since(asked).Round(time.Millisecond))
}
