// Package kubernetes scales a StatefulSet or a Deployment of Zeta workers. A
// Scale is one conditional PATCH of the workload that writes spec.replicas and
// the annotations zeta-scaler.io/… together, so that the platform itself says
// which leader wrote last, for which recommendation, and how many it asked for.
// A Release is the same with one replica less, once it is certain whose pod goes
// (StatefulSet) or after that was asked for (Deployment). Nothing is written
// where somebody else scales the workload too, where a newer leader has written,
// or where a job would die with a worker (Application Mode). See
// docs/actuators-kubernetes.md for rights and remedies.
package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/backoff"
	"github.com/zeta-scaler/zeta-scaler/kube"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// FieldManager owns what is written, in the managed fields of the workload.
const FieldManager = kube.FieldManager

// Kinds of workloads.
const (
	StatefulSet = "StatefulSet"
	Deployment  = "Deployment"
)

// DefaultTimeout bounds one request to the API server.
const DefaultTimeout = kube.DefaultTimeout

const (
	// maxAttempts bounds how often a workload is read again because it changed
	// between read and write: controllers write its status all the time while
	// pods come and go.
	maxAttempts = 6
	// firstPause is the wait before the second attempt; it doubles.
	firstPause = 50 * time.Millisecond
	// watchFor is how long a Deployment has to say which pod it removes.
	watchFor = 5 * time.Second
)

// Options are what an actuator is made of. Namespace, Kind, Name and Logger are
// required.
type Options struct {
	// Namespace is that of the workload.
	Namespace string `yaml:"namespace" check:"required"`
	// Kind is StatefulSet or Deployment.
	Kind string `yaml:"kind" check:"required,oneof=StatefulSet|Deployment"`
	// Name is that of the workload.
	Name string `yaml:"name" check:"required"`
	// Kubeconfig is the path of a kubeconfig, whose current context is used;
	// empty uses the service account of the pod.
	Kubeconfig string `yaml:"kubeconfig" check:"kubeconfig"`
	// Timeout bounds one request, 0 is DefaultTimeout.
	Timeout time.Duration
	// Budget bounds the requests together with those of others, nil does not.
	Budget *kube.Budget
	Logger *slog.Logger
}

// Target is the name of the workload among all targets, such as
// "kubernetes/st/statefulset/seatunnel-worker".
func (o Options) Target() string {
	return strings.Join([]string{"kubernetes", o.Namespace, strings.ToLower(o.Kind), o.Name}, "/")
}

// Validate reports every field that is missing or wrong.
func (o Options) Validate() error {
	var problems []error
	if msgs := validation.IsDNS1123Label(o.Namespace); len(msgs) > 0 {
		problems = append(problems, fmt.Errorf("namespace %q: %s", o.Namespace, msgs[0]))
	}
	if msgs := validation.IsDNS1123Subdomain(o.Name); len(msgs) > 0 {
		problems = append(problems, fmt.Errorf("name %q: %s", o.Name, msgs[0]))
	}
	if o.Kind != StatefulSet && o.Kind != Deployment {
		problems = append(problems, fmt.Errorf("kind %q: must be %s or %s", o.Kind, StatefulSet, Deployment))
	}
	if o.Timeout < 0 {
		problems = append(problems, fmt.Errorf("timeout %s: must not be negative", o.Timeout))
	}
	return errors.Join(problems...)
}

// Actuator scales one workload.
type Actuator struct {
	namespace, kind, name string

	workloads kube.Objects[workload]
	pods      kube.Objects[pod]
	scalers   []scaler
	logger    *slog.Logger
	// pause is the wait before a second attempt, watch how long a Deployment is
	// watched after a release.
	pause, watch time.Duration
}

// New makes an actuator. It calls nothing: a workload that does not exist is
// reported by the first call.
func New(o Options) (*Actuator, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("kubernetes actuator: %w", err)
	}
	client, err := kube.Open(kube.Options{
		Kubeconfig: o.Kubeconfig, Timeout: cmp.Or(o.Timeout, DefaultTimeout), Budget: o.Budget,
	})
	if err != nil {
		return nil, fmt.Errorf("kubernetes actuator: %w", err)
	}
	resource, _ := kube.Workloads(o.Kind) // Validate knows it
	return &Actuator{
		namespace: o.Namespace, kind: o.Kind, name: o.Name,
		workloads: kube.In[workload](client, resource, o.Namespace),
		pods:      kube.In[pod](client, kube.Pods, o.Namespace),
		scalers:   newScalers(client, o.Namespace),
		logger:    o.Logger.With("target", o.Target()),
		pause:     firstPause,
		watch:     watchFor,
	}, nil
}

// Capabilities says that workloads and their pods can be read, and that one pod
// can be removed: a StatefulSet's last, any of a Deployment.
func (a *Actuator) Capabilities() actuators.Capabilities {
	return actuators.Capabilities{Observes: true, Releases: true, Chooses: a.kind == Deployment, Lists: true}
}

// Observe reads the workload and looks for other writers.
func (a *Actuator) Observe(ctx context.Context, _ actuators.Target) (actuators.State, error) {
	w, err := a.read(ctx)
	if err != nil {
		return actuators.State{}, err
	}
	fence, err := w.fence()
	if err != nil {
		return actuators.State{}, a.refused("reading what was recorded on %s: %w", a, err)
	}
	s := actuators.State{Desired: w.replicas(), Ready: w.ready(), Fence: fence}
	if other, err := a.otherWriter(ctx, w, actuators.Fence{}); err != nil {
		return actuators.State{}, err
	} else if other != nil {
		s.OtherWriter = other.Writer
	}
	return s, nil
}

// Scale writes want and the fence, in one PATCH that fails if the workload has
// changed since it was looked at.
func (a *Actuator) Scale(ctx context.Context, _ actuators.Target, want int, f actuators.Fence) error {
	if want < 0 || want > math.MaxInt32 {
		return a.refused("scaling %s: %d is no number of replicas", a, want)
	}
	return a.write(ctx, func(w *workload) (*patch, error) {
		other, err := a.otherWriter(ctx, w, f)
		if err != nil {
			return nil, err
		}
		if other != nil {
			return nil, other
		}
		if present := w.replicas(); want < present {
			return nil, a.refused("scaling %s: it has %s and would be lowered to %d", a, scaling.Counted(present, "replica"), want)
		}
		if present := w.replicas(); f.From != nil && *f.From > present {
			return nil, a.refused("scaling %s: it has %s, and Zeta had %s when %d %s asked for: it holds only a part of them", a, scaling.Counted(present, "replica"), scaling.Counted(*f.From, "worker"), want, scaling.Plural(want, "was", "were"))
		}
		return w.scaled(want, f), nil
	}, f.Epoch)
}

// Claim records the epoch of a new leader. If an operator has accepted what is
// there, the present number is recorded with it.
func (a *Actuator) Claim(ctx context.Context, _ actuators.Target, f actuators.Fence) error {
	return a.write(ctx, func(w *workload) (*patch, error) { return w.claimed(f), nil }, f.Epoch)
}

// write reads the workload, decides what to write and writes it. After a
// conflict it reads and decides again.
func (a *Actuator) write(ctx context.Context, decide func(*workload) (*patch, error), epoch uint64) error {
	pause := a.pause
	for attempt := 1; ; attempt++ {
		w, err := a.read(ctx)
		if err != nil {
			return err
		}
		if err := a.mayWrite(w, epoch); err != nil {
			return err
		}
		p, err := decide(w)
		if err == nil && p != nil {
			err = a.send(ctx, p)
		}
		if !errors.Is(err, errConflict) {
			return err
		}
		a.logger.DebugContext(ctx, "the workload changed between read and write", "attempt", attempt)
		if attempt == maxAttempts {
			return fmt.Errorf("writing %s: it changed between read and write %d times in a row", a, attempt)
		}
		if err := backoff.Wait(ctx, pause); err != nil {
			return fmt.Errorf("writing %s: %w", a, err)
		}
		pause *= 2
	}
}

// mayWrite says what forbids every write, whatever it is.
func (a *Actuator) mayWrite(w *workload, epoch uint64) error {
	recorded, err := w.fence()
	if err != nil {
		return a.refused("reading what was recorded on %s: %w", a, err)
	}
	if recorded.Epoch > epoch {
		return fmt.Errorf("writing %s as epoch %d: epoch %d has written it: %w", a, epoch, recorded.Epoch, actuators.ErrStale)
	}
	if id, ok := w.applicationID(); ok {
		return a.refused("writing %s: it belongs to Application Mode cluster %q, whose job fails with any worker", a, id)
	}
	if w.DeletionTimestamp != nil {
		return a.refused("writing %s: it is being deleted", a)
	}
	return nil
}

// String names the workload, as in "StatefulSet st/worker".
func (a *Actuator) String() string { return a.kind + " " + a.namespace + "/" + a.name }

// refused makes an error that ends the action.
func (a *Actuator) refused(format string, args ...any) error {
	return fmt.Errorf("%w: %w", actuators.ErrRefused, fmt.Errorf(format, args...))
}

// once is true the first time.
type once struct{ done atomic.Bool }

func (o *once) first() bool { return o.done.CompareAndSwap(false, true) }
