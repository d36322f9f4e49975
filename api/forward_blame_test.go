package api

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// What one caller sends does not have the leader taken for silent, for everybody
// else would be refused meanwhile.
func TestCallersDoNotSilenceTheLeader(t *testing.T) {
	for name, spoil := range map[string]func(*http.Request){
		"a protocol that is none": func(r *http.Request) {
			r.Header.Set("Connection", "Upgrade")
			r.Header.Set("Upgrade", "\x80")
		},
		"headers that are too large with ours":           func(r *http.Request) { r.Header.Set("Accept", strings.Repeat("a", 5000)) },
		"a credential that the leader does not know yet": func(r *http.Request) { r.Header.Set("Authorization", "Bearer new") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoles(t)
			leader := newHandler(t, r.leader)
			r.wire = wired{http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				switch {
				case len(req.Header.Get("Accept")) >= 5000:
					w.WriteHeader(http.StatusRequestHeaderFieldsTooLarge)
				case req.Header.Get("Authorization") != "":
					w.WriteHeader(http.StatusUnauthorized)
				default:
					leader.ServeHTTP(w, req)
				}
			})}
			r.tell(t, "http://leader:9880")
			h := r.following(t)
			spoiled := httptest.NewRequest("GET", "/autoscaler/metrics", http.NoBody)
			spoil(spoiled)
			serve(h, spoiled)
			require.Equal(t, http.StatusOK, call(h, "GET", "/autoscaler/metrics").Code)
		})
	}
}

// One question that takes the leader too long says nothing about the others, which
// it answers meanwhile.
func TestOneSlowAnswerIsNoSilentLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoles(t)
		leader := wired{newHandler(t, r.leader)}
		r.wire = roundTrip(func(req *http.Request) (*http.Response, error) {
			if req.URL.Path == "/autoscaler/metrics" {
				<-req.Context().Done()
				return nil, req.Context().Err()
			}
			return leader.RoundTrip(req)
		})
		r.tell(t, "http://leader:9880")
		h := r.following(t)
		slow := make(chan *httptest.ResponseRecorder)
		go func() { slow <- call(h, "GET", "/autoscaler/metrics") }()
		time.Sleep(time.Second)
		require.Empty(t, decoded[Status](t, call(h, "GET", "/autoscaler/status")).LeaderError)
		rec := <-slow
		require.Equal(t, http.StatusServiceUnavailable, rec.Code)
		require.Contains(t, rec.Body.String(), "answers others, but not this (no answer within 5s")
		require.Empty(t, decoded[Status](t, call(h, "GET", "/autoscaler/status")).LeaderError, "it is asked all the same")
	})
}

// A request that ends before the leader answers, as one does whose sender closes its
// half of the connection, is no empty success, and nobody's fault.
func TestARequestThatEndsIsNoSuccess(t *testing.T) {
	for _, target := range []string{"/autoscaler/metrics", "/autoscaler/status", "/"} {
		r := newRoles(t)
		ctx, end := context.WithCancel(t.Context())
		r.wire = roundTrip(func(req *http.Request) (*http.Response, error) {
			end()
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
		r.tell(t, "http://leader:9880")
		var log strings.Builder
		r.follower.Logger = slog.New(slog.NewTextHandler(&log, nil))
		h := r.following(t)
		rec := serve(h, httptest.NewRequestWithContext(ctx, "GET", target, http.NoBody))
		require.Equal(t, http.StatusServiceUnavailable, rec.Code, target)
		require.Contains(t, rec.Body.String(), "The request was given up before the leader answered.", target)
		require.Empty(t, log.String(), target)
	}
}

// A notification that does not come whole is its sender's.
func TestAnUploadThatStallsIsTheSenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoles(t)
		leader := newHandler(t, r.leader)
		r.wire = roundTrip(func(req *http.Request) (*http.Response, error) {
			if req.Method == http.MethodPost {
				read := make(chan error, 1)
				go func() {
					_, err := io.Copy(io.Discard, req.Body)
					read <- err
				}()
				select {
				case err := <-read:
					return nil, err
				case <-req.Context().Done():
					return nil, req.Context().Err()
				}
			}
			return wired{leader}.RoundTrip(req)
		})
		r.follower.Webhook = http.NotFoundHandler()
		r.tell(t, "http://leader:9880")
		h := r.following(t)
		for name, body := range map[string]func(*io.PipeReader, *io.PipeWriter) io.Reader{
			"stalls": func(r *io.PipeReader, _ *io.PipeWriter) io.Reader { return r },
			"is torn": func(r *io.PipeReader, w *io.PipeWriter) io.Reader {
				_ = w.CloseWithError(io.ErrUnexpectedEOF)
				return r
			},
		} {
			reader, writer := io.Pipe()
			req := httptest.NewRequest("POST", WebhookPath, body(reader, writer))
			req.ContentLength = 100
			rec := serve(h, req)
			require.Equal(t, http.StatusServiceUnavailable, rec.Code, name)
			require.Contains(t, rec.Body.String(), "did not come whole", name)
			require.Equal(t, http.StatusOK, call(h, "GET", "/autoscaler/metrics").Code, name)
			_ = writer.Close()
		}
	})
}

// What comes before the answer, from a proxy in front of the leader, is not passed
// on, and takes nothing from the answer.
func TestWhatComesBeforeTheAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		epoch  string
		status int
	}{
		"of the leader": {"7", http.StatusNotFound},
		"of a stranger": {"", http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoles(t)
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Link", "</evil>; rel=preload")
				w.WriteHeader(http.StatusEarlyHints)
				w.Header().Del("Link")
				w.Header().Set(epochHeader, tt.epoch)
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, "nothing here")
			}))
			defer front.Close()
			r.tell(t, front.URL)
			srv := httptest.NewServer(r.following(t))
			defer srv.Close()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/autoscaler/explain?scope=prod", http.NoBody)
			require.NoError(t, err)
			resp, err := srv.Client().Do(req)
			require.NoError(t, err)
			defer resp.Body.Close()
			require.Equal(t, tt.status, resp.StatusCode)
			require.NotEmpty(t, resp.Header.Get("Content-Security-Policy"))
			require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
			require.Empty(t, resp.Header.Get("Link"))
		})
	}
}

// A replica that has as many streams open as it may says so in plain words.
func TestTooManyStreamsOfTheLeaders(t *testing.T) {
	r := newRoles(t)
	var open atomic.Int64
	all := make(chan struct{})
	r.wire = roundTrip(func(req *http.Request) (*http.Response, error) {
		if open.Add(1) == maxStreams {
			close(all)
		}
		<-req.Context().Done()
		return nil, req.Context().Err()
	})
	r.tell(t, "http://leader:9880")
	h := r.following(t)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{}, maxStreams)
	for range maxStreams {
		go func() {
			serve(h, httptest.NewRequestWithContext(ctx, "GET", eventsPath, http.NoBody))
			ended <- struct{}{}
		}()
	}
	<-all
	rec := call(h, "GET", eventsPath)
	require.Equal(t, http.StatusServiceUnavailable, rec.Code)
	require.Contains(t, rec.Body.String(), `"detail":"`+strconv.Itoa(maxStreams)+` streams are open already"`)
	end()
	for range maxStreams {
		<-ended
	}
}
