package source

import (
	"context"
	"io"
	"net/http"
	"slices"
)

// Bounds of the memory of replies, in bytes.
const (
	// smallReply is what every reply may take. The samples of some 20,000 scopes
	// fit in it, so that waiting is for the unusual.
	smallReply = 4 << 20
	// maxChunk is the unit in which a reply of unknown length is gathered.
	maxChunk = 1 << 20
)

// longReplies is the place for the one reply of a source that may be longer
// than smallReply. A server that answers all queries of a tick without end, or
// with a few bytes of gzip that never stop, so takes up MaxResponse once and
// not once for each of them.
type longReplies chan struct{}

func newLongReplies() longReplies { return make(longReplies, 1) }

// intake reads one reply. Its owner releases it when the bytes that were read
// are no longer needed.
type intake struct {
	long longReplies
	// holds is whether this is the one long reply.
	holds bool
}

// receive sends a request and reads the whole reply. It stands in for the
// api.Client's Do, which gathers bodies in a buffer that doubles and leaves it
// behind with a reader that still fills it when ctx ends.
func (in *intake) receive(ctx context.Context, client *http.Client, req *http.Request) (*http.Response, []byte, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := in.read(ctx, resp)
	return resp, body, err
}

func (in *intake) read(ctx context.Context, resp *http.Response) ([]byte, error) {
	if resp.ContentLength > smallReply {
		if err := in.enter(ctx); err != nil {
			return nil, err
		}
	}
	return readAll(&intakeReader{in: in, ctx: ctx, body: resp.Body, free: smallReply}, resp.ContentLength)
}

// enter waits until no other long reply is held.
func (in *intake) enter(ctx context.Context) error {
	if in.holds {
		return nil
	}
	select {
	case in.long <- struct{}{}:
		in.holds = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// release lets the next long reply in.
func (in *intake) release() {
	if in.holds {
		in.holds = false
		<-in.long
	}
}

// intakeReader reads the free bytes at once and what is beyond when it may.
type intakeReader struct {
	in   *intake
	ctx  context.Context //nolint:containedctx // of the one request whose body this is
	body io.Reader
	free int64
}

// Read waits, within the time of the request, where the small part ends.
func (r *intakeReader) Read(p []byte) (int, error) {
	if r.free == 0 {
		if err := r.in.enter(r.ctx); err != nil {
			return 0, err
		}
	}
	if !r.in.holds && int64(len(p)) > r.free {
		p = p[:r.free]
	}
	n, err := r.body.Read(p)
	if !r.in.holds {
		r.free -= int64(n)
	}
	return n, err
}

// readAll reads to the end. Unlike io.ReadAll and bytes.Buffer it never has
// more than maxChunk to spare, takes what is announced in one piece, and makes
// no copy of what is thrown away because of an error. A size below 0 is unknown.
func readAll(r io.Reader, size int64) ([]byte, error) {
	next := int64(8 << 10)
	if size >= 0 {
		next = size + 1 // the one more is never filled: the end shows without another piece
	}
	var full [][]byte
	chunk := make([]byte, 0, next)
	for {
		n, err := r.Read(chunk[len(chunk):cap(chunk)])
		chunk = chunk[:len(chunk)+n]
		switch {
		case err == io.EOF && len(full) == 0: //nolint:errorlint // a reader's EOF is never wrapped
			return chunk, nil
		case err == io.EOF: //nolint:errorlint // as above
			return slices.Concat(append(full, chunk)...), nil
		case err != nil:
			return nil, err
		}
		if len(chunk) == cap(chunk) {
			full = append(full, chunk)
			next = min(2*next, maxChunk)
			chunk = make([]byte, 0, next)
		}
	}
}
