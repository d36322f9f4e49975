package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/zeta-scaler/zeta-scaler/kube"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// root is the content of the root ConfigMap.
type root struct {
	// page has the records of no scope; its seq is that of the last commit.
	page page
	head head
	// commit is what the last commit changes in pages, by name. Nil: nothing, or
	// it is known to be in all of them already.
	commit map[string]*delta
	// inline is the encoded commit.
	inline []byte
}

// head is the data entry "head".
type head struct {
	// LastID is the last history ID.
	LastID int64 `json:"lastId"`
	// Recent are the IDs of the last commits, newest last: whoever got no reply
	// finds out here whether its commit was made.
	Recent []string `json:"recent,omitempty"`
	// Fence names the last commit that was given up. Writing it changes the
	// resource version, so that a request of that commit that is still under way
	// is refused.
	Fence string `json:"fence,omitempty"`
}

const (
	headEntry   = "head"
	commitEntry = "commit"
	// maxRecent is far more than there are writers.
	maxRecent = 64
)

func (r *root) revision() string { return r.page.meta.ResourceVersion }

// leader is the stored Leader record, zero if there is none.
func (r *root) leader() state.Record {
	return r.page.records[ref{state.Leader, state.EpochKey}].record(state.Leader, state.EpochKey)
}

// next is the root of the following commit, without content yet.
func (r *root) next(id string) *root {
	n := &root{page: r.page, head: r.head}
	n.page.seq++
	n.page.records = maps.Clone(r.page.records)
	n.head.Recent = append(slices.Clone(r.head.Recent), id)
	n.head.Recent = n.head.Recent[max(0, len(n.head.Recent)-maxRecent):]
	return n
}

func (r *root) encode() (*configMap, error) {
	cm, err := r.page.encode()
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(r.head)
	if err != nil {
		return nil, fmt.Errorf("encoding the head of ConfigMap %s: %w", cm.Name, err)
	}
	cm.Data[headEntry] = string(b)
	if r.inline != nil {
		cm.BinaryData[commitEntry] = r.inline
	}
	return cm, nil
}

// decodeRoot is the inverse of encode, the commit aside.
func decodeRoot(cm *configMap) (*root, error) {
	p, err := decodePage(cm)
	if err != nil {
		return nil, err
	}
	r := &root{page: p, inline: cm.BinaryData[commitEntry]}
	if err := json.Unmarshal([]byte(cm.Data[headEntry]), &r.head); err != nil {
		return nil, fmt.Errorf("ConfigMap %s is damaged: reading its head: %w", cm.Name, err)
	}
	return r, nil
}

// decodeCommit decodes the commit.
func (r *root) decodeCommit(n names) (err error) {
	if r.commit, err = decodeDeltas(n, r.inline); err != nil {
		return fmt.Errorf("ConfigMap %s is damaged: reading commit %d: %w", r.page.meta.Name, r.page.seq, err)
	}
	return nil
}

// ensureRoot creates the root. Where it is gone but scopes are there it
// refuses: the epoch would begin at 1 again and fence nobody.
func (s *Store) ensureRoot(ctx context.Context) error {
	_, err := s.readRoot(ctx)
	if !errors.Is(err, errNoRoot) {
		return err
	}
	short, cancel := s.within(ctx)
	defer cancel()
	list, err := s.client.List(short, kube.Select{Labels: s.names.selector(), Limit: 2})
	if err != nil {
		return s.explain("listing", s.names.root, err)
	}
	for _, cm := range list.Items {
		if cm.Labels[partLabel] != rootPart {
			return orphaned(s.names)
		}
	}
	r := &root{page: page{meta: s.names.meta(s.names.root, rootPart)}}
	cm, err := r.encode()
	if err != nil {
		return err
	}
	_, err = s.client.Create(short, cm)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return s.explain("creating", s.names.root, err)
	}
	return nil
}

// errNoRoot says that the root is not there.
var errNoRoot = errors.New("the root of the state is missing")

func orphaned(n names) error {
	return fmt.Errorf("ConfigMap %s/%s: %w although scopes have theirs: restore it, or, to start empty, stop all "+
		"replicas and delete all ConfigMaps with the labels %s", n.namespace, n.root, errNoRoot, n.selector())
}

// readRoot asks the API server for the root. What the cache knows about the
// same revision is used again.
func (s *Store) readRoot(ctx context.Context) (*root, error) {
	if err := s.endDoubt(ctx); err != nil {
		return nil, err
	}
	r, err := s.getRoot(ctx)
	if err != nil {
		return nil, err
	}
	if known := s.cache.root(r.revision()); known != nil {
		return known, nil
	}
	if err := r.decodeCommit(s.names); err != nil {
		return nil, err
	}
	s.cache.reset(r)
	return r, nil
}

// getRoot reads the root without its commit.
func (s *Store) getRoot(ctx context.Context) (*root, error) {
	cm, err := s.getConfigMap(ctx, s.names.root)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("ConfigMap %s/%s: %w: was it deleted? a restart says what to do",
			s.names.namespace, s.names.root, errNoRoot)
	}
	if err != nil {
		return nil, s.explain("reading", s.names.root, err)
	}
	return decodeRoot(cm)
}

func (s *Store) getConfigMap(ctx context.Context, name string) (*configMap, error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	return s.client.Get(ctx, name)
}

func (s *Store) update(ctx context.Context, cm *configMap) (*configMap, error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	return s.client.Update(ctx, cm.Name, cm)
}
