package kubernetes

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zeta-scaler/zeta-scaler/kube"
)

// configMap is a ConfigMap as the API stores it, with all its fields.
type configMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Immutable  *bool             `json:"immutable,omitempty"`
	Data       map[string]string `json:"data,omitempty"`
	BinaryData map[string][]byte `json:"binaryData,omitempty"`
}

// configMaps is what the store needs of a client: no more rights than get,
// list, create, update and delete.
type configMaps interface {
	Get(ctx context.Context, name string) (*configMap, error)
	List(ctx context.Context, s kube.Select) (*kube.List[configMap], error)
	Create(ctx context.Context, cm *configMap) (*configMap, error)
	Update(ctx context.Context, name string, cm *configMap) (*configMap, error)
	Delete(ctx context.Context, name string, p *metav1.Preconditions) error
}

var _ configMaps = kube.Objects[configMap]{}
