package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/webhook"
)

// An acceptor that does not answer costs five seconds and not more, and no
// question is put once they are over.
func TestTimeIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(nil)
		w.acceptor.hang = true
		began := time.Now()
		refused(t, w.post(t, strings.NewReader(notification("1-1-a", "1-1-b", "1-1-c"))), http.StatusServiceUnavailable)
		require.Equal(t, 5*time.Second, time.Since(began))
		require.Equal(t, []string{"accept 1-1-a"}, w.acceptor.asked)
	})
}

// Only so many notifications are worked on at once. The others wait, and are
// told to come again when that takes too long.
func TestConcurrencyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(func(o *webhook.Options) { o.Logger = slog.New(slog.DiscardHandler) })
		w.acceptor.hang = true
		var posting sync.WaitGroup
		status := make(chan int, 100)
		for range 40 {
			posting.Go(func() { status <- w.post(t, strings.NewReader(notification("1-1-a"))).Code })
		}
		synctest.Wait()
		w.acceptor.mu.Lock()
		asked := len(w.acceptor.asked)
		w.acceptor.mu.Unlock()
		require.Equal(t, 32, asked)
		posting.Wait()
		close(status)
		for s := range status {
			require.Equal(t, http.StatusServiceUnavailable, s)
		}
	})
}

// A sender that has gone is no failure of ours.
func TestSenderHasGone(t *testing.T) {
	w := build(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(notification("1-1-a"))))
	require.Equal(t, http.StatusServiceUnavailable, rec.Code)
	require.Empty(t, w.acceptor.asked)
	require.Empty(t, w.log.String())
}

func TestSizeIsBounded(t *testing.T) {
	many := func(n int) string {
		ids := make([]string, n)
		for i := range ids {
			ids[i] = fmt.Sprintf("1-%d-a", i+1)
		}
		return notification(ids...)
	}
	small := func(o *webhook.Options) { o.MaxBody = 100 }
	for name, tc := range map[string]struct {
		change func(o *webhook.Options)
		body   io.Reader
		status int
		detail string
	}{
		"as many as may be":  {nil, strings.NewReader(many(4096)), http.StatusOK, ""},
		"too many":           {nil, strings.NewReader(many(4097)), http.StatusRequestEntityTooLarge, "4097 alerts"},
		"too large":          {small, strings.NewReader(notification("1-1-a", "1-1-b", "1-1-c")), http.StatusRequestEntityTooLarge, "larger than 100 bytes"},
		"too large, chunked": {small, iotest.OneByteReader(strings.NewReader(notification("1-1-a", "1-1-b", "1-1-c"))), http.StatusRequestEntityTooLarge, "larger than 100 bytes"},
		"limit in front":     {nil, http.MaxBytesReader(nil, io.NopCloser(strings.NewReader(many(9))), 10), http.StatusRequestEntityTooLarge, "larger than 10 bytes"},
		"cut off":            {nil, iotest.ErrReader(io.ErrUnexpectedEOF), http.StatusBadRequest, "cut off"},
		"stalls":             {nil, iotest.ErrReader(os.ErrDeadlineExceeded), http.StatusServiceUnavailable, "in time"},
		"breaks":             {nil, iotest.ErrReader(errors.New("reset")), http.StatusBadRequest, "cannot be read"},
		"empty":              {nil, strings.NewReader(""), http.StatusBadRequest, "no JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			w := build(tc.change)
			rec := w.post(t, tc.body)
			if tc.status == http.StatusOK {
				require.Equal(t, tc.status, rec.Code)
				require.Len(t, w.acceptor.asked, 4096)
				return
			}
			require.Contains(t, refused(t, rec, tc.status), tc.detail)
			require.Empty(t, w.acceptor.asked)
		})
	}
}

// A body that does not come is given up by the connection's own deadline.
func TestStallingSenders(t *testing.T) {
	w := build(nil)
	deadline := &deadlined{ResponseRecorder: httptest.NewRecorder()}
	began := time.Now()
	w.handler.ServeHTTP(deadline, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(notification("1-1-a"))))
	require.WithinDuration(t, began.Add(5*time.Second), deadline.read, time.Second)
}

type deadlined struct {
	*httptest.ResponseRecorder
	read time.Time
}

func (d *deadlined) SetReadDeadline(at time.Time) error {
	d.read = at
	return nil
}
