package postgres

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errCut is what a candidate gets that cannot reach the database.
var errCut = errors.New("the network is down")

// server plays the database: one row, a clock of its own, failovers to other
// servers that may have missed the last writes.
type server struct {
	mu sync.Mutex
	// row as it is stored; renewed is by the clock of the server, written by
	// ours.
	row              row
	renewed, written time.Time
	// started names the run of the server; ahead is how far its clock is.
	started time.Time
	ahead   time.Duration
	// past are the rows that were, oldest first.
	past []server
}

func newServer() *server {
	return &server{row: row{turn: 1, server: time.Now()}, started: time.Now(), renewed: time.Now()}
}

func (s *server) now() time.Time { return time.Now().Add(s.ahead) }

func (s *server) look(context.Context) (row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown(), nil
}

func (s *server) shown() row {
	r := s.row
	r.own = r.server.Equal(s.started)
	r.over = !s.now().Before(s.renewed.Add(r.duration))
	r.server, r.millis = s.started, s.now().UnixMilli()
	return r
}

func (s *server) write(_ context.Context, old row, holder string, duration time.Duration) (row, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.row.turn != old.turn || s.row.holder != old.holder || !s.started.Equal(old.server) {
		return row{}, false, nil
	}
	s.past = append(s.past, server{row: s.row, renewed: s.renewed, written: time.Now()})
	s.row = row{turn: s.row.turn + 1, holder: holder, duration: duration, server: s.started}
	s.renewed, s.written = s.now(), time.Now()
	return s.shown(), true, nil
}

// failOver makes another server the primary, which has missed what was written
// within the last while, and whose clock is another.
func (s *server) failOver(missed, ahead time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.past) - 1; i >= 0 && s.written.After(time.Now().Add(-missed)); i-- {
		s.row, s.renewed, s.written = s.past[i].row, s.past[i].renewed, time.Time{}
		if i > 0 {
			s.written = s.past[i-1].written
		}
		s.past = s.past[:i]
	}
	s.started, s.ahead = time.Now(), ahead
}

// setClock sets the clock of the server.
func (s *server) setClock(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += by
}

// fate is what becomes of a request.
type fate int

const (
	passes fate = iota
	// lost: it never arrives; unanswered: its reply does not.
	lost
	unanswered
)

// path is a candidate's way to the database.
type path struct {
	*server
	fate func() fate
	// delay is how long a request, and a reply, take.
	delay func() time.Duration
}

func (p path) look(ctx context.Context) (r row, err error) {
	err = p.send(func() { r, err = p.server.look(ctx) })
	return r, err
}

func (p path) write(ctx context.Context, old row, holder string, duration time.Duration) (r row, done bool, err error) {
	err = p.send(func() { r, done, err = p.server.write(ctx, old, holder, duration) })
	return r, done, err
}

func (p path) send(do func()) error {
	time.Sleep(p.delay())
	f := p.fate()
	if f == lost {
		return errCut
	}
	do()
	time.Sleep(p.delay())
	if f == unanswered {
		return errCut
	}
	return nil
}
