package kubernetes

import (
	"maps"
	"sync"
)

// cache keeps what was read under one revision of the root. While the root is
// the same nothing else changed that matters: every batch changes the root.
// Pages are kept as they are stored; whoever reads them adds the root's commit.
type cache struct {
	mu    sync.Mutex
	now   *root
	pages map[string]*page
	// complete says that a page that is not in pages does not exist.
	complete bool
	// spread says that the root's commit is in all pages.
	spread bool
}

// latest returns the newest root that is known, nil if none.
func (c *cache) latest() *root {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// root returns the root of that revision, nil if it is another one.
func (c *cache) root(revision string) *root {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == nil || c.now.revision() != revision {
		return nil
	}
	return c.now
}

// reset forgets all but r.
func (c *cache) reset(r *root) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.is(r) {
		return
	}
	c.now, c.pages, c.complete, c.spread = r, map[string]*page{}, false, len(r.commit) == 0
}

// drop forgets everything.
func (c *cache) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now, c.pages, c.complete, c.spread = nil, nil, false, false
}

// advance takes over a commit of our own: the pages stay what they were.
func (c *cache) advance(from, to *root) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.is(from) {
		return
	}
	c.now, c.spread = to, len(to.commit) == 0
}

// fill takes over all pages.
func (c *cache) fill(r *root, pages map[string]*page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.is(r) {
		c.now, c.pages, c.spread = r, nil, len(r.commit) == 0
	}
	for name, have := range c.pages {
		if p := pages[name]; p != nil && p.seq < have.seq {
			pages[name] = have // it was brought up to the commit meanwhile
		}
	}
	c.pages, c.complete = pages, true
}

// page returns a page, nil if it does not exist; known is false if it has to be
// read.
func (c *cache) page(r *root, name string) (p *page, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.is(r) {
		return nil, false
	}
	p, ok := c.pages[name]
	return p, ok || c.complete
}

// put takes over a page that was read or written, nil if it does not exist.
func (c *cache) put(r *root, name string, p *page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.is(r) {
		return
	}
	if p == nil {
		delete(c.pages, name)
		return
	}
	if have := c.pages[name]; have == nil || have.seq <= p.seq {
		c.pages[name] = p
	}
}

// all returns all pages, nil if they have to be read.
func (c *cache) all(r *root) map[string]*page {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.is(r) || !c.complete {
		return nil
	}
	return maps.Clone(c.pages)
}

func (c *cache) isSpread(r *root) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(r.commit) == 0 || c.is(r) && c.spread
}

func (c *cache) markSpread(r *root) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.is(r) {
		c.spread = true
	}
}

// is needs the lock.
func (c *cache) is(r *root) bool { return c.now != nil && c.now.revision() == r.revision() }
