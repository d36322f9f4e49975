package web

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// pipes is a listener whose connections are in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error {
	defer func() { _ = recover() }() // closed twice
	close(p)
	return nil
}

func (pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// Whoever has no credential and does not send the body must not keep a
// connection for as long as a request may take.
func TestStalledRequestsAreRefusedSoon(t *testing.T) {
	tokens := write(t, "tokens", "t0ken\n")
	for name, header := range map[string]string{
		"no credential": "",
		"other origin":  "Authorization: Bearer t0ken\r\nOrigin: http://evil.example\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := Options{OpenReads: true, BearerTokensFile: tokens, Logger: slog.New(slog.DiscardHandler)}
				auth, err := newAuthenticator(o, nil)
				require.NoError(t, err)
				l := make(pipes)
				s := &Server{o: o, file: &fileConfig{}, auth: auth, listener: l, connections: newConnections(8), readers: newReaders()}
				ctx, stop := context.WithCancel(t.Context())
				served := make(chan error, 1)
				go func() { served <- s.Serve(ctx, echo) }()
				client, conn := net.Pipe()
				l <- conn
				began := time.Now()
				_, err = io.WriteString(client, "POST /autoscaler/pause HTTP/1.1\r\nHost: x\r\n"+header+"Content-Length: 1000\r\n\r\n{")
				require.NoError(t, err)
				resp, err := http.ReadResponse(bufio.NewReader(client), nil)
				require.NoError(t, err)
				require.Contains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, resp.StatusCode)
				require.LessOrEqual(t, time.Since(began), refusedTimeout)
				require.NoError(t, client.Close())
				stop()
				require.NoError(t, <-served)
			})
		})
	}
}
