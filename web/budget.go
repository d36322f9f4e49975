package web

import (
	"slices"
	"time"
)

// budget is memory and places for visits. Whose turn comes is the client that
// had one least recently, so that many requests of one do not keep others out.
// The readers' lock guards it.
type budget struct {
	memory int64
	places int

	taken   int64
	visits  int
	waiting []*visit
	// served is when each client last had a turn.
	served map[string]time.Time
}

func newBudget(memory int64, places int) *budget {
	return &budget{memory: memory, places: places, served: map[string]time.Time{}}
}

// ask returns a channel that is closed when the turn of a visit has come, or nil
// if too many wait. One client's visits are at most half of those that wait.
func (b *budget) ask(v *visit) <-chan struct{} {
	own := 0
	for _, w := range b.waiting {
		if w.peer == v.peer {
			own++
		}
	}
	if len(b.waiting) >= maxReadersWaiting || own >= maxReadersWaiting/2 {
		return nil
	}
	v.turn = make(chan struct{})
	b.waiting = append(b.waiting, v)
	b.admit()
	return v.turn
}

// withdraw takes back the request of a visit that waits; it reports false if its
// turn has come meanwhile.
func (b *budget) withdraw(v *visit) bool {
	i := slices.Index(b.waiting, v)
	if i < 0 {
		return false
	}
	b.waiting = slices.Delete(b.waiting, i, i+1)
	b.admit()
	return true
}

// leave gives back what a visit has taken.
func (b *budget) leave(v *visit) {
	b.taken -= v.memory
	b.visits--
	b.admit()
}

// admit lets in whose turn it is, as long as there is room.
func (b *budget) admit() {
	for len(b.waiting) > 0 {
		next := 0
		for i, w := range b.waiting {
			if b.served[w.peer].Before(b.served[b.waiting[next].peer]) {
				next = i
			}
		}
		v := b.waiting[next]
		if b.visits >= b.places || b.taken+v.memory > b.memory {
			return
		}
		b.waiting = slices.Delete(b.waiting, next, next+1)
		b.taken += v.memory
		b.visits++
		b.remember(v.peer)
		close(v.turn)
	}
}

// maxServed bounds how many clients are remembered.
const maxServed = 1024

func (b *budget) remember(peer string) {
	if len(b.served) >= maxServed {
		clear(b.served)
	}
	b.served[peer] = time.Now()
}
