package api

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/webhook"
)

// inChunks is a notification of which nobody says how long it is.
func inChunks(body io.Reader) *http.Request {
	req := httptest.NewRequest("POST", WebhookPath, io.NopCloser(body))
	req.Header.Set("Content-Type", "application/json")
	req.ContentLength, req.TransferEncoding = -1, []string{"chunked"}
	return req
}

// A notification without a length goes to the leader like any other, whole and with
// its length.
func TestNotificationsInChunksGoToTheLeader(t *testing.T) {
	r := newRoles(t)
	var got string
	var length int64
	r.leader.Webhook = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		got, length = string(body), req.ContentLength
		_, _ = io.WriteString(w, `{"results":[],"truncatedAlerts":0}`)
	})
	front := httptest.NewServer(newHandler(t, r.leader))
	defer front.Close()
	r.follower.Webhook = http.NotFoundHandler() // it would have to say that it does not lead
	r.tell(t, front.URL)
	follower := httptest.NewServer(r.following(t))
	defer follower.Close()
	for _, body := range []string{`{"alerts":[]}`, strings.Repeat(" ", maxNotification)} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, follower.URL+WebhookPath, io.NopCloser(strings.NewReader(body)))
		require.NoError(t, err)
		req.ContentLength = -1
		resp, err := follower.Client().Do(req)
		require.NoError(t, err)
		answer, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode, string(answer))
		require.JSONEq(t, `{"results":[],"truncatedAlerts":0}`, string(answer))
		require.Equal(t, body, got)
		require.EqualValues(t, len(body), length)
	}
}

// What the leader would refuse is refused by this replica in its words, and the
// leader is not asked.
func TestNotificationsInChunksThatAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		body   func() io.Reader
		status int
	}{
		"too large": {func() io.Reader { return strings.NewReader(strings.Repeat(" ", maxNotification+1)) }, http.StatusRequestEntityTooLarge},
		"empty":     {func() io.Reader { return strings.NewReader("") }, http.StatusBadRequest},
		"torn":      {func() io.Reader { return failed{io.ErrUnexpectedEOF} }, http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoles(t)
			r.leader.Webhook = webhook.New(webhook.Options{Logger: slog.New(slog.DiscardHandler)})
			r.follower.Webhook = webhook.New(webhook.Options{Logger: slog.New(slog.DiscardHandler)})
			ofLeader := serve(newHandler(t, r.leader), inChunks(tt.body()))
			require.Equal(t, tt.status, ofLeader.Code)
			var asked atomic.Int64
			r.wire = roundTrip(func(*http.Request) (*http.Response, error) {
				asked.Add(1)
				return nil, io.EOF
			})
			r.tell(t, "http://leader:9880")
			got := serve(r.following(t), inChunks(tt.body()))
			require.Equal(t, ofLeader.Code, got.Code)
			require.Equal(t, ofLeader.Body.String(), got.Body.String())
			require.Zero(t, asked.Load())
		})
	}
}

// No more of them are in memory at once than there is room for.
func TestNotificationsInChunksAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoles(t)
		r.wire = wired{http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(epochHeader, "7") })}
		r.follower.Webhook = http.NotFoundHandler()
		r.tell(t, "http://leader:9880")
		h := r.following(t)
		answers := make(chan int, maxWhole)
		var writers []*io.PipeWriter
		for range maxWhole {
			reader, writer := io.Pipe()
			writers = append(writers, writer)
			go func() { answers <- serve(h, inChunks(reader)).Code }()
		}
		synctest.Wait()
		began := time.Now()
		rec := serve(h, inChunks(strings.NewReader("{}")))
		require.Equal(t, http.StatusServiceUnavailable, rec.Code, "to try again")
		require.Contains(t, rec.Body.String(), "too many notifications at once")
		require.Equal(t, forwardTimeout, time.Since(began))
		for _, w := range writers {
			_, err := io.WriteString(w, "{}")
			require.NoError(t, err)
			require.NoError(t, w.Close())
			require.Equal(t, http.StatusOK, <-answers)
		}
		require.Equal(t, http.StatusOK, serve(h, inChunks(strings.NewReader("{}"))).Code)
	})
}

// A sender that stalls is cut off, and the time for reading does not go on while the
// leader is asked.
func TestNotificationsInChunksAreReadInTime(t *testing.T) {
	r := newRoles(t)
	r.leader.Webhook = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"results":[],"truncatedAlerts":0}`)
	})
	front := httptest.NewServer(newHandler(t, r.leader))
	defer front.Close()
	r.follower.Webhook = http.NotFoundHandler()
	r.tell(t, front.URL)
	w := &deadlined{ResponseRecorder: httptest.NewRecorder()}
	began := time.Now()
	r.following(t).ServeHTTP(w, inChunks(strings.NewReader(`{"alerts":[]}`)))
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.Len(t, w.read, 2)
	require.WithinDuration(t, began.Add(forwardTimeout), w.read[0], time.Second)
	require.Zero(t, w.read[1])
}

// deadlined notes the deadlines of reading.
type deadlined struct {
	*httptest.ResponseRecorder
	read []time.Time
}

func (d *deadlined) SetReadDeadline(at time.Time) error {
	d.read = append(d.read, at)
	return nil
}
