package state

import "sync"

// Pile is what Trim counts: the history of one kind of one scope.
type Pile struct{ Scope, Kind string }

// Piles remembers for a store which piles grew since the last Trim, so that
// trimming 10,000 scopes costs what changed and not what is stored. The first
// Trim, and the first with a smaller limit, looks at all of them. It is safe for
// concurrent use; the zero value is ready.
type Piles struct {
	mu    sync.Mutex
	dirty map[Pile]struct{}
	// limit is the greatest count that every pile not in dirty may have.
	limit   int
	settled bool
}

// Grew notes what was stored.
func (p *Piles) Grew(entries []Entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dirty == nil {
		p.dirty = map[Pile]struct{}{}
	}
	for _, e := range entries {
		p.dirty[Pile{e.Scope, e.Kind}] = struct{}{}
	}
}

// Take hands out the piles that a Trim to limit entries has to look at; all is
// true when every pile has to be looked at instead.
func (p *Piles) Take(limit int) (piles []Pile, all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for d := range p.dirty {
		piles = append(piles, d)
	}
	all = !p.settled || limit < p.limit
	p.dirty, p.limit, p.settled = nil, limit, true
	return piles, all
}

// Failed makes the next Trim look at everything.
func (p *Piles) Failed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settled = false
}
