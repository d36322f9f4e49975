package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// trimmed says that a page of that revision has nothing to trim.
type trimmed struct {
	revision   string
	maxRecords int
	// oldest is the time of its oldest entry, zero if it has none.
	oldest time.Time
}

func (t trimmed) covers(p *page, maxRecords int, oldest time.Time) bool {
	return t.revision == p.meta.ResourceVersion && maxRecords >= t.maxRecords &&
		(t.oldest.IsZero() || !t.oldest.Before(oldest))
}

// Trim rewrites the pages that have too much, each for itself, and deletes pages
// that are empty. A page that somebody else writes at the same time is left for
// the next time.
func (s *Store) Trim(ctx context.Context, keep state.Retention) error {
	if err := keep.Validate(); err != nil {
		return err
	}
	if err := s.usable(ctx); err != nil {
		return err
	}
	if err := s.startWriting(ctx); err != nil {
		return err
	}
	defer s.stopWriting()
	r, err := s.spreadRoot(ctx, true)
	if errors.Is(err, errMoved) {
		return nil // others are busy: the next time will do
	}
	if err != nil {
		return err
	}
	pages := s.cache.all(r)
	if pages == nil {
		if r, pages, err = s.fetchAll(ctx); err != nil {
			return err
		}
	}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	gone := forgotten(pages, keep.Gone)
	for name, p := range pages {
		keep := keep
		if gone[name] {
			keep.Records = 0
		}
		g.Go(func() error { return s.trimPage(within, r, p, keep.Records, keep.Oldest) })
	}
	return g.Wait()
}

// trimPage trims one page, or deletes it if it holds nothing. One that the
// root's commit changes is not deleted: without it, it would seem that the
// commit is not in it yet.
func (s *Store) trimPage(ctx context.Context, r *root, p *page, maxRecords int, oldest time.Time) error {
	name := p.meta.Name
	if r.commit[name] != nil && p.seq < r.page.seq {
		return nil // not spread: the next write does it
	}
	if p.empty() {
		if r.commit[name] != nil {
			return nil
		}
		return s.deletePage(ctx, r, p)
	}
	s.mu.Lock()
	known := s.trimmed[name]
	s.mu.Unlock()
	if known.covers(p, maxRecords, oldest) {
		return nil
	}
	h, left, changed, err := p.history.trim(maxRecords, oldest)
	if err != nil {
		return fmt.Errorf("trimming the history of scope %q: %w", p.key, err)
	}
	if changed {
		next := *p
		next.history = h
		if p, err = s.writePage(ctx, &next); apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			s.cache.drop()
			return nil
		}
		if err != nil {
			return s.explain("updating", name, err)
		}
		s.cache.put(r, name, p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trimmed[name] = trimmed{p.meta.ResourceVersion, maxRecords, left}
	return nil
}

// deletePage deletes a page if it is still the one that was read.
func (s *Store) deletePage(ctx context.Context, r *root, p *page) error {
	short, cancel := s.within(ctx)
	defer cancel()
	err := s.client.Delete(short, p.meta.Name, &metav1.Preconditions{UID: &p.meta.UID, ResourceVersion: &p.meta.ResourceVersion})
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return s.explain("deleting", p.meta.Name, err)
	}
	if apierrors.IsConflict(err) {
		s.cache.drop()
		return nil
	}
	s.cache.put(r, p.meta.Name, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.trimmed, p.meta.Name)
	return nil
}

// forgotten are the pages of scopes that are gone, but for those with the newest
// history.
func forgotten(pages map[string]*page, limit int) map[string]bool {
	if limit <= 0 {
		return nil
	}
	var gone []string
	for name, p := range pages {
		_, exists := p.records[ref{state.Decision, p.key}]
		if !exists && p.key != state.GlobalKey && !p.history.empty() {
			gone = append(gone, name)
		}
	}
	slices.SortFunc(gone, func(a, b string) int { return cmp.Compare(pages[b].seq, pages[a].seq) })
	out := map[string]bool{}
	for _, name := range gone[min(limit, len(gone)):] {
		out[name] = true
	}
	return out
}
