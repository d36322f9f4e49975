package kube

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is a kind of object by its names in the paths of the API.
type Resource struct {
	// Group is empty for the oldest kinds.
	Group, Version, Plural string
}

// The resources that we use.
var (
	ConfigMaps               = Resource{"", "v1", "configmaps"}
	Pods                     = Resource{"", "v1", "pods"}
	Leases                   = Resource{"coordination.k8s.io", "v1", "leases"}
	Events                   = Resource{"events.k8s.io", "v1", "events"}
	StatefulSets             = Resource{"apps", "v1", "statefulsets"}
	Deployments              = Resource{"apps", "v1", "deployments"}
	HorizontalPodAutoscalers = Resource{"autoscaling", "v2", "horizontalpodautoscalers"}
	ScaledObjects            = Resource{"keda.sh", "v1alpha1", "scaledobjects"}
)

// Workloads returns the resource of a kind of workloads, StatefulSet or
// Deployment; false if it is none of them.
func Workloads(kind string) (Resource, bool) {
	switch kind {
	case "StatefulSet":
		return StatefulSets, true
	case "Deployment":
		return Deployments, true
	default:
		return Resource{}, false
	}
}

// APIVersion is how objects name group and version, as in "apps/v1".
func (r Resource) APIVersion() string {
	return schema.GroupVersion{Group: r.Group, Version: r.Version}.String()
}

func (r Resource) schema() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.Plural}
}

// Objects are those of one resource in one namespace. T has the fields that the
// caller reads and writes, as they are in JSON; what Update is used for must
// have all, because it deletes those that T lacks.
type Objects[T any] struct {
	client    *Client
	resource  Resource
	namespace string
}

// In returns the objects of a resource in a namespace.
func In[T any](c *Client, r Resource, namespace string) Objects[T] {
	return Objects[T]{client: c, resource: r, namespace: namespace}
}

func (o Objects[T]) do(ctx context.Context, r request, reply any) error {
	r.resource, r.namespace = o.resource, o.namespace
	return o.client.do(ctx, &r, reply)
}

// one sends a request whose reply is an object.
func (o Objects[T]) one(ctx context.Context, r request) (*T, error) {
	reply := new(T)
	if err := o.do(ctx, r, reply); err != nil {
		return nil, err
	}
	return reply, nil
}

// Get reads an object as it is now, not from any cache.
func (o Objects[T]) Get(ctx context.Context, name string) (*T, error) {
	return o.one(ctx, request{verb: "get", method: http.MethodGet, name: name})
}

// Create makes an object, whose name is in its metadata, and returns it as it
// is stored.
func (o Objects[T]) Create(ctx context.Context, object *T) (*T, error) {
	return o.one(ctx, request{verb: "create", method: http.MethodPost, query: written(), body: object})
}

// Update puts an object in the place of the one with that name, and returns it
// as it is stored. It is a conflict if that one has another resource version.
func (o Objects[T]) Update(ctx context.Context, name string, object *T) (*T, error) {
	return o.one(ctx, request{verb: "update", method: http.MethodPut, name: name, query: written(), body: object})
}

// Patch changes the fields that the merge patch names, and returns the object
// as it is stored. It is a conflict if the patch has another resource version.
func (o Objects[T]) Patch(ctx context.Context, name string, patch any) (*T, error) {
	return o.one(ctx, request{
		verb: "patch", method: http.MethodPatch, name: name, query: written(),
		contentType: "application/merge-patch+json", body: patch,
	})
}

// Delete deletes an object if it fulfils the preconditions, nil for none.
func (o Objects[T]) Delete(ctx context.Context, name string, p *metav1.Preconditions) error {
	return o.do(ctx, request{
		verb: "delete", method: http.MethodDelete, name: name,
		body: metav1.DeleteOptions{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}, Preconditions: p,
		},
	}, nil)
}

// Select says which objects are listed.
type Select struct {
	// Labels is a label selector, empty for all objects.
	Labels string
	// Limit is how many there are in one reply, 0 for all.
	Limit int
	// Continue is that of the reply before, to list what is left as of the same
	// moment.
	Continue string
}

// List is one reply to a request for several objects.
type List[T any] struct {
	// Metadata has Continue if there are more.
	Metadata metav1.ListMeta `json:"metadata"`
	Items    []T             `json:"items"`
}

// List reads several objects.
func (o Objects[T]) List(ctx context.Context, s Select) (*List[T], error) {
	query := url.Values{}
	if s.Labels != "" {
		query.Set("labelSelector", s.Labels)
	}
	if s.Limit > 0 {
		query.Set("limit", strconv.Itoa(s.Limit))
	}
	if s.Continue != "" {
		query.Set("continue", s.Continue)
	}
	reply := new(List[T])
	if err := o.do(ctx, request{verb: "list", method: http.MethodGet, query: query}, reply); err != nil {
		return nil, err
	}
	return reply, nil
}

// written says who writes.
func written() url.Values { return url.Values{"fieldManager": {FieldManager}} }
