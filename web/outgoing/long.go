package outgoing

import (
	"context"
	"io"
	"time"
)

// LongReplies is the place for the one reply of several that may be longer than
// what each may take. Servers that answer many requests without end, or with a
// few bytes of gzip that never stop, so take up the bound of one reply once, and
// not once for each of them. Nil has a place for everybody: for replies whose
// length takes no memory.
type LongReplies chan struct{}

// NewLongReplies returns a free place.
func NewLongReplies() LongReplies { return make(LongReplies, 1) }

// Intake reads one reply. Its owner releases it when what was read is no longer
// needed, since decoding takes memory, too.
type Intake struct {
	long LongReplies
	free int64
	// patience is how long this may be the long one, 0 for as long as it lasts;
	// end is called when it is over.
	patience time.Duration
	end      context.CancelFunc
	timer    *time.Timer
	holds    bool
}

// Intake lets a reply have so many bytes without waiting for the place.
func (l LongReplies) Intake(free int64) *Intake { return &Intake{long: l, free: free} }

// Within bounds how long the reply may have the place, so that one that drips
// does not keep it from others: end, which ends its request, is called then.
func (in *Intake) Within(d time.Duration, end context.CancelFunc) *Intake {
	in.patience, in.end = d, end
	return in
}

// Reader is the body of a reply. It waits, within ctx, for the place at once if
// a longer one is announced, else where the free part ends.
func (in *Intake) Reader(ctx context.Context, announced int64, body io.Reader) (io.Reader, error) {
	if announced > in.free {
		if err := in.enter(ctx); err != nil {
			return nil, err
		}
	}
	return &intakeReader{in: in, ctx: ctx, body: body, free: in.free}, nil
}

// Release lets the next long reply in. It may be called twice.
func (in *Intake) Release() {
	if !in.holds {
		return
	}
	in.holds = false
	if in.timer != nil {
		in.timer.Stop()
	}
	<-in.long
}

// enter waits until no other long reply is held.
func (in *Intake) enter(ctx context.Context) error {
	if in.holds || in.long == nil {
		return nil
	}
	select {
	case in.long <- struct{}{}:
		in.holds = true
		if in.patience > 0 {
			in.timer = time.AfterFunc(in.patience, in.end)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// intakeReader reads the free bytes at once and what is beyond when it may.
type intakeReader struct {
	in   *Intake
	ctx  context.Context //nolint:containedctx // of the one request whose body this is
	body io.Reader
	free int64
}

// Read waits, within the time of the request, where the free part ends.
func (r *intakeReader) Read(p []byte) (int, error) {
	if r.free == 0 {
		if err := r.in.enter(r.ctx); err != nil {
			return 0, err
		}
	}
	if r.in.holds || r.in.long == nil {
		return r.body.Read(p)
	}
	n, err := r.body.Read(p[:min(int64(len(p)), r.free)])
	r.free -= int64(n)
	return n, err
}
