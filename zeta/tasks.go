package zeta

import "sync"

// tasks are goroutines that can be waited for. Unlike a bare sync.WaitGroup it
// may be asked for more while it is being closed: it then refuses.
type tasks struct {
	mu     sync.Mutex
	closed bool
	group  sync.WaitGroup
}

// start runs f and reports whether it did.
func (t *tasks) start(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.group.Go(f)
	return true
}

// begin counts the caller as a task that ends with end, and reports whether it
// may go on.
func (t *tasks) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.group.Add(1)
	}
	return !t.closed
}

func (t *tasks) end() { t.group.Done() }

// close waits for all and lets no more begin.
func (t *tasks) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.group.Wait()
}
