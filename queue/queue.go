// Package queue has a bounded queue that gives up its oldest item for a new one:
// for senders whose newest words say how things are.
package queue

import (
	"container/list"
	"slices"
	"sync"
)

// Queue is safe for concurrent use.
type Queue[T any] struct {
	identity func(T) string
	// filled has a token while there may be something to take.
	filled chan struct{}

	mu    sync.Mutex
	order *list.List // of T, the oldest first
	of    map[string]*list.Element
	limit int
}

// New returns an empty queue for at most limit items, ≥ 1. Of two items with the
// same identity it holds only the newer one, in the place of the older, so that
// what is said again and again takes one place. A nil identity makes every item
// one of its own.
func New[T any](limit int, identity func(T) string) *Queue[T] {
	return &Queue[T]{identity: identity, filled: make(chan struct{}, 1), order: list.New(), of: map[string]*list.Element{}, limit: limit}
}

// Put adds items and returns how many older ones had to go.
func (q *Queue[T]) Put(items ...T) (dropped int) {
	q.mu.Lock()
	for _, item := range items {
		if have := q.find(item); have != nil {
			have.Value = item
			continue
		}
		if q.order.Len() >= q.limit {
			q.pop()
			dropped++
		}
		q.index(item, q.order.PushBack(item))
	}
	q.mu.Unlock()
	select {
	case q.filled <- struct{}{}:
	default:
	}
	return dropped
}

// Take removes at most n items, the oldest first.
func (q *Queue[T]) Take(n int) []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make([]T, 0, min(n, q.order.Len()))
	for len(out) < cap(out) {
		out = append(out, q.pop())
	}
	return out
}

// PutBack returns items that were taken to the front, but those that a newer one
// has replaced meanwhile. It returns how many found no place: they are the oldest.
func (q *Queue[T]) PutBack(items []T) (dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, item := range slices.Backward(items) {
		switch {
		case q.find(item) != nil:
		case q.order.Len() >= q.limit:
			dropped++
		default:
			q.index(item, q.order.PushFront(item))
		}
	}
	return dropped
}

// Filled has a token while there may be something to take.
func (q *Queue[T]) Filled() <-chan struct{} { return q.filled }

// Len is how many items wait.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.order.Len()
}

// Limit is how many may.
func (q *Queue[T]) Limit() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.limit
}

// Resize changes the limit and returns how many items had to go.
func (q *Queue[T]) Resize(limit int) (dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.limit = limit; q.order.Len() > limit; dropped++ {
		q.pop()
	}
	return dropped
}

func (q *Queue[T]) find(item T) *list.Element {
	if q.identity == nil {
		return nil
	}
	return q.of[q.identity(item)]
}

func (q *Queue[T]) index(item T, e *list.Element) {
	if q.identity != nil {
		q.of[q.identity(item)] = e
	}
}

func (q *Queue[T]) pop() T {
	item := q.order.Remove(q.order.Front()).(T)
	if q.identity != nil {
		delete(q.of, q.identity(item))
	}
	return item
}
