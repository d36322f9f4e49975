package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
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

// Trim rewrites the pages that have too much, each for itself, and deletes
// pages that are empty and parts of commits that nobody needs. A page that
// somebody else writes at the same time is left for the next time.
func (s *Store) Trim(ctx context.Context, maxRecords int, oldest time.Time) error {
	if maxRecords < 0 {
		return fmt.Errorf("%w: at most %d history records per scope", state.ErrInvalid, maxRecords)
	}
	if err := s.usable(ctx); err != nil {
		return err
	}
	if err := s.startWriting(ctx); err != nil {
		return err
	}
	defer s.stopWriting()
	r, err := s.settledRoot(ctx, true)
	if errors.Is(err, errMoved) {
		return nil // others are busy: the next time will do
	}
	if err != nil {
		return err
	}
	pages := s.cache.all(r)
	if pages == nil {
		var parts []*corev1.ConfigMap
		if r, pages, parts, err = s.fetchAll(ctx); err != nil {
			return err
		}
		s.sweep(ctx, r, parts)
	}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, p := range pages {
		g.Go(func() error { return s.trimPage(within, r, p, maxRecords, oldest) })
	}
	return g.Wait()
}

// trimPage trims one page, or deletes it if it holds nothing. One that the
// root's commit changes is not deleted: without it, it would seem that the
// commit is not in it yet.
func (s *Store) trimPage(ctx context.Context, r *root, p *page, maxRecords int, oldest time.Time) error {
	name := p.meta.Name
	if r.commit[name] != nil && p.seq < r.page.seq {
		return nil // not settled: the next write does it
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
	err := s.client.Delete(short, p.meta.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &p.meta.UID, ResourceVersion: &p.meta.ResourceVersion},
	})
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

// sweep deletes the parts that no root will ever name: their number is taken by
// another commit.
func (s *Store) sweep(ctx context.Context, r *root, parts []*corev1.ConfigMap) {
	var left []string
	for _, cm := range parts {
		seq, err := strconv.ParseUint(cm.Annotations[seqAnnotation], 10, 64)
		if err == nil && seq <= r.page.seq && !slices.Contains(r.head.Parts, cm.Name) {
			left = append(left, cm.Name)
		}
	}
	s.deleteParts(ctx, left)
}
