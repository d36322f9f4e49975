package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/zeta-scaler/zeta-scaler/kube"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// perPage bounds one reply of the API server to about 25 MiB.
const perPage = 100

// storedPage returns the page of a key as it is stored, an empty one if there
// is none. It may lack the root's commit.
func (s *Store) storedPage(ctx context.Context, r *root, key string) (*page, error) {
	name := s.names.page(key)
	if p, known := s.cache.page(r, name); known {
		return s.orEmpty(p, key), nil
	}
	p, err := s.fetchPage(ctx, name)
	if err != nil {
		return nil, err
	}
	if p != nil && p.key != key {
		return nil, fmt.Errorf("ConfigMap %s/%s belongs to scope %q, not to %q", s.names.namespace, name, p.key, key)
	}
	s.cache.put(r, name, p)
	return s.orEmpty(p, key), nil
}

func (s *Store) orEmpty(p *page, key string) *page {
	if p != nil {
		return p
	}
	p = &page{key: key, meta: s.names.meta(s.names.page(key), pagePart)}
	p.meta.Annotations = map[string]string{scopeAnnotation: key}
	return p
}

// fetchPage asks the API server; it returns nil if there is no such page.
func (s *Store) fetchPage(ctx context.Context, name string) (*page, error) {
	cm, err := s.getConfigMap(ctx, name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, s.explain("reading", name, err)
	}
	p, err := decodePage(cm)
	if err != nil {
		return nil, err
	}
	return &p, nil
}

// readPage returns the page of a key with the root's commit. A page that is
// further than the root is right too: it holds what was committed since.
func (s *Store) readPage(ctx context.Context, r *root, key string) (*page, error) {
	p, err := s.storedPage(ctx, r, key)
	if err != nil {
		return nil, err
	}
	return s.committed(r, p)
}

// committed adds the root's commit to a page that lacks it.
func (s *Store) committed(r *root, p *page) (*page, error) {
	d := r.commit[p.meta.Name]
	if d == nil || p.seq >= r.page.seq {
		return p, nil
	}
	return p.with(d, r.page.seq, s.historyBytes)
}

// readAll returns all pages as of one moment, by name. The API server answers a
// list, in however many pieces, as of one moment too, the root among it.
func (s *Store) readAll(ctx context.Context) (map[string]*page, error) {
	r, err := s.readRoot(ctx)
	if err != nil {
		return nil, err
	}
	if pages := s.cache.all(r); pages != nil {
		return s.overlay(r, pages)
	}
	var pages map[string]*page
	r, pages, err = s.fetchAll(ctx)
	if err != nil {
		return nil, err
	}
	return s.overlay(r, pages)
}

// fetchAll lists everything and returns the pages as they are stored.
func (s *Store) fetchAll(ctx context.Context) (*root, map[string]*page, error) {
	found, err := s.list(ctx)
	if err != nil {
		return nil, nil, err
	}
	cm := found[s.names.root]
	if cm == nil {
		return nil, nil, fmt.Errorf("ConfigMap %s/%s: %w", s.names.namespace, s.names.root, errNoRoot)
	}
	r, err := decodeRoot(cm)
	if err == nil {
		err = r.decodeCommit(s.names)
	}
	if err != nil {
		return nil, nil, err
	}
	pages := make(map[string]*page, len(found))
	for name, cm := range found {
		if cm.Labels[partLabel] != pagePart {
			continue
		}
		p, err := decodePage(cm)
		if err != nil {
			return nil, nil, err
		}
		pages[name] = &p
	}
	s.cache.fill(r, maps.Clone(pages))
	return r, pages, nil
}

// overlay adds the root's commit to all pages that lack it.
func (s *Store) overlay(r *root, pages map[string]*page) (map[string]*page, error) {
	for name, d := range r.commit {
		p, err := s.committed(r, s.orEmpty(pages[name], d.Key))
		if err != nil {
			return nil, err
		}
		pages[name] = p
	}
	return pages, nil
}

// list reads all ConfigMaps of the store as of one moment, by name.
func (s *Store) list(ctx context.Context) (map[string]*configMap, error) {
	found := map[string]*configMap{}
	o := kube.Select{Labels: s.names.selector(), Limit: perPage}
	for {
		short, cancel := s.within(ctx)
		list, err := s.client.List(short, o)
		cancel()
		if apierrors.IsResourceExpired(err) && o.Continue != "" {
			// It took longer than the API server remembers: begin again.
			clear(found)
			o.Continue = ""
			continue
		}
		if err != nil {
			return nil, s.explain("listing", s.names.root, err)
		}
		for i := range list.Items {
			found[list.Items[i].Name] = &list.Items[i]
		}
		if o.Continue = list.Metadata.Continue; o.Continue == "" {
			return found, nil
		}
	}
}

// List returns all records of a kind, sorted by key.
func (s *Store) List(ctx context.Context, kind state.Kind) ([]state.Record, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	out := []state.Record{}
	add := func(p *page) {
		for r, rec := range p.records {
			if r.kind == kind {
				out = append(out, rec.record(r.kind, r.key))
			}
		}
	}
	if inRoot(kind) {
		r, err := s.readRoot(ctx)
		if err != nil {
			return nil, err
		}
		add(&r.page)
	} else {
		pages, err := s.readAll(ctx)
		if err != nil {
			return nil, err
		}
		for _, p := range pages {
			add(p)
		}
	}
	slices.SortFunc(out, func(a, b state.Record) int { return cmp.Compare(a.Key, b.Key) })
	return out, nil
}

// History returns entries, newest first.
func (s *Store) History(ctx context.Context, f state.Filter) ([]state.Entry, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if f.Scope != "" {
		r, err := s.readRoot(ctx)
		if err != nil {
			return nil, err
		}
		p, err := s.readPage(ctx, r, f.Scope)
		if err != nil {
			return nil, err
		}
		return p.find(f, []state.Entry{})
	}
	pages, err := s.readAll(ctx)
	if err != nil {
		return nil, err
	}
	out := []state.Entry{}
	for _, p := range pages {
		if out, err = p.find(f, out); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b state.Entry) int { return cmp.Compare(b.ID, a.ID) })
	return out[:min(len(out), f.Limit)], nil
}

// find appends up to f.Limit entries that match.
func (p *page) find(f state.Filter, out []state.Entry) ([]state.Entry, error) {
	n := 0
	for l, err := range p.history.backward(f.Before) {
		if err != nil {
			return nil, fmt.Errorf("reading the history of scope %q: %w", p.key, err)
		}
		if n == f.Limit {
			break
		}
		if e := l.entry(p.key); f.Matches(e) {
			out = append(out, e)
			n++
		}
	}
	return out, nil
}
