package zeta

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

// endless answers every request with white space without end, and counts what
// was read of replies that are not closed yet.
type endless struct {
	mu             sync.Mutex
	read, most     int64
	opened, closed int
}

func (e *endless) RoundTrip(req *http.Request) (*http.Response, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opened++
	resp := response(req, 200, jsonHeader(), nil)
	resp.ContentLength, resp.Body = -1, &endlessBody{server: e}
	return resp, nil
}

type endlessBody struct {
	server *endless
	read   int64
}

func (b *endlessBody) Read(p []byte) (int, error) {
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	b.read += int64(len(p))
	b.server.read += int64(len(p))
	b.server.most = max(b.server.most, b.server.read)
	return copy(p, bytes.Repeat([]byte(" "), len(p))), nil
}

func (b *endlessBody) Close() error {
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	b.server.read -= b.read
	b.server.closed++
	return nil
}

// Forty probes of targets that answer without end take the memory of one long
// reply, and a little each.
func TestProbesTogetherAreBounded(t *testing.T) {
	server := &endless{}
	e := newTestExporter(t, ExporterOptions{Transport: server})
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() { get(t, e, probeURL(fmt.Sprintf("http://m%d:8080", i), "c")) })
	}
	wg.Wait()
	e.Close()
	require.GreaterOrEqual(t, server.opened, 40)
	require.Equal(t, server.opened, server.closed)
	require.LessOrEqual(t, server.most, int64(40*smallReply+DefaultMaxResponse+1))
}

// A long reply that drips does not keep the others waiting for ever.
func TestLongReplyThatDripsIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body, drip := io.Pipe()
		slow := transport(func(req *http.Request) (*http.Response, error) {
			resp := response(req, 200, jsonHeader(), nil)
			resp.ContentLength, resp.Body = smallReply+1, body
			go func() {
				<-req.Context().Done()
				_ = drip.CloseWithError(req.Context().Err())
			}()
			return resp, nil
		})
		long := outgoing.NewLongReplies()
		began := time.Now()
		client, err := outgoing.New(outgoing.Options{Transport: slow})
		require.NoError(t, err)
		_, err = fetch(t.Context(), &asker{client, long}, "http://m:8080/overview", DecodeOverview)
		require.Error(t, err)
		require.Equal(t, longReplyTimeout, time.Since(began))
		require.Empty(t, long, "the next one may")
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
