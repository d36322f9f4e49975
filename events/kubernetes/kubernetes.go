// Package kubernetes writes what event handlers are told as Kubernetes Events
// of the workload that a scope scales, so that `kubectl describe` shows
// decisions and actions next to what Kubernetes did. It needs the right to
// create events, and to get the workload for its identity.
package kubernetes

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/zeta-scaler/zeta-scaler/kube"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Controller is who reports the events.
const Controller = "zeta-scaler.io/zeta-scaler"

// DefaultTimeout bounds one request to the API server.
const DefaultTimeout = 5 * time.Second

const (
	// longestNote, longestAction and longestInstance are limits of the API, in
	// bytes; longestName leaves room for what makes a name unique.
	longestNote     = 1024
	longestAction   = 128
	longestInstance = 128
	longestName     = 200
	// identityLife is how long the identity of a workload is not asked again.
	identityLife = 5 * time.Minute
)

// Object is the workload whose events are written.
type Object struct {
	Namespace string
	// Kind is StatefulSet or Deployment.
	Kind string
	Name string
}

// Options are what a handler is made of; Object and Logger are required.
type Options struct {
	// Object returns the workload of a scope, by the scope's key; false if it
	// has none, and then its events are not written.
	Object func(scope string) (Object, bool)
	// Kubeconfig is the path of a kubeconfig, whose current context is used;
	// empty uses the service account of the pod.
	Kubeconfig string
	// Instance names this process, such as the pod's name.
	Instance string
	// Timeout bounds one request, 0 is DefaultTimeout.
	Timeout time.Duration
	// Budget bounds the requests together with those of others, nil does not.
	Budget *kube.Budget
	// Now is the clock, nil is time.Now.
	Now    func() time.Time
	Logger *slog.Logger
}

// Handler writes events. It is an events.Handler, safe for concurrent use.
type Handler struct {
	object   func(scope string) (Object, bool)
	instance string
	now      func() time.Time
	logger   *slog.Logger
	client   *kube.Client

	mu         sync.Mutex
	limits     limits
	identities map[Object]identity
}

// identity is the UID of a workload and when it was asked.
type identity struct {
	uid types.UID
	at  time.Time
}

// New makes a handler. It calls nothing.
func New(o Options) (*Handler, error) {
	client, err := kube.Open(kube.Options{Kubeconfig: o.Kubeconfig, Timeout: cmp.Or(o.Timeout, DefaultTimeout), Budget: o.Budget})
	if err != nil {
		return nil, fmt.Errorf("kubernetes events: %w", err)
	}
	now := o.Now
	if now == nil {
		now = time.Now
	}
	return &Handler{
		object: o.Object, instance: truncated(cmp.Or(o.Instance, "zeta-scaler"), longestInstance), now: now,
		logger: o.Logger, client: client, identities: map[Object]identity{},
	}, nil
}

// Handle writes one event, unless it says again what was said a short while
// ago, or too many were written for its scope. What is left out is counted in
// the next event.
func (h *Handler) Handle(ctx context.Context, e scaling.Event) error {
	object, ok := h.object(e.Scope.Key)
	if !ok {
		return nil
	}
	h.mu.Lock()
	leftOut, ok := h.limits.take(e, h.now())
	h.mu.Unlock()
	if !ok {
		return nil
	}
	said := h.event(e, object, h.uid(ctx, object), leftOut)
	_, err := kube.In[event](h.client, kube.Events, object.Namespace).Create(ctx, said)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("writing an event of %s: %w", object, err)
	}
	return nil
}

// uid returns the identity of a workload: without it kubectl would not find the
// event. An event without is better than none, so it is empty on an error.
func (h *Handler) uid(ctx context.Context, o Object) types.UID {
	now := h.now()
	h.mu.Lock()
	known, ok := h.identities[o]
	h.mu.Unlock()
	if ok && now.Sub(known.at) < identityLife {
		return known.uid
	}
	known = identity{at: now}
	if uid, err := h.askUID(ctx, o); err != nil {
		h.logger.WarnContext(ctx, "kubectl describe will not show events of a workload that cannot be read", "object", o.String(), "err", err)
	} else {
		known.uid = uid
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.identities[o] = known
	return known.uid
}

func (h *Handler) askUID(ctx context.Context, o Object) (types.UID, error) {
	resource, ok := kube.Workloads(o.Kind)
	if !ok {
		return "", fmt.Errorf("kind %q is none of a workload", o.Kind)
	}
	found, err := kube.In[metav1.PartialObjectMetadata](h.client, resource, o.Namespace).Get(ctx, o.Name)
	if err != nil {
		return "", err
	}
	return found.UID, nil
}

// event is one as the API knows it, with the fields that it asks for.
type event struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	EventTime           metav1.MicroTime `json:"eventTime"`
	ReportingController string           `json:"reportingController"`
	ReportingInstance   string           `json:"reportingInstance"`
	Action              string           `json:"action"`
	Reason              string           `json:"reason"`
	Regarding           regarding        `json:"regarding"`
	Note                string           `json:"note"`
	Type                string           `json:"type"`
}

// regarding says which object an event is about.
type regarding struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid,omitempty"`
}

// event is what is written. Its name follows from what it says: written again
// after a lost reply, by a restart or by another replica, it is the same one.
func (h *Handler) event(e scaling.Event, o Object, uid types.UID, leftOut int) *event {
	return &event{
		TypeMeta: metav1.TypeMeta{APIVersion: kube.Events.APIVersion(), Kind: "Event"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: strings.TrimRight(truncated(o.Name, longestName), "-.") + "." + digest(e),
		},
		EventTime:           metav1.NewMicroTime(e.At),
		ReportingController: Controller, ReportingInstance: h.instance,
		Reason: string(e.Kind), Type: string(e.Severity), Action: truncated(action(e), longestAction),
		Regarding: regarding{
			APIVersion: kube.StatefulSets.APIVersion(), Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: uid,
		},
		Note: note(e, leftOut),
	}
}

// action is the state of the action or drain, or else what is recommended.
func action(e scaling.Event) string {
	switch {
	case e.Execution != nil:
		return string(e.Execution.State)
	case e.Drain != nil:
		return string(e.Drain.State)
	case e.Recommendation != nil:
		return string(e.Recommendation.Action)
	default:
		return string(e.Kind)
	}
}

func note(e scaling.Event, leftOut int) string {
	var about []string
	about = append(about, "scope "+e.Scope.Key)
	switch {
	case e.Execution != nil:
		about = append(about, "action "+e.Execution.ID)
	case e.Drain != nil:
		about = append(about, "drain "+e.Drain.ID)
	case e.Recommendation != nil:
		about = append(about, "recommendation "+e.Recommendation.RecommendationID)
	}
	if leftOut > 0 {
		about = append(about, scaling.Counted(leftOut, "earlier event")+" left out")
	}
	tail := truncated(" ("+strings.Join(about, ", ")+")", longestNote/2)
	return truncated(e.Message, longestNote-len(tail)) + tail
}

func digest(e scaling.Event) string {
	sum := sha256.New()
	for _, part := range []string{e.Scope.Key, string(e.Kind), e.At.UTC().Format(time.RFC3339Nano), action(e), e.Message} {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// truncated cuts a text to at most limit bytes, at the end of a character.
func truncated(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const mark = "…"
	cut := limit - len(mark)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}

// String names the workload, as in "StatefulSet st/worker".
func (o Object) String() string { return o.Kind + " " + o.Namespace + "/" + o.Name }
