// Package kubernetes keeps the state in ConfigMaps of one namespace, so that
// several replicas share it without a database (spec 4.4).
//
// One ConfigMap, the root, is the log's head: every batch is committed by one
// conditional update of it. It holds the records that belong to no scope
// (leader, tick), the number of the last commit, and what the last commit
// changes in the others. Every scope has a ConfigMap of its own, a page, with
// its records and its history; it is brought up to the last commit right after
// it, by whoever comes first. docs/adr/0009-configmaps-behind-one-root.md says
// why, and what happens when a process dies in between.
package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/zeta-scaler/zeta-scaler/kube"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// Defaults of Options.
const (
	DefaultName    = "zeta-scaler"
	DefaultTimeout = kube.DefaultTimeout
	DefaultHistory = 256 << 10
)

// maxHistory leaves room for the records below the limit of 1 MiB that
// Kubernetes sets to the data of a ConfigMap.
const maxHistory = 700 << 10

// Options say where the ConfigMaps are.
type Options struct {
	// Namespace is where the ConfigMaps are; empty is the namespace of the pod
	// or of the kubeconfig's current context.
	Namespace string `yaml:"namespace"`
	// Name is the name of the root and the prefix of all other names: a DNS
	// label of at most 40 characters, "zeta-scaler" if empty. Two services in
	// one namespace need two names.
	Name string `yaml:"name" check:"required"`
	// Kubeconfig is a file; empty is the service account of the pod.
	Kubeconfig string `yaml:"kubeconfig" check:"kubeconfig"`
	// Timeout bounds each request, 10 s if 0.
	Timeout time.Duration
	// HistoryBytes is how much history a scope may have, 1 KiB to 700 KiB as it is
	// stored (the older part compressed); the oldest goes first. 256 KiB if 0.
	HistoryBytes int
	// Logger gets what an operator may have to know; nil discards it.
	Logger *slog.Logger
	// Budget bounds the requests together with those of others, nil does not.
	Budget *kube.Budget
	// Transport, if not nil, wraps the connection to the API server.
	Transport func(http.RoundTripper) http.RoundTripper
}

// Store is a state.Store in ConfigMaps. Any number of processes may use the
// same ones.
type Store struct {
	client       configMaps
	names        names
	timeout      time.Duration
	historyBytes int
	// maxInline is the constant, but for tests.
	maxInline int
	logger    *slog.Logger
	closed    atomic.Bool
	// writing is held by the one write of this process; a channel, so that
	// waiting ends with the caller's context.
	writing chan struct{}
	cache   cache

	mu sync.Mutex
	// doubt is a commit whose outcome is unknown, nil if there is none.
	doubt *doubt
	// trimmed remembers which pages have nothing to trim.
	trimmed map[string]trimmed
}

var _ state.Store = (*Store)(nil)

// Open connects, and creates the root if there is none. It fails if the API
// server cannot be reached or refuses.
func Open(ctx context.Context, o Options) (*Store, error) {
	client, err := kube.Open(kube.Options{
		Kubeconfig: o.Kubeconfig, Timeout: o.Timeout, Transport: o.Transport, Budget: o.Budget,
	})
	if err != nil {
		return nil, fmt.Errorf("opening the state in ConfigMaps: %w", err)
	}
	if o.Namespace == "" {
		o.Namespace = client.Namespace()
	}
	if o.Namespace == "" {
		return nil, errors.New("opening the state in ConfigMaps: no namespace is known: set state.namespace")
	}
	return open(ctx, kube.In[configMap](client, kube.ConfigMaps, o.Namespace), o)
}

func open(ctx context.Context, client configMaps, o Options) (*Store, error) {
	if o.Name == "" {
		o.Name = DefaultName
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.HistoryBytes == 0 {
		o.HistoryBytes = DefaultHistory
	}
	if o.HistoryBytes < 1<<10 || o.HistoryBytes > maxHistory {
		return nil, fmt.Errorf("%w: %d bytes of history per scope, expected %d to %d",
			state.ErrInvalid, o.HistoryBytes, 1<<10, maxHistory)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	n, err := newNames(o.Namespace, o.Name)
	if err != nil {
		return nil, err
	}
	s := &Store{
		client: client, names: n, timeout: o.Timeout, historyBytes: o.HistoryBytes, maxInline: maxInline, logger: o.Logger,
		writing: make(chan struct{}, 1), trimmed: map[string]trimmed{},
	}
	if err := s.ensureRoot(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Get reads one record as it is now.
func (s *Store) Get(ctx context.Context, kind state.Kind, key string) (state.Record, error) {
	missing := fmt.Errorf("%s record %q: %w", kind, key, state.ErrNotFound)
	if err := s.usable(ctx); err != nil {
		return state.Record{}, err
	}
	r, err := s.readRoot(ctx)
	if err != nil {
		return state.Record{}, err
	}
	p := &r.page
	if !inRoot(kind) {
		if p, err = s.readPage(ctx, r, key); err != nil {
			return state.Record{}, err
		}
	}
	rec, ok := p.records[ref{kind, key}]
	if !ok {
		return state.Record{}, missing
	}
	return rec.record(kind, key), nil
}

// Check reports whether the API server answers and lets us read.
func (s *Store) Check(ctx context.Context) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	_, err := s.readRoot(ctx)
	return err
}

// Close makes every later call fail with state.ErrClosed. Nothing has to be
// flushed.
func (s *Store) Close() error {
	s.closed.Store(true)
	return nil
}

func (s *Store) usable(ctx context.Context) error {
	if s.closed.Load() {
		return state.ErrClosed
	}
	return ctx.Err()
}

// within bounds one request.
func (s *Store) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.timeout)
}

// explain turns a refusal into a sentence that says what to do.
func (s *Store) explain(doing, name string, err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return fmt.Errorf("%s ConfigMap %s/%s: %w (the service account needs get, list, create, update and delete "+
			"on configmaps in this namespace)", doing, s.names.namespace, name, err)
	}
	return fmt.Errorf("%s ConfigMap %s/%s: %w", doing, s.names.namespace, name, err)
}
