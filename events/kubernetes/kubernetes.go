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

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	statekubernetes "github.com/zeta-scaler/zeta-scaler/state/kubernetes"
)

// Controller is who reports the events.
const Controller = "zeta-scaler.io/zeta-scaler"

// DefaultTimeout bounds one request to the API server.
const DefaultTimeout = 5 * time.Second

const (
	clientQPS   = 10
	clientBurst = 50
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
	client   dynamic.Interface

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
	config, _, err := statekubernetes.ClientConfig(o.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubernetes events: %w", err)
	}
	config.Timeout, config.QPS, config.Burst = cmp.Or(o.Timeout, DefaultTimeout), clientQPS, clientBurst
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(rest.AddUserAgent(config, "zeta-scaler"))
	if err != nil {
		return nil, fmt.Errorf("kubernetes events: making a client: %w", err)
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
	event := h.event(e, object, h.uid(ctx, object), leftOut)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(event)
	if err != nil {
		return fmt.Errorf("encoding an event of %s: %w", object, err)
	}
	events := h.client.Resource(eventsv1.SchemeGroupVersion.WithResource("events")).Namespace(object.Namespace)
	_, err = events.Create(ctx, &unstructured.Unstructured{Object: content}, metav1.CreateOptions{FieldManager: "zeta-scaler"})
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
	resource := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: strings.ToLower(o.Kind) + "s"}
	found, err := h.client.Resource(resource).Namespace(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
	if err != nil {
		h.logger.WarnContext(ctx, "kubectl describe will not show events of a workload that cannot be read", "object", o.String(), "err", err)
		known = identity{at: now}
	} else {
		known = identity{uid: found.GetUID(), at: now}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.identities[o] = known
	return known.uid
}

// event is what is written. Its name follows from what it says: written again
// after a lost reply, by a restart or by another replica, it is the same one.
func (h *Handler) event(e scaling.Event, o Object, uid types.UID, leftOut int) *eventsv1.Event {
	event := &eventsv1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: eventsv1.SchemeGroupVersion.String(), Kind: "Event"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: strings.TrimRight(truncated(o.Name, longestName), "-.") + "." + digest(e),
		},
		EventTime:           metav1.NewMicroTime(e.At),
		ReportingController: Controller, ReportingInstance: h.instance,
		Reason: string(e.Kind), Type: string(e.Severity), Action: truncated(action(e), longestAction),
		Note: note(e, leftOut),
	}
	event.Regarding.APIVersion, event.Regarding.Kind = "apps/v1", o.Kind
	event.Regarding.Namespace, event.Regarding.Name, event.Regarding.UID = o.Namespace, o.Name, uid
	return event
}

// action is the state of the action, or else what is recommended.
func action(e scaling.Event) string {
	switch {
	case e.Execution != nil:
		return string(e.Execution.State)
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
	case e.Recommendation != nil:
		about = append(about, "recommendation "+e.Recommendation.RecommendationID)
	}
	if leftOut > 0 {
		about = append(about, fmt.Sprintf("%d earlier events left out", leftOut))
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
