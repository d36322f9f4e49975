package web

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// hashOf is a cheap hash.
func hashOf(t *testing.T, password string) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	require.NoError(t, err)
	return string(hash)
}

func request(t *testing.T) *http.Request {
	t.Helper()
	return httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
}

func TestUsersAreReadAgain(t *testing.T) {
	file := write(t, "web.yml", "basic_auth_users: {ann: "+hashOf(t, "old")+"}\n")
	var log bytes.Buffer
	s := listen(t, Options{ConfigFile: file})
	s.auth.logger = slog.New(slog.NewTextHandler(&log, nil))
	status := func(user, password string) int {
		r := request(t)
		r.SetBasicAuth(user, password)
		w := httptest.NewRecorder()
		s.protect(echo).ServeHTTP(w, r)
		return w.Code
	}
	// change replaces the file with one of the same time: that tells nothing.
	at := time.Now().Add(-time.Hour)
	change := func(text string) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		require.NoError(t, os.Chtimes(file, at, at))
	}
	change("basic_auth_users: {ann: " + hashOf(t, "old") + "}\n")
	require.Equal(t, 200, status("ann", "old"))
	change("basic_auth_users: {ann: " + hashOf(t, "nwe") + "}\n")
	require.Equal(t, 401, status("ann", "old"), "the file has the same size and time")
	change("basic_auth_users: {ann: " + hashOf(t, "new") + ", bob: " + hashOf(t, "bob") + "}\n")
	require.Equal(t, 401, status("ann", "old"), "a verdict ends with its hash")
	require.Equal(t, 200, status("ann", "new"))
	require.Equal(t, 200, status("bob", "bob"))
	change("basic_auth_users: {ann: hunter2}\n")
	require.Equal(t, 200, status("ann", "new"), "a wrong file changes nothing")
	require.Equal(t, 200, status("ann", "new"))
	require.Equal(t, 1, strings.Count(log.String(), "cannot be used"), "said once")
	require.NotContains(t, log.String(), "hunter2")
	require.NoError(t, os.Remove(file))
	require.Equal(t, 200, status("ann", "new"))
	change("{}\n")
	require.Equal(t, 403, status("ann", "new"), "nobody is left")
}

func TestSchemesHaveNoCase(t *testing.T) {
	s := listen(t, Options{BearerTokensFile: write(t, "tokens", "t0ken\r\n")})
	for _, header := range []string{"Bearer t0ken", "bearer t0ken", "BEARER  t0ken"} {
		r := request(t)
		r.Header.Set("Authorization", header)
		w := httptest.NewRecorder()
		s.protect(echo).ServeHTTP(w, r)
		require.Equal(t, 200, w.Code, header)
	}
}

func TestRequestsAreLoggedAtDebug(t *testing.T) {
	var log bytes.Buffer
	s := listen(t, Options{OpenReads: true})
	s.o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/x?token=hunter2", nil)
	r.Header.Set("Authorization", "Bearer hunter2")
	s.protect(echo).ServeHTTP(httptest.NewRecorder(), r)
	require.Contains(t, log.String(), "method=POST path=/x status=403")
	require.NotContains(t, log.String(), "hunter2")
}

// TestBegunAnswersAreCutOff: a handler that panics in the middle must not look
// as if it had finished.
func TestBegunAnswersAreCutOff(t *testing.T) {
	s := listen(t, Options{OpenReads: true})
	errs := make(chan error, 2)
	srv := httptest.NewServer(s.protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("half"))
		errs <- http.NewResponseController(w).Flush()
		errs <- http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute))
		panic("oh")
	})))
	defer srv.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	_, err = new(bytes.Buffer).ReadFrom(res.Body)
	require.Error(t, err)
	require.NoError(t, res.Body.Close())
	require.NoError(t, <-errs, "streams can flush")
	require.NoError(t, <-errs, "and renew their deadline")
}

// A handler learns on whose behalf it acts, and never the credential.
func TestHandlersLearnTheUser(t *testing.T) {
	s := listen(t, Options{OpenReads: true, ConfigFile: users(t), BearerTokensFile: write(t, "tokens", "s3cret-token\n")})
	var got string
	h := s.protect(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodOptions { // what can be asked for is no secret
			got = User(r.Context())
		}
	}))
	ask := func(method string, credential func(*http.Request)) string {
		got = "nobody was let in"
		r := httptest.NewRequestWithContext(t.Context(), method, "/", http.NoBody)
		credential(r)
		h.ServeHTTP(httptest.NewRecorder(), r)
		return got
	}
	require.Equal(t, "ann", ask("POST", func(r *http.Request) { r.SetBasicAuth("ann", "secret") }))
	token := ask("POST", func(r *http.Request) { r.Header.Set("Authorization", "Bearer s3cret-token") })
	require.Regexp(t, `^token [0-9a-f]{8}$`, token)
	require.Empty(t, ask("GET", func(r *http.Request) { r.SetBasicAuth("ann", "not checked") }), "an open read has no user")
	require.Equal(t, "nobody was let in", ask("POST", func(r *http.Request) { r.SetBasicAuth("ann", "wrong") }))
}
