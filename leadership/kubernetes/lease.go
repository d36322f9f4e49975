package kubernetes

import (
	"maps"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zeta-scaler/zeta-scaler/kube"
)

// lease is a Lease as the API stores it, with all its fields: kubectl and the
// electors of other programs read the same ones.
type lease struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec leaseSpec `json:"spec"`
}

type leaseSpec struct {
	// HolderIdentity is empty once a leader has given the lease up.
	HolderIdentity       string            `json:"holderIdentity"`
	LeaseDurationSeconds int32             `json:"leaseDurationSeconds,omitempty"`
	AcquireTime          *metav1.MicroTime `json:"acquireTime,omitempty"`
	RenewTime            *metav1.MicroTime `json:"renewTime,omitempty"`
	LeaseTransitions     int32             `json:"leaseTransitions"`
	Strategy             string            `json:"strategy,omitempty"`
	PreferredHolder      string            `json:"preferredHolder,omitempty"`
}

// observed is the lease as it was read last, nil if there is none, and when our
// own clock first saw it say what it says. The times in it are of other clocks
// and are compared with nothing.
type observed struct {
	lease *lease
	since time.Time
}

// see takes over what was read just before now. Whoever changes labels only
// renews nothing.
func (o observed) see(l *lease, now time.Time) observed {
	if o.lease == nil || l == nil || !reflect.DeepEqual(o.lease.Spec, l.Spec) {
		o.since = now
	}
	o.lease = l
	return o
}

// holder is who has the lease, empty if nobody.
func (o observed) holder() string {
	if o.lease == nil {
		return ""
	}
	return o.lease.Spec.HolderIdentity
}

// elector decides about the lease for one candidate.
type elector struct {
	name, identity string
	duration       time.Duration
}

// ends is when a lease that another one holds has ended for us, the zero time
// if nobody else holds it. That is as long after it was renewed as it says, and
// at least as long as ours would be: the holder may have been told another
// duration than we were.
func (e elector) ends(o observed) time.Time {
	if holder := o.holder(); holder == "" || holder == e.identity {
		return time.Time{}
	}
	return o.since.Add(max(e.duration, time.Duration(o.lease.Spec.LeaseDurationSeconds)*time.Second))
}

// next is the lease as the candidate may write it now, in the place of the one
// that it observed: to take it, or to go on holding it. It is nil while another
// one may hold it.
func (e elector) next(o observed, now time.Time) *lease {
	if now.Before(e.ends(o)) {
		return nil
	}
	next := &lease{
		TypeMeta:   metav1.TypeMeta{APIVersion: kube.Leases.APIVersion(), Kind: "Lease"},
		ObjectMeta: metav1.ObjectMeta{Name: e.name},
	}
	written := metav1.NewMicroTime(now)
	switch {
	case o.lease == nil:
		next.Spec.AcquireTime = &written
	case o.holder() == e.identity:
		next.ObjectMeta, next.Spec = o.lease.ObjectMeta, o.lease.Spec
	default:
		next.ObjectMeta, next.Spec = o.lease.ObjectMeta, o.lease.Spec
		next.Spec.AcquireTime = &written
		next.Spec.LeaseTransitions++
	}
	next.Labels = maps.Clone(next.Labels)
	if next.Labels == nil {
		next.Labels = map[string]string{}
	}
	next.Labels["app.kubernetes.io/managed-by"] = "zeta-scaler"
	next.Spec.HolderIdentity, next.Spec.RenewTime = e.identity, &written
	next.Spec.LeaseDurationSeconds = int32(e.duration / time.Second) //nolint:gosec // validated
	return next
}

// release is the lease given up, nil if it is not ours.
func (e elector) release(o observed, now time.Time) *lease {
	if o.holder() != e.identity {
		return nil
	}
	next, written := *o.lease, metav1.NewMicroTime(now)
	next.Spec.HolderIdentity, next.Spec.LeaseDurationSeconds = "", 1
	next.Spec.AcquireTime, next.Spec.RenewTime = &written, &written
	return &next
}
