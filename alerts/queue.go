package alerts

import (
	"container/list"
	"slices"
	"sync"
)

// message is one alert as it goes over the wire.
type message struct {
	identity string
	body     []byte
}

// queue is bounded and gives up the oldest message for a new one. Of one alert
// it holds only the newest message: while an Alertmanager is away, an alert
// takes one place however often it is sent again.
type queue struct {
	mu    sync.Mutex
	order *list.List // of message
	of    map[string]*list.Element
	limit int
	// filled has a token while there may be something to take.
	filled chan struct{}
}

func newQueue(limit int) *queue {
	return &queue{order: list.New(), of: map[string]*list.Element{}, limit: limit, filled: make(chan struct{}, 1)}
}

// put returns how many older messages had to go.
func (q *queue) put(messages []message) (dropped int) {
	q.mu.Lock()
	for _, m := range messages {
		if have := q.of[m.identity]; have != nil {
			have.Value = m
			continue
		}
		if q.order.Len() >= q.limit {
			q.pop()
			dropped++
		}
		q.of[m.identity] = q.order.PushBack(m)
	}
	q.mu.Unlock()
	select {
	case q.filled <- struct{}{}:
	default:
	}
	return dropped
}

// take removes at most n messages, the oldest first.
func (q *queue) take(n int) []message {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make([]message, 0, min(n, q.order.Len()))
	for len(out) < cap(out) {
		out = append(out, q.pop())
	}
	return out
}

// putBack returns messages that could not be sent to the front, but those that
// a newer one has replaced meanwhile. It returns how many found no place: they
// are the oldest.
func (q *queue) putBack(messages []message) (dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range slices.Backward(messages) {
		switch {
		case q.of[m.identity] != nil:
		case q.order.Len() >= q.limit:
			dropped++
		default:
			q.of[m.identity] = q.order.PushFront(m)
		}
	}
	return dropped
}

func (q *queue) pop() message {
	m := q.order.Remove(q.order.Front()).(message)
	delete(q.of, m.identity)
	return m
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.order.Len()
}

func (q *queue) capacity() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.limit
}

// resize changes the limit and returns how many messages had to go.
func (q *queue) resize(limit int) (dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.limit = limit; q.order.Len() > limit; dropped++ {
		q.pop()
	}
	return dropped
}
