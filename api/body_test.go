package api

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A client that sends everything before it reads must not be cut off while it
// sends: it would see a broken pipe, and never what is wrong.
func TestTooLargeBodyIsAnsweredToWhoeverSendsItWhole(t *testing.T) {
	srv := httptest.NewServer(newHandler(t, options(t)))
	defer srv.Close()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", srv.Listener.Addr().String())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	body := `{"reason":"` + strings.Repeat("x", 7<<20) + `"}`
	_, err = fmt.Fprintf(conn, "POST /autoscaler/pause HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
}

func TestGzipThatAClientRefusesIsNotSent(t *testing.T) {
	h := newHandler(t, options(t))
	for accepted, want := range map[string]string{
		"gzip": "gzip", "deflate, gzip;q=0.5": "gzip", "gzip;q=1.0": "gzip", "gzip; q=0.001": "gzip",
		"": "", "identity": "", "gzip;q=0": "", "gzip; q=0.000": "", "deflate;q=1, gzip;q=0.0": "",
	} {
		req := httptest.NewRequest(http.MethodGet, "/autoscaler/status", http.NoBody)
		req.Header.Set("Accept-Encoding", accepted)
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		require.Equal(t, want, rec.Header().Get("Content-Encoding"), "%q", accepted)
	}
}
