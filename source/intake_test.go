package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

// endless is a server whose replies never end. It counts the bytes of all
// bodies that were read and are not closed yet.
type endless struct {
	size    int64         // what Content-Length says, -1 for nothing
	small   chan struct{} // closed when all replies have been read up to smallReply
	waiting int           // how many have not

	mu               sync.Mutex
	inFlight, peak   int64
	opened, finished int
}

func newEndless(queries int, size int64) *endless {
	return &endless{size: size, waiting: queries, small: make(chan struct{})}
}

func (e *endless) RoundTrip(*http.Request) (*http.Response, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opened++
	return &http.Response{
		StatusCode: http.StatusOK, ContentLength: e.size,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: &endlessBody{server: e},
	}, nil
}

// read counts. Nobody goes beyond smallReply before everybody has come that far.
func (e *endless) read(body *endlessBody, n int) {
	before, after := body.read, body.read+int64(n)
	if before >= smallReply {
		<-e.small
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	body.read = after
	e.inFlight += int64(n)
	e.peak = max(e.peak, e.inFlight)
	if before < smallReply && after >= smallReply {
		if e.waiting--; e.waiting == 0 {
			close(e.small)
		}
	}
}

type endlessBody struct {
	server *endless
	read   int64
}

func (b *endlessBody) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	b.server.read(b, len(p))
	return len(p), nil
}

func (b *endlessBody) Close() error {
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	b.server.inFlight -= b.read
	b.server.finished++
	b.read = 0
	return nil
}

// remoteOver is a source whose replies come from a transport.
func remoteOver(t *testing.T, rt http.RoundTripper, limit int64) *Remote {
	t.Helper()
	r, err := NewRemote(RemoteOptions{URLs: []string{"http://prometheus.example.org"}, MaxResponse: limit})
	require.NoError(t, err)
	r.client, err = outgoing.New(outgoing.Options{Transport: rt, MaxReply: limit})
	require.NoError(t, err)
	return r
}

func TestEndlessRepliesTogetherStayBounded(t *testing.T) {
	const (
		queries = 8
		limit   = 3 * smallReply
	)
	server := newEndless(queries, -1)
	remote := remoteOver(t, server, limit)
	errs := make([]error, queries)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = remote.Instant(t.Context(), "up", time.Unix(0, 0)) })
	}
	wg.Wait()
	for _, err := range errs {
		require.ErrorIs(t, err, ErrNoAnswer)
		require.Equal(t, reasonTooLarge, reasonOf(err))
	}
	require.Equal(t, queries, server.opened)
	require.Equal(t, queries, server.finished, "abandoned, not read on")
	// All had their small part when the first went on, up to the one byte that
	// shows that the limit is passed.
	require.EqualValues(t, (queries-1)*smallReply+limit+1, server.peak)
}

func TestAnnouncedLongReplyWaitsBeforeItIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newEndless(1, 2*smallReply)
		remote := remoteOver(t, server, 3*smallReply)
		remote.long <- struct{}{} // another long reply is being read
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := remote.Instant(ctx, "up", time.Unix(0, 0))
			done <- err
		}()
		synctest.Wait()
		require.Equal(t, 1, server.opened)
		require.Zero(t, server.peak)
		cancel()
		require.Equal(t, reasonCanceled, reasonOf(<-done))
		require.Equal(t, 1, server.finished)
	})
}

func TestWaitingForALongReplyEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newEndless(1, -1)
		remote := remoteOver(t, server, 3*smallReply)
		remote.long <- struct{}{}
		_, err := remote.Instant(t.Context(), "up", time.Unix(0, 0))
		require.Equal(t, reasonTimeout, reasonOf(err), "the time of a query goes on while it waits")
		require.EqualValues(t, smallReply, server.peak)
		require.Equal(t, 1, server.finished)

		<-remote.long
		_, err = remote.Instant(t.Context(), "up", time.Unix(0, 0))
		require.Equal(t, reasonTooLarge, reasonOf(err))
		require.Empty(t, remote.long, "whoever entered has left")
	})
}

// page answers with one body.
type page string

func (p page) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, ContentLength: -1, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(string(p))),
	}, nil
}

func TestLongRepliesAreAnswersOneAfterTheOther(t *testing.T) {
	const reply = `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"b"},"value":[1,"7"]}]}}`
	remote := remoteOver(t, page(reply+strings.Repeat(" ", 2*smallReply)), 3*smallReply)
	remote.opts.Timeout = time.Minute // real time, on a machine that may be busy
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			v, err := remote.Instant(t.Context(), "up", time.Unix(0, 0))
			if err != nil || len(v.Samples) != 1 || v.Samples[0].Value != 7 {
				t.Errorf("got %v, %v", v, err)
			}
		})
	}
	wg.Wait()
	require.Empty(t, remote.long)
}

func TestReadAll(t *testing.T) {
	for _, n := range []int{0, 1, 8<<10 - 1, 8 << 10, 8<<10 + 1, 24 << 10, 5<<20 + 3} {
		want := bytes.Repeat([]byte("0123456789abcdef!"), n/17+1)[:n]
		for name, size := range map[string]int64{"unknown": -1, "known": int64(n), "too little": int64(n / 2)} {
			got, err := readAll(bytes.NewReader(want), size)
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got), "%d bytes, size %s", n, name)

			got, err = readAll(iotest.DataErrReader(iotest.HalfReader(bytes.NewReader(want))), size)
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got), "%d bytes, the end with the last, size %s", n, name)
		}
	}
	broken := errors.New("broken")
	got, err := readAll(io.MultiReader(strings.NewReader("part"), iotest.ErrReader(broken)), -1)
	require.ErrorIs(t, err, broken)
	require.Nil(t, got)
}
