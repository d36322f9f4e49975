package source

import (
	"context"
	"io"
	"net/http"
	"slices"

	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

// Bounds of the memory of replies, in bytes.
const (
	// smallReply is what every reply may take. The samples of some 20,000 scopes
	// fit in it, so that waiting is for the unusual.
	smallReply = 4 << 20
	// maxChunk is the unit in which a reply of unknown length is gathered.
	maxChunk = 1 << 20
)

// receive sends a request and reads the whole reply. It stands in for the
// api.Client's Do, which gathers bodies in a buffer that doubles and leaves it
// behind with a reader that still fills it when ctx ends.
func receive(ctx context.Context, client *outgoing.Client, req *http.Request, in *outgoing.Intake) (*outgoing.Reply, []byte, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	reader, err := in.Reader(ctx, resp.ContentLength, resp.Body)
	if err != nil {
		return nil, nil, err
	}
	body, err := readAll(reader, resp.ContentLength)
	return resp, body, err
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
