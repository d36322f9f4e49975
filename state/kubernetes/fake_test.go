package kubernetes

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/zeta-scaler/zeta-scaler/kube"
)

var resource = schema.GroupResource{Resource: "configmaps"}

// errLost is what a client sees of a request whose fate it does not learn.
var errLost = errors.New("connection reset by peer")

// server plays the ConfigMaps of an API server: resource versions,
// preconditions and the size limit. The real one is used in e2e.
type server struct {
	mu       sync.Mutex
	revision int
	objects  map[string]*configMap
	writes   int
	requests int
	// fault decides about a request before it is executed; nil lets all pass.
	fault func(verb, name string) fate
	// late are requests whose client has given up, and which are executed a few
	// requests later all the same.
	late []func() error
}

// fate is what becomes of a request.
type fate int

const (
	pass fate = iota
	// lost requests are not executed, unanswered ones are, delayed ones will be.
	lost
	unanswered
	delayed
)

func newServer() *server { return &server{objects: map[string]*configMap{}} }

func (s *server) do(ctx context.Context, verb, name string, execute func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	f := pass
	if s.fault != nil {
		f = s.fault(verb, name)
	}
	if len(s.late) > 0 && s.requests%7 == 0 {
		_ = s.late[0]()
		s.late = s.late[1:]
	}
	switch f {
	case lost:
		return errLost
	case delayed:
		if verb != "get" && verb != "list" {
			s.late = append(s.late, execute)
		}
		return errLost
	}
	if err := execute(); err != nil {
		return err
	}
	if f == unanswered {
		return errLost
	}
	return nil
}

// copy shares nothing with the original.
func (cm *configMap) copy() *configMap {
	c := *cm
	c.ObjectMeta = *cm.DeepCopy() // of the metadata
	c.Data, c.BinaryData = maps.Clone(cm.Data), maps.Clone(cm.BinaryData)
	return &c
}

func (s *server) store(cm *configMap) error {
	size := 0
	for _, v := range cm.Data {
		size += len(v)
	}
	for _, v := range cm.BinaryData {
		size += len(v)
	}
	if size > 1<<20 {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, cm.Name, nil)
	}
	s.revision++
	s.writes++
	cm.ResourceVersion = strconv.Itoa(s.revision)
	s.objects[cm.Name] = cm
	return nil
}

func (s *server) Get(ctx context.Context, name string) (out *configMap, err error) {
	err = s.do(ctx, "get", name, func() error {
		cm, ok := s.objects[name]
		if !ok {
			return apierrors.NewNotFound(resource, name)
		}
		out = cm.copy()
		return nil
	})
	return out, err
}

func (s *server) List(ctx context.Context, o kube.Select) (out *kube.List[configMap], err error) {
	selector, err := labels.Parse(o.Labels)
	if err != nil {
		return nil, err
	}
	err = s.do(ctx, "list", "", func() error {
		out = &kube.List[configMap]{}
		for _, name := range slices.Sorted(maps.Keys(s.objects)) {
			if cm := s.objects[name]; selector.Matches(labels.Set(cm.Labels)) {
				out.Items = append(out.Items, *cm.copy())
			}
		}
		return nil
	})
	return out, err
}

func (s *server) Create(ctx context.Context, cm *configMap) (*configMap, error) {
	var out atomic.Pointer[configMap] // a late request is carried out after the answer
	err := s.do(ctx, "create", cm.Name, func() error {
		if s.objects[cm.Name] != nil {
			return apierrors.NewAlreadyExists(resource, cm.Name)
		}
		stored := cm.copy()
		stored.UID = types.UID("uid-" + strconv.Itoa(s.revision))
		defer func() { out.Store(stored.copy()) }()
		return s.store(stored)
	})
	return out.Load(), err
}

func (s *server) Update(ctx context.Context, name string, cm *configMap) (*configMap, error) {
	var out atomic.Pointer[configMap] // a late request is carried out after the answer
	err := s.do(ctx, "update", name, func() error {
		have := s.objects[cm.Name]
		switch {
		case have == nil:
			return apierrors.NewNotFound(resource, cm.Name)
		case cm.ResourceVersion == "":
			return apierrors.NewBadRequest("the store never updates without a resource version")
		case cm.ResourceVersion != have.ResourceVersion || cm.UID != have.UID:
			return apierrors.NewConflict(resource, cm.Name, errors.New("the object has been modified"))
		}
		stored := cm.copy()
		defer func() { out.Store(stored.copy()) }()
		return s.store(stored)
	})
	return out.Load(), err
}

func (s *server) Delete(ctx context.Context, name string, p *metav1.Preconditions) error {
	return s.do(ctx, "delete", name, func() error {
		have := s.objects[name]
		if have == nil {
			return apierrors.NewNotFound(resource, name)
		}
		if p != nil && (*p.UID != have.UID || *p.ResourceVersion != have.ResourceVersion) {
			return apierrors.NewConflict(resource, name, errors.New("precondition failed"))
		}
		delete(s.objects, name)
		s.revision++
		s.writes++
		return nil
	})
}
