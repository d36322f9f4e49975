package web

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func listen(t *testing.T, o Options) *Server {
	t.Helper()
	o.ListenAddress, o.Logger = "127.0.0.1:0", slog.New(slog.DiscardHandler)
	o.Hosts = append(o.Hosts, "example.com") // what httptest sends
	s, err := Listen(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.listener.Close() }) // Serve may have closed it
	return s
}

func users(t *testing.T) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	require.NoError(t, err)
	return write(t, "web.yml", fmt.Sprintf("basic_auth_users:\n  ann: %s\n", hash))
}

// echo answers with what it was sent.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	_, _ = fmt.Fprintf(w, "%s %s %d", r.Method, r.URL.Path, len(b))
})

func TestWhoMayDoWhat(t *testing.T) {
	file, tokens := users(t), write(t, "tokens", "# on call\nt0ken\nother\n")
	basic := func(r *http.Request) { r.SetBasicAuth("ann", "secret") }
	bearer := func(token string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	none := func(*http.Request) {}
	for _, tc := range []struct {
		name         string
		o            Options
		method, path string
		credential   func(*http.Request)
		want         int
	}{
		{"reads are open", Options{OpenReads: true}, "GET", "/autoscaler/status", none, 200},
		{"HEAD is a read", Options{OpenReads: true}, "HEAD", "/autoscaler/status", none, 200},
		{"changes need a credential that can be given", Options{OpenReads: true}, "POST", "/-/reload", none, 403},
		{"an unknown method changes", Options{OpenReads: true}, "PURGE", "/", none, 403},
		{"reload on loopback by flag", Options{OpenReads: true, EnableLifecycle: true}, "POST", "/-/reload", none, 200},
		{"the flag opens nothing else", Options{OpenReads: true, EnableLifecycle: true}, "POST", "/autoscaler/pause", none, 403},
		{"basic", Options{OpenReads: true, ConfigFile: file}, "POST", "/-/reload", basic, 200},
		{"wrong password", Options{OpenReads: true, ConfigFile: file}, "POST", "/-/reload", func(r *http.Request) { r.SetBasicAuth("ann", "guess") }, 401},
		{"unknown user", Options{OpenReads: true, ConfigFile: file}, "POST", "/-/reload", func(r *http.Request) { r.SetBasicAuth("bob", "secret") }, 401},
		{"no credential", Options{OpenReads: true, ConfigFile: file}, "POST", "/-/reload", none, 401},
		{"closed reads", Options{ConfigFile: file}, "GET", "/autoscaler/status", none, 401},
		{"closed reads with credential", Options{ConfigFile: file}, "GET", "/autoscaler/status", basic, 200},
		{"probes are always open", Options{ConfigFile: file}, "GET", "/-/ready", none, 200},
		{"bearer", Options{BearerTokensFile: tokens}, "PUT", "/autoscaler/config", bearer("t0ken"), 200},
		{"second token", Options{BearerTokensFile: tokens}, "PUT", "/autoscaler/config", bearer("other"), 200},
		{"a comment is no token", Options{BearerTokensFile: tokens}, "PUT", "/autoscaler/config", bearer("# on call"), 401},
		{"wrong token", Options{BearerTokensFile: tokens}, "PUT", "/autoscaler/config", bearer("x"), 401},
		{"empty token", Options{BearerTokensFile: tokens}, "PUT", "/autoscaler/config", bearer(""), 401},
		{"basic does not do for bearer", Options{BearerTokensFile: tokens}, "PUT", "/autoscaler/config", basic, 401},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := listen(t, tc.o)
			r := httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, nil)
			tc.credential(r)
			for range 2 { // the second time from memory
				w := httptest.NewRecorder()
				s.protect(echo).ServeHTTP(w, r)
				require.Equal(t, tc.want, w.Code, w.Body)
				if tc.want >= 400 {
					require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
				}
				require.Equal(t, tc.want == 401, w.Header().Get("WWW-Authenticate") != "")
			}
		})
	}
}

// A request without a credential is offered what there is one for.
func TestSchemesOffered(t *testing.T) {
	dir := t.TempDir()
	file, tokens := filepath.Join(dir, "web.yml"), filepath.Join(dir, "tokens")
	require.NoError(t, os.WriteFile(file, []byte("basic_auth_users: {ann: $2y$10$2UXri9cIDdgeKjBo4Rlpx.U3ZLDV8X1IxKmsfOvhcM5oXQt/mLmXq}\n"), 0o600))
	require.NoError(t, os.WriteFile(tokens, []byte("t0ken\n"), 0o600))
	basic, bearer := `Basic realm="zeta-scaler", charset="UTF-8"`, `Bearer realm="zeta-scaler"`
	for want, o := range map[string]Options{
		basic: {ConfigFile: file}, bearer: {BearerTokensFile: tokens}, basic + "|" + bearer: {ConfigFile: file, BearerTokensFile: tokens},
	} {
		w := httptest.NewRecorder()
		s := listen(t, o)
		s.protect(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/autoscaler/status", nil))
		require.Equal(t, want, strings.Join(w.Header().Values("WWW-Authenticate"), "|"))
	}
}

// Whoever asks for what there is not hears that, and not that it takes a
// credential; only where reads are open, or it would tell strangers.
func TestACredentialIsAskedForWhereItHelps(t *testing.T) {
	var ran []string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(http.ResponseWriter, *http.Request) { ran = append(ran, "status") })
	mux.HandleFunc("POST /pause", func(http.ResponseWriter, *http.Request) { ran = append(ran, "pause") })
	for _, tc := range []struct {
		method, path      string
		open, known, shut int
		allow             string
	}{
		{"POST", "/pause", 403, 401, 401, ""},
		{"PUT", "/pause", 405, 405, 401, "POST"},
		{"POST", "/status", 405, 405, 401, "GET, HEAD"},
		{"PURGE", "/status", 405, 405, 401, "GET, HEAD"},
		{"POST", "/nothing", 404, 404, 401, ""},
		{"POST", "/p%61use", 403, 401, 401, ""},
	} {
		t.Run(tc.method+tc.path, func(t *testing.T) {
			for want, o := range map[*int]Options{
				&tc.open: {OpenReads: true}, &tc.known: {OpenReads: true, ConfigFile: users(t)}, &tc.shut: {ConfigFile: users(t)},
			} {
				want := *want
				w := httptest.NewRecorder()
				listen(t, o).protect(mux).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, nil))
				require.Equal(t, want, w.Code, w.Body)
				require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
				require.Equal(t, want == 405, w.Header().Get("Allow") != "")
				if want == 405 {
					require.Equal(t, tc.allow, w.Header().Get("Allow"))
				}
			}
		})
	}
	require.Empty(t, ran)
}

func TestRotatedTokensCountAtOnce(t *testing.T) {
	tokens := write(t, "tokens", "old\n")
	s := listen(t, Options{BearerTokensFile: tokens})
	status := func(token string) int {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		s.protect(echo).ServeHTTP(w, r)
		return w.Code
	}
	require.Equal(t, 200, status("old"))
	require.NoError(t, os.WriteFile(tokens, []byte("new\n"), 0o600))
	require.Equal(t, 401, status("old"))
	require.Equal(t, 200, status("new"))
	require.NoError(t, os.Remove(tokens))
	require.Equal(t, 500, status("new"), "a file that cannot be read lets nobody in")
}

func TestOtherOriginsChangeNothing(t *testing.T) {
	s := listen(t, Options{OpenReads: true, ConfigFile: users(t)})
	r := httptest.NewRequestWithContext(t.Context(), "POST", "http://scaler.example/-/reload", nil)
	r.SetBasicAuth("ann", "secret")
	r.Header.Set("Origin", "https://evil.example")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	w := httptest.NewRecorder()
	s.protect(echo).ServeHTTP(w, r)
	require.Equal(t, http.StatusForbidden, w.Code)
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
}

func TestBodiesAreCapped(t *testing.T) {
	s := listen(t, Options{OpenReads: true, ConfigFile: users(t)})
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(strings.Repeat("x", maxBody+1)))
	r.SetBasicAuth("ann", "secret")
	w := httptest.NewRecorder()
	s.protect(echo).ServeHTTP(w, r)
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
}

func TestPanicsAreCaught(t *testing.T) {
	s := listen(t, Options{OpenReads: true})
	w := httptest.NewRecorder()
	s.protect(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oh") })).
		ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.NotContains(t, w.Body.String(), "oh")
}

func TestListenErrors(t *testing.T) {
	for _, tc := range []struct {
		name string
		o    Options
		want string
	}{
		{"missing file", Options{OpenReads: true, ConfigFile: "nothing.yml"}, "reading the web configuration"},
		{"unknown key", Options{OpenReads: true, ConfigFile: write(t, "w.yml", "tls_server: {}\n")}, "unknown key \"tls_server\" in the web configuration"},
		{"a password instead of a hash", Options{OpenReads: true, ConfigFile: write(t, "w.yml", "basic_auth_users: {ann: hunter2}\n")}, "basic_auth_users.ann: the value is not a bcrypt hash"},
		{"key without certificate", Options{OpenReads: true, ConfigFile: write(t, "w.yml", "tls_server_config: {key_file: k}\n")}, `lacks the key "cert_file"`},
		{"old TLS", Options{OpenReads: true, ConfigFile: write(t, "w.yml", "tls_server_config: {min_version: TLS10}\n")}, "expected TLS12 or TLS13"},
		{"no tokens", Options{OpenReads: true, BearerTokensFile: write(t, "t", "\n# none\n")}, "has no token"},
		{"closed reads for nobody", Options{}, "there is no credential to read with"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.o.ListenAddress, tc.o.Logger = "127.0.0.1:0", slog.New(slog.DiscardHandler)
			_, err := Listen(t.Context(), tc.o)
			require.ErrorContains(t, err, tc.want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
	_, err := Listen(t.Context(), Options{ListenAddress: "0.0.0.0:0", OpenReads: true, EnableLifecycle: true, Logger: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, err, "only allowed on a loopback address")
	taken := listen(t, Options{OpenReads: true})
	_, err = Listen(t.Context(), Options{ListenAddress: taken.Addr().String(), OpenReads: true, Logger: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, err, "address already in use")
}

func TestStopLetsRequestsFinish(t *testing.T) {
	s := listen(t, Options{OpenReads: true})
	ctx, stop := context.WithCancel(t.Context())
	began, finish, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- s.Serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(began)
			<-finish
			_, _ = io.WriteString(w, "done")
		}))
	}()
	body := make(chan string, 1)
	go func() {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr().String(), nil)
		if err != nil {
			body <- err.Error()
			return
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			body <- err.Error()
			return
		}
		defer func() { _ = res.Body.Close() }()
		b, _ := io.ReadAll(res.Body)
		body <- string(b)
	}()
	<-began
	stop()
	close(finish)
	require.Equal(t, "done", <-body)
	require.NoError(t, <-done)
}

// told counts what it is told of.
type told struct {
	http.Handler
	statuses []int
}

func (h *told) Refused(_ *http.Request, status int) { h.statuses = append(h.statuses, status) }

// A handler is told of what is refused for want of a credential, and of nothing
// else.
func TestTheHandlerIsToldOfStrangers(t *testing.T) {
	h := &told{Handler: echo}
	call := func(s *Server, method, token string) {
		r := httptest.NewRequestWithContext(t.Context(), method, "/webhook/alertmanager", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		s.protect(h).ServeHTTP(httptest.NewRecorder(), r)
	}
	s := listen(t, Options{OpenReads: true, BearerTokensFile: write(t, "tokens", "t0ken\n")})
	call(s, http.MethodPost, "wrong")
	call(s, http.MethodPost, "t0ken")
	call(s, http.MethodGet, "wrong")
	call(listen(t, Options{OpenReads: true}), http.MethodPost, "t0ken")
	require.Equal(t, []int{http.StatusUnauthorized, http.StatusForbidden}, h.statuses)
}

// People in a browser are refused by a page, whether no handler was asked or one
// panicked.
func TestRefusalsArePagesForPeople(t *testing.T) {
	tokens := write(t, "tokens", "t0ken\n")
	for name, c := range map[string]struct {
		o      Options
		method string
		h      http.Handler
		want   int
		says   string
	}{
		"closed reads":       {Options{BearerTokensFile: tokens}, "GET", echo, 401, "A browser cannot give a bearer token"},
		"nothing configured": {Options{OpenReads: true}, "POST", echo, 403, "none is configured"},
		"a panic":            {Options{OpenReads: true}, "GET", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oops") }), 500, "its log says why"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), c.method, "/a", http.NoBody)
			r.Header.Set("Accept", "text/html,*/*;q=0.8")
			w := httptest.NewRecorder()
			listen(t, c.o).protect(c.h).ServeHTTP(w, r)
			require.Equal(t, c.want, w.Code)
			require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
			require.Contains(t, w.Body.String(), c.says)
		})
	}
}
