package web

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// address is a connection's other end.
type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

// addressed is a connection in memory from some address.
type addressed struct {
	net.Conn
	from   address
	closed atomic.Bool
}

func (a *addressed) RemoteAddr() net.Addr { return a.from }

func (a *addressed) Close() error {
	a.closed.Store(true)
	return a.Conn.Close()
}

func connect(t *testing.T, from string) *addressed {
	t.Helper()
	client, server := net.Pipe()
	t.Cleanup(func() { _ = client.Close() })
	return &addressed{Conn: server, from: address(from)}
}

func TestLongestIdleOfTheClientWithMostIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConnections(4)
		var greedy []*addressed
		honest := connect(t, "10.0.0.2:1")
		c.add(honest)
		for i := range 3 {
			time.Sleep(time.Second)
			greedy = append(greedy, connect(t, fmt.Sprintf("10.0.0.1:%d", i)))
			o := c.add(greedy[i])
			if i == 0 {
				c.count(o, 1) // it is answered
			}
		}
		time.Sleep(time.Second)
		c.add(connect(t, "10.0.0.3:1"))
		require.False(t, greedy[0].closed.Load(), "it is at work")
		require.True(t, greedy[1].closed.Load())
		require.False(t, greedy[2].closed.Load())
		require.False(t, honest.closed.Load())
		require.Len(t, c.open, 4)

		for conn, o := range c.open {
			if !greedy[0].closed.Load() && conn != net.Conn(greedy[0]) {
				c.count(o, 1)
			}
		}
		late := connect(t, "10.0.0.4:1")
		c.add(late)
		require.True(t, late.closed.Load(), "all others are at work")
		c.remove(greedy[0])
		require.Len(t, c.open, 3)
	})
}

// Making room takes no time, though the client reads nothing: a farewell over TLS
// would wait for it, and everybody else meanwhile.
func TestClosingAConnectionWaitsForNobody(t *testing.T) {
	pair := certificate(t, t.TempDir(), 1)
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		server := tls.Server(near, &tls.Config{Certificates: []tls.Certificate{pair}})
		shaken := make(chan error, 1)
		go func() {
			shaken <- tls.Client(far, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}).Handshake()
		}()
		require.NoError(t, server.Handshake())
		require.NoError(t, <-shaken)
		c := newConnections(1)
		c.add(server)
		time.Sleep(time.Second)
		began := time.Now()
		c.add(connect(t, "10.0.0.2:1"))
		require.Zero(t, time.Since(began))
		_, err := near.Read(nil)
		require.ErrorIs(t, err, io.ErrClosedPipe)
		require.NoError(t, far.Close())
	})
}

// One client's idle connections, with or without a first byte, keep nobody out.
func TestIdleConnectionsShutNobodyOut(t *testing.T) {
	s := &Server{
		o: Options{OpenReads: true, Logger: slog.New(slog.DiscardHandler)}, file: &fileConfig{}, auth: &authenticator{},
		connections: newConnections(8), readers: newReaders(),
	}
	var err error
	s.listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, echo) }()
	for i := range 40 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr().String())
		require.NoError(t, err)
		defer conn.Close()
		if i%2 == 0 {
			_, err = io.WriteString(conn, "G")
			require.NoError(t, err)
		}
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for range 10 {
		resp, err := client.Get("http://" + s.Addr().String() + "/-/healthy")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
	stop()
	require.NoError(t, <-served)
}

// ask makes a request from a client.
func ask(from, target string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, target, http.NoBody)
	r.RemoteAddr = from + ":1"
	return r
}

func unknown() bool { return false }

// crowd sends requests of each client at once, all answered at the same time
// with so many bytes.
func crowd(b *readers, target string, size, n int, clients ...string) (most, refused int64) {
	var now, top, no atomic.Int64
	hold := make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		top.Store(max(top.Load(), now.Add(1)))
		<-hold
		_, _ = w.Write(make([]byte, size))
		now.Add(-1)
	})
	var wg sync.WaitGroup
	for _, client := range clients {
		for range n {
			wg.Go(func() {
				w := httptest.NewRecorder()
				b.serve(w, ask(client, target), h, unknown)
				if w.Code == http.StatusServiceUnavailable {
					no.Add(1)
				}
			})
		}
	}
	time.Sleep(readerPatience + time.Second)
	close(hold)
	wg.Wait()
	return top.Load(), no.Load()
}

// What readers without a credential cost together is bounded, by what replies of
// the kind took before.
func TestReadersTogetherAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newReaders()
		most, refused := crowd(b, "/a", 2<<20, 3, "10.0.0.1", "10.0.0.2")
		require.EqualValues(t, 1, most, "a kind that was never seen may take anything")
		require.EqualValues(t, 5, refused)
		most, _ = crowd(b, "/a", 2<<20, 10, "10.0.0.1", "10.0.0.2")
		require.EqualValues(t, largeReaders, most)
		b.sizes["/a"] = largeReplies / replyMemory / 2
		most, _ = crowd(b, "/a", 1, 10, "10.0.0.1", "10.0.0.2")
		require.EqualValues(t, 2, most)
		b.sizes["/a"] = 1 << 40
		most, _ = crowd(b, "/a", 1, 10, "10.0.0.1", "10.0.0.2")
		require.EqualValues(t, 1, most)
		b.sizes["/b"] = 1
		most, _ = crowd(b, "/b", 1, 20, "10.0.0.1", "10.0.0.2")
		require.EqualValues(t, smallReaders, most)
		b.sizes["/b"] = smallReply / replyMemory
		most, _ = crowd(b, "/b", 1, 20, "10.0.0.1", "10.0.0.2")
		require.EqualValues(t, smallReplies/smallReply, most)
		_, refused = crowd(b, "/b", 1, 500, "10.0.0.1")
		require.Greater(t, refused, int64(400), "those who cannot even wait are told at once")
		for _, of := range []*budget{b.small, b.large} {
			require.Zero(t, of.taken)
			require.Zero(t, of.visits)
			require.Empty(t, of.waiting)
		}
	})
}

// Small replies do not wait for large ones.
func TestLargeRepliesKeepNoSmallOneWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newReaders()
		b.sizes["/small"], b.sizes["/large"] = 1, 1<<30
		go crowd(b, "/large", 1, 50, "10.0.0.1", "10.0.0.2")
		synctest.Wait()
		began := time.Now()
		w := httptest.NewRecorder()
		b.serve(w, ask("10.0.0.3", "/small"), echo, unknown)
		require.Equal(t, http.StatusOK, w.Code)
		require.Zero(t, time.Since(began))
		time.Sleep(time.Minute)
	})
}

// Many requests of one client do not keep another out: it has the next turn.
func TestTurnsGoRoundTheClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newReaders()
		b.sizes["/a"] = 1 << 30
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(3 * time.Second)
			_, _ = io.WriteString(w, "done")
		})
		for range 50 {
			go b.serve(httptest.NewRecorder(), ask("10.0.0.1", "/a"), h, unknown)
		}
		synctest.Wait()
		for range 3 {
			began := time.Now()
			w := httptest.NewRecorder()
			b.serve(w, ask("10.0.0.2", "/a"), h, unknown)
			require.Equal(t, http.StatusOK, w.Code)
			require.LessOrEqual(t, time.Since(began), 6*time.Second)
			time.Sleep(3 * time.Second)
		}
		time.Sleep(time.Hour)
	})
}

func TestWaitingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newReaders()
		hold := make(chan struct{})
		go b.serve(httptest.NewRecorder(), ask("10.0.0.1", "/"), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }), unknown)
		synctest.Wait()
		began := time.Now()
		w := httptest.NewRecorder()
		b.serve(w, ask("10.0.0.1", "/"), echo, unknown)
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		require.Equal(t, "1", w.Header().Get("Retry-After"))
		require.Equal(t, readerPatience, time.Since(began))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		b.serve(httptest.NewRecorder(), ask("10.0.0.1", "/").WithContext(ctx), echo, unknown)
		require.Equal(t, readerPatience+time.Second, time.Since(began), "one that goes away waits no longer")
		close(hold)
	})
}

func TestClientsThatAreRememberedAreBounded(t *testing.T) {
	b := newBudget(1, 1)
	for i := range 3 * maxServed {
		b.remember(fmt.Sprint(i))
	}
	require.LessOrEqual(t, len(b.served), maxServed)
}

func TestACredentialHelpsWhereReadersAreTooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newReaders()
		hold := make(chan struct{})
		go b.serve(httptest.NewRecorder(), ask("10.0.0.1", "/"), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }), unknown)
		synctest.Wait()
		began, w := time.Now(), httptest.NewRecorder()
		b.serve(w, ask("10.0.0.2", "/"), echo, func() bool { return true })
		require.Equal(t, http.StatusOK, w.Code)
		require.Zero(t, time.Since(began), "it waits for nobody")
		close(hold)
	})
}

func TestStreamsHaveNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newReaders()
		hold := make(chan struct{})
		go b.serve(httptest.NewRecorder(), ask("10.0.0.1", "/autoscaler/events"), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			<-hold
			_, _ = io.WriteString(w, "event")
		}), unknown)
		synctest.Wait()
		require.Zero(t, b.large.taken)
		close(hold)
		synctest.Wait()
		require.Zero(t, b.large.taken)
		require.Empty(t, b.sizes)
	})
}

// Kinds of replies are forgotten, and are not as many as somebody likes.
func TestSizesOfReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newReaders()
		answer := func(target string, size int, header ...string) {
			b.serve(httptest.NewRecorder(), ask("10.0.0.1", target), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if len(header) > 0 {
					w.Header().Set("Content-Encoding", header[0])
				}
				_, _ = w.Write(make([]byte, size))
			}), unknown)
		}
		answer("/a", 1000_000)
		answer("/a", 1)
		require.EqualValues(t, replyMemory*1000_000, b.expected("/a"))
		answer("/a?scope=x", 1)
		require.EqualValues(t, leastReply, b.expected("/a?scope"))
		answer("/z", 1000_000, "gzip")
		require.EqualValues(t, replyMemory*compressed*1000_000, b.expected("/z"))
		time.Sleep(sizesKept + time.Second)
		require.EqualValues(t, replyMemory*1000_000, b.expected("/a"))
		time.Sleep(sizesKept + time.Second)
		require.EqualValues(t, largeReplies, b.expected("/a"))
		for i := range 2 * maxKinds {
			answer(fmt.Sprintf("/%d", i), 1)
		}
		require.Len(t, b.sizes, maxKinds)
	})
}

// Whoever does not read a reply is cut off soon, whoever reads it slowly is not.
func TestRepliesHaveToBeRead(t *testing.T) {
	for name, tt := range map[string]struct {
		pause       time.Duration // before each piece
		whole       bool
		least, most time.Duration
	}{
		"not at all": {time.Hour, false, pieceTimeout, pieceTimeout + time.Second},
		"slowly":     {pieceTimeout / 3, true, 2 * pieceTimeout, replyTimeout},
		"too slowly": {pieceTimeout - 10*time.Millisecond, false, replyTimeout - time.Second, replyTimeout + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := make(pipes)
				s := &Server{
					o: Options{OpenReads: true, Logger: slog.New(slog.DiscardHandler)}, file: &fileConfig{}, auth: &authenticator{}, listener: l,
					connections: newConnections(8), readers: newReaders(),
				}
				ctx, stop := context.WithCancel(t.Context())
				served := make(chan error, 1)
				pieces := 10
				if !tt.whole {
					pieces = 20
				}
				took := make(chan time.Duration, 1)
				go func() {
					served <- s.Serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						began := time.Now()
						_, _ = w.Write(make([]byte, pieces*replyPiece))
						took <- time.Since(began)
					}))
				}()
				client, conn := net.Pipe()
				l <- conn
				_, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
				require.NoError(t, err)
				body := make(chan error, 1)
				go func() {
					resp, err := http.ReadResponse(bufio.NewReaderSize(client, 16), nil)
					for err == nil {
						time.Sleep(tt.pause)
						_, err = io.CopyN(io.Discard, resp.Body, replyPiece)
					}
					body <- err
				}()
				time.Sleep(2 * time.Hour)
				require.Equal(t, tt.whole, errors.Is(<-body, io.EOF))
				lasted := <-took
				require.GreaterOrEqual(t, lasted, tt.least)
				require.LessOrEqual(t, lasted, tt.most)
				s.readers.mu.Lock()
				require.Zero(t, s.readers.large.taken)
				s.readers.mu.Unlock()
				stop()
				require.NoError(t, <-served)
				require.NoError(t, client.Close())
			})
		})
	}
}

// What nobody waits for is not refused by the reserve: probes and credentials.
func TestProbesAndCredentialsNeedNoPlace(t *testing.T) {
	tokens := write(t, "tokens", "t0ken\n")
	s, err := Listen(t.Context(), Options{ListenAddress: "127.0.0.1:0", OpenReads: true, BearerTokensFile: tokens})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.listener.Close() })
	s.readers.small, s.readers.large = newBudget(0, 0), newBudget(0, 0)
	call := func(method, path, token string) int {
		r := httptest.NewRequest(method, path, strings.NewReader(""))
		r.Host = "localhost"
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w := httptest.NewRecorder()
		s.protect(echo).ServeHTTP(w, r.WithContext(ctx))
		return w.Code
	}
	require.Equal(t, http.StatusOK, call("GET", "/-/healthy", ""))
	require.Equal(t, http.StatusOK, call("GET", "/-/ready", ""))
	require.Equal(t, http.StatusOK, call("POST", "/webhook/alertmanager", "t0ken"))
	require.Equal(t, http.StatusOK, call("GET", "/metrics", "t0ken"))
	require.Equal(t, http.StatusServiceUnavailable, call("GET", "/metrics", "guess"))
	require.Equal(t, http.StatusServiceUnavailable, call("GET", "/metrics", ""))
}
