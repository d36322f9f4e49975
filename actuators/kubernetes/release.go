package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/backoff"
	"github.com/zeta-scaler/zeta-scaler/kube"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Release removes one pod: replicas less one and the fence, in one PATCH that
// fails if the workload has changed since it was looked at. A release that is
// recorded there is done and is not done again.
func (a *Actuator) Release(ctx context.Context, _ actuators.Target, workers []actuators.Worker, f actuators.Fence) error {
	worker, err := actuators.ToRelease(workers, f)
	if err != nil {
		return fmt.Errorf("releasing a worker of %s: %w", a, err)
	}
	var done *workload // on which this release is recorded
	var before []pod   // those that were there when it was asked for
	err = a.write(ctx, func(w *workload) (*patch, error) {
		done, before = nil, nil
		if w.hasDone(f) {
			done = w
			return nil, nil
		}
		if other, err := a.otherWriter(ctx, w, f); err != nil {
			return nil, err
		} else if other != nil {
			return nil, other
		}
		if before, err = a.podsOf(ctx, w); err != nil {
			return nil, err
		}
		if err := a.mayRelease(w, worker, before); err != nil {
			// The pods were read later than the workload: if that has changed since,
			// they say nothing about it.
			if now, e := a.read(ctx); e != nil || now.ResourceVersion != w.ResourceVersion {
				return nil, cmp.Or(e, errConflict)
			}
			return nil, fmt.Errorf("releasing %s of %s: %w", worker.Name, a, err)
		}
		if a.kind == Deployment {
			if err := a.choose(ctx, worker.Name, before); err != nil {
				return nil, err
			}
		}
		return w.released(f), nil
	}, f.Epoch)
	switch {
	case err != nil:
		return err
	case done != nil:
		return a.answerAgain(ctx, done, worker.Name)
	case a.kind == Deployment:
		return a.watchRelease(ctx, worker.Name, before)
	}
	return nil
}

// hasDone reports whether the last release of this very object was f's.
func (w *workload) hasDone(f actuators.Fence) bool {
	_, copied := w.copied()
	return !copied && w.Annotations[ReleaseAnnotation] == f.ActionID
}

// answerAgain answers for a release that is recorded.
func (a *Actuator) answerAgain(ctx context.Context, w *workload, name string) error {
	if writer, detail, found := w.drift(); found {
		return &actuators.OtherWriterError{Writer: writer, Detail: fmt.Sprintf("%s: after %s was released, %s", a, name, detail)}
	}
	if a.kind == StatefulSet || !w.observed() || int(w.Status.Replicas) != w.replicas() {
		return nil
	}
	pods, err := a.podsOf(ctx, w)
	if err != nil {
		return err
	}
	if p, ok := named(pods, name); ok && !p.leaving() {
		return &actuators.OtherWorkerError{Named: name}
	}
	return nil
}

// mayRelease says why a pod must not be released, or why not now. What only needs
// time is a plain error.
func (a *Actuator) mayRelease(w *workload, worker actuators.Worker, pods []pod) error {
	if w.replicas() == 0 {
		return a.refused("it has no replicas")
	}
	if a.kind == StatefulSet {
		if last := w.podOf(w.Spec.Ordinals.Start + w.replicas() - 1); last != worker.Name {
			return a.refused("with %s %s goes first", scaling.Counted(w.replicas(), "replica"), last)
		}
	}
	p, ok := named(pods, worker.Name)
	switch {
	case !ok && a.kind == Deployment:
		return a.refused("it has no such pod, but %s", namesOf(pods))
	case !ok:
		return fmt.Errorf("it has no such pod at the moment, but %s", namesOf(pods))
	case !sameHost(worker.Address, p.Status.PodIP):
		return a.refused("the pod of that name has the address %q, and who was to be released had %q: it is another one by now", p.Status.PodIP, worker.Address)
	case !w.observed():
		return errors.New("its controller has not seen the last change yet")
	case a.kind == StatefulSet:
		return w.lastMayGo(pods)
	default:
		return w.anyMayGo(worker.Name, pods)
	}
}

// lastMayGo says why a StatefulSet would not remove its last pod now: its pods
// have to be those that its spec asks for, and unless they are parallel those
// that stay have to be ready.
func (w *workload) lastMayGo(pods []pod) error {
	first := w.Spec.Ordinals.Start
	var want []string
	for i := range w.replicas() {
		want = append(want, w.podOf(first+w.replicas()-1-i))
	}
	if !slices.EqualFunc(pods, want, func(p pod, name string) bool { return p.Name == name && !p.leaving() }) {
		return fmt.Errorf("its pods are %s, and its %s %s %s", namesOf(pods), scaling.Counted(w.replicas(), "replica"), scaling.Plural(w.replicas(), "is", "are"), strings.Join(want, ", "))
	}
	for i := range pods[1:] {
		if p := &pods[1+i]; w.Spec.PodManagementPolicy != parallel {
			if _, ready := p.ready(); !ready {
				return fmt.Errorf("its pod %s is not ready, and nothing is removed before it is", p.Name)
			}
		}
	}
	return nil
}

// anyMayGo says why the ReplicaSet of a Deployment would remove another pod than
// the one that is named, or nobody knows which.
func (w *workload) anyMayGo(name string, pods []pod) error {
	n := w.replicas()
	if int(w.Status.Replicas) != n || int(w.Status.UpdatedReplicas) != n {
		return fmt.Errorf("it is being rolled out: of %s %d %s there and %d up to date", scaling.Counted(n, "replica"), w.Status.Replicas, scaling.Plural(w.Status.Replicas, "is", "are"), w.Status.UpdatedReplicas)
	}
	if len(pods) != n || slices.ContainsFunc(pods, func(p pod) bool { return p.leaving() }) {
		return fmt.Errorf("its pods are %s, and it has %s", namesOf(pods), scaling.Counted(n, "replica"))
	}
	for i := range pods {
		if _, ready := pods[i].ready(); !ready && pods[i].Name != name {
			return fmt.Errorf("its pod %s is not ready, and would be removed before %s", pods[i].Name, name)
		}
	}
	return nil
}

// choose gives a pod a lower deletion cost than all others, if it has none yet.
func (a *Actuator) choose(ctx context.Context, name string, pods []pod) error {
	victim, _ := named(pods, name) // anyMayGo has found it
	lowest := 0
	for i := range pods {
		if pods[i].Name != name {
			lowest = min(lowest, pods[i].cost())
		}
	}
	if victim.cost() < lowest {
		return nil
	}
	if lowest == math.MinInt32 {
		return a.refused("releasing %s of %s: another pod has the lowest deletion cost that there is", name, a)
	}
	p := patch{Metadata: patchMeta{
		ResourceVersion: victim.ResourceVersion, Annotations: map[string]string{DeletionCostAnnotation: strconv.Itoa(lowest - 1)},
	}}
	switch _, err := a.pods.Patch(ctx, name, &p); {
	case kube.StatusCode(err) == http.StatusNotFound:
		return errConflict // it is gone; what there is has to be read again
	case err != nil:
		return a.callFailed("patch", "pod "+a.namespace+"/"+name, err, false)
	}
	return nil
}

// watchRelease reads after a release which pod of a Deployment goes. As long as
// nobody does, nothing is known against it.
func (a *Actuator) watchRelease(ctx context.Context, name string, before []pod) error {
	ctx, cancel := context.WithTimeout(ctx, a.watch)
	defer cancel()
	for pause := a.pause; backoff.Wait(ctx, pause) == nil; pause = min(2*pause, time.Second) {
		w, err := a.read(ctx)
		if err != nil {
			continue
		}
		now, err := a.podsOf(ctx, w)
		if err != nil {
			continue
		}
		goes := func(p *pod) bool {
			is, ok := named(now, p.Name)
			return !ok || is.leaving() || is.UID != p.UID
		}
		if p, _ := named(before, name); goes(p) {
			return nil
		}
		for i := range before {
			if goes(&before[i]) {
				return &actuators.OtherWorkerError{Named: name, Gone: before[i].Name}
			}
		}
	}
	a.logger.DebugContext(ctx, "no pod goes yet", "worker", name)
	return nil
}

// sameHost compares the address of who was to be released, which may have a port
// or be empty, with the IP of a pod.
func sameHost(address, ip string) bool {
	host := address
	if h, _, err := net.SplitHostPort(address); err == nil {
		host = h
	}
	if address == "" || host == ip {
		return true
	}
	a, b := net.ParseIP(strings.Trim(host, "[]")), net.ParseIP(ip)
	return a != nil && a.Equal(b)
}
