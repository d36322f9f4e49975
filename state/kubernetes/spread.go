package kubernetes

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"golang.org/x/sync/errgroup"
)

// spread brings all pages up to the root's commit. Anybody may do it, several
// at once and again: a page that has the commit already is left alone.
func (s *Store) spread(ctx context.Context, r *root) error {
	if s.cache.isSpread(r) {
		return nil
	}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, d := range r.commit {
		g.Go(func() error { return s.spreadTo(within, r, d) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	s.cache.markSpread(r)
	return nil
}

// spreadTo writes one page. Each write is conditional on the page that was
// read, so that a process that wakes up after a long sleep undoes nothing.
func (s *Store) spreadTo(ctx context.Context, r *root, d *delta) error {
	stored, err := s.storedPage(ctx, r, d.Key)
	if err != nil {
		return err
	}
	for stored.seq < r.page.seq {
		if stored.seq == 0 {
			if stored, err = s.newPage(ctx, r, d.Key, stored); err != nil {
				return err
			}
			if stored.seq != 0 {
				continue
			}
		}
		next, err := stored.with(d, r.page.seq, s.historyBytes)
		if err != nil {
			return err
		}
		next, err = s.writePage(ctx, next)
		if err == nil {
			s.cache.put(r, next.meta.Name, next)
			return nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return s.explain("updating", stored.meta.Name, err)
		}
		// Somebody else wrote or deleted it: look again.
		if stored, err = s.refetch(ctx, d.Key); err != nil {
			return err
		}
	}
	s.cache.put(r, stored.meta.Name, stored)
	return nil
}

func (s *Store) refetch(ctx context.Context, key string) (*page, error) {
	p, err := s.fetchPage(ctx, s.names.page(key))
	if err != nil {
		return nil, err
	}
	return s.orEmpty(p, key), nil
}

// newPage makes sure that there is a ConfigMap, and that the commit is still
// the root's after that. A page that no commit ever changed may have been
// created anew long after this commit was spread, and the page then deleted:
// only the root can tell. A page that is created holds nothing, so that it does
// no harm if this process then sleeps.
func (s *Store) newPage(ctx context.Context, r *root, key string, p *page) (*page, error) {
	if p.meta.ResourceVersion == "" {
		cm, err := p.encode()
		if err != nil {
			return nil, err
		}
		short, cancel := s.within(ctx)
		cm, err = s.client.Create(short, cm)
		cancel()
		switch {
		case apierrors.IsAlreadyExists(err):
			if p, err = s.refetch(ctx, key); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, s.explain("creating", p.meta.Name, err)
		default:
			created, err := decodePage(cm)
			if err != nil {
				return nil, err
			}
			p = &created
		}
	}
	now, err := s.getRoot(ctx)
	if err != nil {
		return nil, err
	}
	if now.revision() != r.revision() {
		return nil, errMoved
	}
	return p, nil
}

// writePage updates a page that exists and returns it as it is stored.
func (s *Store) writePage(ctx context.Context, p *page) (*page, error) {
	cm, err := p.encode()
	if err != nil {
		return nil, err
	}
	if cm, err = s.update(ctx, cm); err != nil {
		return nil, err
	}
	p.meta.ResourceVersion, p.meta.UID = cm.ResourceVersion, cm.UID
	return p, nil
}
