package yarn

import (
	"context"
	"sync"
)

// Locks let one of our own writers at a time change a service. Its definition is
// one file, which the services API reads and writes as a whole: of two that write
// at once, one gets an error or is overwritten. The zero value is ready.
type Locks struct {
	mu   sync.Mutex
	held map[string]chan struct{}
}

// lock waits until nobody else changes the service of that name.
func (l *Locks) lock(ctx context.Context, service string) (unlock func(), err error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]chan struct{}{}
	}
	turn, ok := l.held[service]
	if !ok {
		turn = make(chan struct{}, 1)
		l.held[service] = turn
	}
	l.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
