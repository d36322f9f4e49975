package web

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Limits of what requests without a credential may cost together, by what replies
// of the same kind took before. Large replies have a budget of their own, so that
// nobody who wants a small one waits for those who want large ones.
const (
	// smallReplies and largeReplies are how much memory, in bytes, replies are made
	// in; smallReaders and largeReaders how many are made at once. A large reply is
	// one that takes more than smallReply.
	smallReplies, largeReplies = 16 << 20, 48 << 20
	smallReaders, largeReaders = 16, 4
	smallReply                 = 4 << 20
	// maxReadersWaiting is how many wait for their turn, readerPatience for how long.
	maxReadersWaiting = 128
	readerPatience    = 8 * time.Second

	// replyMemory is how much memory a byte of a reply takes while it is made, and
	// compressed how many bytes one of a compressed reply stands for.
	replyMemory = 4
	compressed  = 16
	// leastReply is what any reply is taken for, in bytes of memory.
	leastReply = 64 << 10
	// sizesKept is for how long the largest reply of a kind is remembered at least.
	sizesKept = 10 * time.Minute
	// maxKinds bounds the kinds of replies.
	maxKinds = 256
)

// A reply has to be read: each piece within pieceTimeout, all of it within
// replyTimeout.
const (
	replyPiece   = 64 << 10
	pieceTimeout = 3 * time.Second
	replyTimeout = time.Minute
)

// readers are the requests without a credential.
type readers struct {
	// unbounded are those of a handler that has bounds of its own.
	unbounded bool

	mu           sync.Mutex
	small, large *budget
	// sizes are the largest replies of each kind, in bytes, since began, and
	// before are those of the time before.
	sizes, before map[string]int64
	began         time.Time
}

func newReaders() *readers {
	return &readers{
		small: newBudget(smallReplies, smallReaders), large: newBudget(largeReplies, largeReaders),
		sizes: map[string]int64{}, before: map[string]int64{}, began: time.Now(),
	}
}

// free reports whether a request needs no place: probes cost nothing.
func free(r *http.Request) bool {
	return r.URL.Path == "/-/healthy" || r.URL.Path == "/-/ready"
}

// serve answers a request when its turn comes, or at once if known finds that it
// has a credential: a scraper has no time to wait before that is looked at.
func (b *readers) serve(w http.ResponseWriter, r *http.Request, h http.Handler, known func() bool) {
	v := &visit{readers: b, peer: source(r.RemoteAddr), kind: kindOf(r)}
	entered := b.enter(r.Context(), v, 0)
	if !entered && known() {
		h.ServeHTTP(w, r)
		return
	}
	if !entered && !b.enter(r.Context(), v, readerPatience) {
		w.Header().Set("Retry-After", "1")
		deny(w, http.StatusServiceUnavailable, "too many requests without a credential at once; try again, or give a credential")
		return
	}
	defer v.leave()
	h.ServeHTTP(&pacedWriter{ResponseWriter: w, visit: v}, r)
}

// kindOf tells apart replies whose sizes differ.
func kindOf(r *http.Request) string {
	if strings.Contains(r.URL.RawQuery, "scope=") {
		return r.URL.Path + "?scope"
	}
	return r.URL.Path
}

// enter waits so long for a part of a budget and reports whether there was one.
func (b *readers) enter(ctx context.Context, v *visit, patience time.Duration) bool {
	if b.unbounded {
		return true
	}
	b.mu.Lock()
	v.memory = b.expected(v.kind)
	v.of = b.small
	if v.memory > smallReply {
		v.of = b.large
	}
	v.memory = min(v.memory, v.of.memory)
	turn := v.of.ask(v)
	b.mu.Unlock()
	if turn == nil {
		return false
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-turn:
		return true
	default:
	}
	select {
	case <-turn:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return !v.of.withdraw(v)
}

// expected is the memory that a reply of a kind takes; one that was never seen
// may take anything.
func (b *readers) expected(kind string) int64 {
	if now := time.Now(); now.Sub(b.began) > sizesKept {
		b.before, b.sizes, b.began = b.sizes, map[string]int64{}, now
	}
	size, seen := b.sizes[kind]
	earlier, seenEarlier := b.before[kind]
	if !seen && !seenEarlier {
		return largeReplies
	}
	return max(leastReply, replyMemory*max(size, earlier))
}

// visit is one request that is answered, or waits to be.
type visit struct {
	readers    *readers
	peer, kind string
	// of is the budget that it has memory bytes of, nil if there is no bound.
	of     *budget
	memory int64
	turn   chan struct{} // closed when its turn has come

	written int64
	weight  int64 // bytes that one that is written stands for
	ok      bool  // the status was 200
}

// leave gives back what the visit has taken. It may be called twice.
func (v *visit) leave() {
	if v.of == nil {
		return
	}
	b := v.readers
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, seen := b.sizes[v.kind]; v.ok && (seen || len(b.sizes) < maxKinds) {
		b.sizes[v.kind] = max(b.sizes[v.kind], v.written*v.weight)
	}
	v.of.leave(v)
	v.of = nil
}

// pacedWriter sends a reply for as long as somebody reads it.
type pacedWriter struct {
	http.ResponseWriter
	visit *visit
	// end is when the reply has to be read, zero before its first piece.
	end time.Time
	// stream is set for a reply that has no end; it has a place no longer.
	stream, begun bool
}

// WriteHeader notes what kind of reply it is.
func (p *pacedWriter) WriteHeader(status int) {
	if !p.begun && status >= http.StatusOK {
		p.begun = true
		p.visit.ok, p.visit.weight = status == http.StatusOK, 1
		if p.Header().Get("Content-Encoding") != "" {
			p.visit.weight = compressed
		}
		if p.stream = strings.HasPrefix(p.Header().Get("Content-Type"), "text/event-stream"); p.stream {
			p.visit.ok = false
			p.visit.leave()
		}
	}
	p.ResponseWriter.WriteHeader(status)
}

// Write sends piece by piece.
func (p *pacedWriter) Write(b []byte) (int, error) {
	if !p.begun {
		p.WriteHeader(http.StatusOK)
	}
	if p.stream {
		return p.ResponseWriter.Write(b)
	}
	if p.end.IsZero() {
		p.end = time.Now().Add(replyTimeout)
	}
	p.visit.written += int64(len(b))
	control, sent := http.NewResponseController(p.ResponseWriter), 0
	for first := true; first || sent < len(b); first = false {
		deadline := time.Now().Add(pieceTimeout)
		if deadline.After(p.end) {
			deadline = p.end
		}
		_ = control.SetWriteDeadline(deadline) // a connection without deadlines is one in a test
		n, err := p.ResponseWriter.Write(b[sent:min(sent+replyPiece, len(b))])
		if sent += n; err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// Unwrap lets http.ResponseController reach flushing and deadlines.
func (p *pacedWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }
