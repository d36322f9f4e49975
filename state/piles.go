package state

import (
	"slices"
	"sync"
)

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

// pilesAtOnce is how many piles one transaction trims: it must not hold up the
// tick's own write.
const pilesAtOnce = 200

// Trim has keepNewest trim the piles that grew, a few at a time, to limit entries
// each; all are the piles that there are, where every one has to be looked at.
// After an error the next Trim looks at all of them.
func (p *Piles) Trim(limit int, all func() ([]Pile, error), keepNewest func([]Pile) error) (err error) {
	piles, every := p.take(limit)
	defer func() {
		if err != nil {
			p.failed()
		}
	}()
	if every {
		if piles, err = all(); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(piles, pilesAtOnce) {
		if err := keepNewest(some); err != nil {
			return err
		}
	}
	return nil
}

// take hands out the piles that a Trim to limit entries has to look at; every is
// true when all have to be looked at instead.
func (p *Piles) take(limit int) (piles []Pile, every bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for d := range p.dirty {
		piles = append(piles, d)
	}
	every = !p.settled || limit < p.limit
	p.dirty, p.limit, p.settled = nil, limit, true
	return piles, every
}

func (p *Piles) failed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settled = false
}
