package kubernetes

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zeta-scaler/zeta-scaler/kube/kubetest"
	"github.com/zeta-scaler/zeta-scaler/leadership/leadershiptest"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) *metav1.MicroTime {
	t := metav1.NewMicroTime(noon.Add(d))
	return &t
}

func TestWhatACandidateMayWrite(t *testing.T) {
	e := elector{name: "x", identity: "me", duration: 15 * time.Second}
	theirs := leaseSpec{HolderIdentity: "you", LeaseDurationSeconds: 15, AcquireTime: at(-time.Hour), RenewTime: at(99 * time.Hour), LeaseTransitions: 3}
	longer := theirs
	longer.LeaseDurationSeconds = 60
	shorter := theirs
	shorter.LeaseDurationSeconds = 1
	released := leaseSpec{LeaseDurationSeconds: 1, AcquireTime: at(-time.Hour), RenewTime: at(-time.Hour), LeaseTransitions: 3}
	mine := leaseSpec{HolderIdentity: "me", LeaseDurationSeconds: 15, AcquireTime: at(-time.Hour), RenewTime: at(-time.Hour), LeaseTransitions: 3}
	taken := leaseSpec{HolderIdentity: "me", LeaseDurationSeconds: 15, AcquireTime: at(0), RenewTime: at(0), LeaseTransitions: 4}
	for _, tc := range []struct {
		name string
		have *leaseSpec
		ago  time.Duration // since it was first seen
		want *leaseSpec
	}{
		{"there is none", nil, 0, &leaseSpec{HolderIdentity: "me", LeaseDurationSeconds: 15, AcquireTime: at(0), RenewTime: at(0)}},
		{"it was given up", &released, 0, &taken},
		{"it is another's", &theirs, 0, nil},
		{"it is another's, who may be late", &theirs, 15*time.Second - 1, nil},
		{"it has ended by our clock, whatever its own time", &theirs, 15 * time.Second, &taken},
		{"its holder was told a longer duration", &longer, 59 * time.Second, nil},
		{"and that has passed", &longer, time.Minute, &taken},
		{"its holder was told a shorter one", &shorter, 14 * time.Second, nil},
		{"it is ours", &mine, time.Hour, &leaseSpec{
			HolderIdentity: "me", LeaseDurationSeconds: 15, AcquireTime: at(-time.Hour), RenewTime: at(0), LeaseTransitions: 3,
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var o observed
			if tc.have != nil {
				o = o.see(&lease{ObjectMeta: metav1.ObjectMeta{Name: "x", ResourceVersion: "7"}, Spec: *tc.have}, noon.Add(-tc.ago))
			}
			next := e.next(o, noon)
			if tc.want == nil {
				require.Nil(t, next)
				return
			}
			require.Equal(t, *tc.want, next.Spec)
			require.Equal(t, "zeta-scaler", next.Labels["app.kubernetes.io/managed-by"])
			if tc.have != nil {
				require.Equal(t, "7", next.ResourceVersion, "the write is conditional")
			}
		})
	}
}

func TestOnlyARenewalCounts(t *testing.T) {
	l := lease{Spec: leaseSpec{HolderIdentity: "you", RenewTime: at(0)}}
	o := observed{}.see(&l, noon)
	labelled := l
	labelled.Labels, labelled.ResourceVersion = map[string]string{"a": "b"}, "8"
	o = o.see(&labelled, noon.Add(time.Second))
	require.Equal(t, noon, o.since)
	require.Equal(t, "8", o.lease.ResourceVersion)
	renewed := l
	renewed.Spec.RenewTime = at(time.Microsecond)
	require.Equal(t, noon.Add(time.Minute), o.see(&renewed, noon.Add(time.Minute)).since)
}

func TestOnlyOurOwnLeaseIsGivenUp(t *testing.T) {
	e := elector{identity: "me"}
	require.Nil(t, e.release(observed{}, noon))
	require.Nil(t, e.release(observed{lease: &lease{Spec: leaseSpec{HolderIdentity: "you"}}}, noon))
	l := &lease{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}, Spec: leaseSpec{HolderIdentity: "me", LeaseDurationSeconds: 15, LeaseTransitions: 3}}
	got := e.release(observed{lease: l}, noon)
	require.Equal(t, leaseSpec{LeaseDurationSeconds: 1, AcquireTime: at(0), RenewTime: at(0), LeaseTransitions: 3}, got.Spec)
	require.Equal(t, "7", got.ResourceVersion)
}

// What other electors and kubectl read, to the letter.
func TestTheLeaseAsItIsStored(t *testing.T) {
	e := elector{name: "x", identity: "me", duration: 15 * time.Second}
	b, err := json.Marshal(e.next(observed{}, noon))
	require.NoError(t, err)
	require.JSONEq(t, `{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": {"name": "x", "labels": {"app.kubernetes.io/managed-by": "zeta-scaler"}},
		"spec": {
			"holderIdentity": "me", "leaseDurationSeconds": 15, "leaseTransitions": 0,
			"acquireTime": "2026-01-02T12:00:00.000000Z", "renewTime": "2026-01-02T12:00:00.000000Z"
		}
	}`, string(b))
}

// slow is a connection with late replies, as if the process stood still,
// whatever its time-outs.
type slow struct {
	http.RoundTripper
	delay func() time.Duration
}

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.RoundTripper.RoundTrip(r)
	time.Sleep(s.delay())
	return resp, err
}

// contest is a Lease that replicas compete for whose clocks differ by hours, and whose
// requests and replies are lost, late or slow.
type contest struct {
	api   *kubetest.Server
	store state.Store
}

func (c *contest) Replica(t *testing.T, i int, w *leadershiptest.Weather) func(int) leadershiptest.Candidate {
	t.Helper()
	skew := time.Duration(w.Dice(7200)-3600) * time.Second
	fate := func(*http.Request) kubetest.Fate {
		time.Sleep(w.Delay())
		switch n := w.Dice(100); {
		case n < 10:
			return kubetest.Lost
		case n < 20:
			return kubetest.Unanswered
		case n < 25:
			return kubetest.Late
		default:
			return kubetest.Pass
		}
	}
	o := Options{Store: c.store, Identity: fmt.Sprint("replica-", i), Clock: func() time.Time { return time.Now().Add(skew) }}
	require.NoError(t, o.setDefaults())
	return func(int) leadershiptest.Candidate {
		return newCandidate(o, kubetest.Client(t, slow{c.api.Connection(fate), w.Delay}))
	}
}

// Disturb has the server forget what it was asked.
func (c *contest) Disturb(r *rand.Rand) {
	if r.IntN(100) == 0 {
		c.api.Flush()
	}
}

func TestNeverTwoLeaders(t *testing.T) {
	leadershiptest.RunNeverTwoLeaders(t, func() leadershiptest.Contest { return &contest{kubetest.New(), memory.New()} })
}
