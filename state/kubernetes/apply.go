package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// atOnce is how many requests of one call are under way together.
const atOnce = 8

// errMoved says that somebody else committed meanwhile: begin again.
var errMoved = errors.New("the state was changed meanwhile")

// ErrUnknown says that the API server did not even answer the question whether
// a batch was committed. What is true then shows as soon as it answers again:
// read before the next write.
var ErrUnknown = errors.New("it is unknown whether the batch was committed")

// Apply checks the fence, commits the batch by one conditional update of the
// root (or several, if it is too large for one), and then brings the pages up to
// it. Once the root is written the batch is durable and
// visible, whatever becomes of this process.
func (s *Store) Apply(ctx context.Context, f state.Fence, b state.Batch) ([]uint64, error) {
	if err := validate(b); err != nil {
		return nil, err
	}
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if b.Empty() {
		return nil, nil
	}
	if err := s.startWriting(ctx); err != nil {
		return nil, err
	}
	defer s.stopWriting()
	return s.write(ctx, f, b)
}

// write commits a batch, or its halves one after the other if it is too large
// for the root.
func (s *Store) write(ctx context.Context, f state.Fence, b state.Batch) ([]uint64, error) {
	versions, err := s.commitBatch(ctx, f, b)
	if !errors.Is(err, errTooLarge) {
		return versions, err
	}
	first, second, ok := halves(b)
	if !ok {
		return nil, err
	}
	versions = make([]uint64, len(b.Puts))
	for _, half := range []piece{first, second} {
		written, err := s.write(ctx, f, half.Batch)
		if err != nil {
			return nil, err
		}
		for i, v := range written {
			versions[half.at[i]] = v
		}
	}
	return versions, nil
}

// commitBatch tries until nobody else was faster.
func (s *Store) commitBatch(ctx context.Context, f state.Fence, b state.Batch) ([]uint64, error) {
	for fresh := false; ; fresh = true {
		versions, err := s.attempt(ctx, f, b, fresh)
		switch {
		case errors.Is(err, errMoved) && ctx.Err() == nil:
		case !fresh && (errors.Is(err, state.ErrConflict) || errors.Is(err, state.ErrFenced)):
			// That may be what the cache remembers.
		default:
			return versions, err
		}
	}
}

// validate adds to state.Batch.Validate what ConfigMaps ask for.
func validate(b state.Batch) error {
	if err := b.Validate(); err != nil {
		return err
	}
	text := func(what, key string, values ...string) error {
		if slices.ContainsFunc(append(values, key), func(v string) bool { return !utf8.ValidString(v) }) {
			return fmt.Errorf("%w: %s %q is not UTF-8", state.ErrInvalid, what, key)
		}
		return nil
	}
	for _, p := range b.Puts {
		if err := text(string(p.Kind)+" record", p.Key, string(p.Value)); err != nil {
			return err
		}
	}
	for i, e := range b.History {
		if err := text("history of scope", e.Scope, e.Action, e.Kind, string(e.Value)); err != nil {
			return err
		}
		if len(e.Value) > maxHistory/2 {
			return fmt.Errorf("%w: history entry %d of scope %q has %d bytes, at most %d",
				state.ErrInvalid, i, e.Scope, len(e.Value), maxHistory/2)
		}
	}
	return nil
}

func (s *Store) startWriting(ctx context.Context) error {
	select {
	case s.writing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Store) stopWriting() { <-s.writing }

// spreadRoot returns a root whose commit is in all pages: only then may the
// next one take its place. Unless fresh it may be one that was true a while ago.
func (s *Store) spreadRoot(ctx context.Context, fresh bool) (*root, error) {
	r := s.cache.latest()
	if fresh || r == nil || s.inDoubt() {
		var err error
		if r, err = s.readRoot(ctx); err != nil {
			return nil, err
		}
	}
	return r, s.spread(ctx, r)
}

// attempt makes one try against one root.
func (s *Store) attempt(ctx context.Context, f state.Fence, b state.Batch, fresh bool) ([]uint64, error) {
	r, err := s.spreadRoot(ctx, fresh)
	if err != nil {
		return nil, err
	}
	if err := f.CheckLeader(r.leader()); err != nil {
		return nil, err
	}
	pages, err := s.load(ctx, r, b)
	if err != nil {
		return nil, err
	}
	p, err := s.newPlan(r, pages, b)
	if err != nil {
		return nil, err
	}
	to, err := s.commit(ctx, p)
	if err != nil {
		return nil, err
	}
	// It is committed. What is left is work that anybody can do.
	if err := s.spread(context.WithoutCancel(ctx), to); err != nil && !errors.Is(err, errMoved) {
		s.logger.Warn("state is committed, but not in all ConfigMaps yet; the next write goes on with it",
			"commit", to.page.seq, "err", err)
	}
	return p.versions, nil
}

// load reads the pages that a batch names, by key.
func (s *Store) load(ctx context.Context, r *root, b state.Batch) (map[string]*page, error) {
	keys := map[string]struct{}{}
	for _, p := range b.Puts {
		if !inRoot(p.Kind) {
			keys[p.Key] = struct{}{}
		}
	}
	for _, x := range b.Removes {
		if !inRoot(x.Kind) {
			keys[x.Key] = struct{}{}
		}
	}
	for _, e := range b.History {
		keys[e.Scope] = struct{}{}
	}
	var mu sync.Mutex
	pages := make(map[string]*page, len(keys))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for key := range keys {
		g.Go(func() error {
			p, err := s.readPage(ctx, r, key)
			if err != nil {
				return err
			}
			if p.seq > r.page.seq {
				return errMoved
			}
			mu.Lock()
			defer mu.Unlock()
			pages[key] = p
			return nil
		})
	}
	return pages, g.Wait()
}

// commit writes the plan's root. It returns the root as it is stored, which may
// hold later commits too.
func (s *Store) commit(ctx context.Context, p *plan) (*root, error) {
	cm, err := p.to.encode()
	if err != nil {
		return nil, err
	}
	cm, err = s.update(ctx, cm)
	if err == nil {
		to := *p.to
		to.page.meta.ResourceVersion = cm.ResourceVersion
		s.cache.advance(p.from, &to)
		return &to, nil
	}
	failed := s.explain("committing to", s.names.root, err)
	if refused(err) {
		s.cache.drop()
		return nil, failed
	}
	d := &doubt{id: p.id, revision: p.from.revision()}
	committed, err := s.resolve(context.WithoutCancel(ctx), d)
	if err != nil {
		s.mu.Lock()
		s.doubt = d
		s.mu.Unlock()
		return nil, fmt.Errorf("%w: %w (asking gave: %w)", ErrUnknown, failed, err)
	}
	if !committed {
		if apierrors.IsConflict(failed) {
			return nil, errMoved
		}
		return nil, failed
	}
	return s.readRoot(context.WithoutCancel(ctx))
}

// refused reports whether the API server surely did not execute the request. A
// conflict is looked into: the connection may have sent the request twice.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) ||
		apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsMethodNotSupported(err)
}

// doubt is a commit whose update of the root got no reply.
type doubt struct {
	id string
	// revision is that of the root that it would have replaced.
	revision string
}

func (s *Store) inDoubt() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doubt != nil
}

// endDoubt makes sure, before anything else is read or written, that a
// commit whose outcome is unknown will not happen later.
func (s *Store) endDoubt(ctx context.Context) error {
	s.mu.Lock()
	d := s.doubt
	s.mu.Unlock()
	if d == nil {
		return nil
	}
	committed, err := s.resolve(ctx, d)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.doubt == d {
		s.doubt = nil
		s.logger.Info("the outcome of a batch is known now", "committed", committed)
	}
	return nil
}

// resolve finds out whether a commit happened. If it did not, it changes the
// root's revision, so that the request, which may still be under way, cannot
// succeed any more.
func (s *Store) resolve(ctx context.Context, d *doubt) (committed bool, err error) {
	s.cache.drop()
	ctx, cancel := context.WithTimeout(ctx, 2*s.timeout)
	defer cancel()
	for {
		r, err := s.getRoot(ctx)
		switch {
		case err != nil:
			return false, err
		case slices.Contains(r.head.Recent, d.id):
			return true, nil
		case r.revision() != d.revision:
			return false, nil
		}
		r.head.Fence = d.id
		cm, err := r.encode()
		if err != nil {
			return false, err
		}
		if _, err = s.update(ctx, cm); err == nil {
			return false, nil
		}
		if !apierrors.IsConflict(err) {
			return false, s.explain("fencing", s.names.root, err)
		}
	}
}
