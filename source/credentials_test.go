package source_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/source"
)

func TestCredentialsInURLsAreUsedAndNeverShown(t *testing.T) {
	var user, password, token string
	base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ = r.BasicAuth()
		token = r.URL.Query().Get("token")
		canned(503, "text/plain", "")(w, r)
	}))
	u, err := url.Parse(base)
	require.NoError(t, err)
	u.User = url.UserPassword("alice", "hunter2")
	u.RawQuery = "token=s3cret"
	reg, logs := prometheus.NewRegistry(), &syncBuffer{}
	remote := newRemote(t, source.RemoteOptions{URLs: []string{u.String()}, Registerer: reg, Logger: slog.New(slog.NewTextHandler(logs, nil))})
	_, err = remote.Instant(t.Context(), "up", at(0))
	require.ErrorIs(t, err, source.ErrNoAnswer)
	require.Equal(t, []string{"alice", "hunter2", "s3cret"}, []string{user, password, token})

	require.InDelta(t, 1, counter(t, reg, "zeta_scaler_prometheus_replica", base), 0, "exported without credentials")
	shown := strings.Join(append(logs.lines(), err.Error(), remote.Pinned()), "\n")
	for _, secret := range []string{"alice", "hunter2", "s3cret"} {
		require.NotContains(t, shown, secret)
	}
}

// A redirect to another server, be it another port of the same host, is followed
// by nobody who has a credential: it would go along.
func TestCredentialsStayWithTheServer(t *testing.T) {
	var asked atomic.Int64
	elsewhere := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		canned(200, "application/json", vectorOf("1"))(w, r)
	}))
	var target string
	base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target+r.URL.Path+"?token=hunter3", http.StatusPermanentRedirect)
	}))
	httpConfig := func(change func(*config.HTTPClientConfig)) source.RemoteOptions {
		c := config.DefaultHTTPClientConfig
		change(&c)
		return source.RemoteOptions{HTTPClientConfig: &c}
	}
	for name, o := range map[string]source.RemoteOptions{
		"nothing": {},
		"in url":  {URLs: []string{strings.Replace(base, "http://", "http://ann:hunter2@", 1)}},
		"headers": {Headers: map[string]string{"X-Api-Key": "hunter2"}},
		"password": httpConfig(func(c *config.HTTPClientConfig) {
			c.BasicAuth = &config.BasicAuth{Username: "ann", Password: "hunter2"}
		}),
		"token": httpConfig(func(c *config.HTTPClientConfig) {
			c.Authorization = &config.Authorization{Type: "Bearer", Credentials: "hunter2"}
		}),
		"http_headers": httpConfig(func(c *config.HTTPClientConfig) {
			c.HTTPHeaders = &config.Headers{Headers: map[string]config.Header{"X-Api-Key": {Secrets: []config.Secret{"hunter2"}}}}
		}),
	} {
		for _, host := range []string{"127.0.0.1", "localhost"} {
			t.Run(name+" to "+host, func(t *testing.T) {
				asked.Store(0)
				target = strings.Replace(elsewhere, "127.0.0.1", host, 1)
				if o.URLs == nil {
					o.URLs = []string{base}
				}
				_, err := newRemote(t, o).Instant(t.Context(), "up", at(0))
				if name == "nothing" {
					require.NoError(t, err)
					return
				}
				require.Zero(t, asked.Load())
				require.ErrorIs(t, err, source.ErrNoAnswer)
				require.ErrorContains(t, err, "redirected to another server, "+target)
				require.NotContains(t, err.Error(), "hunter")
			})
		}
	}
}

// A server that tells an error by showing the request must not bring our
// credentials into the log or before everybody's eyes.
func TestEchoedCredentialsAreTakenOut(t *testing.T) {
	c := config.DefaultHTTPClientConfig
	c.BasicAuth = &config.BasicAuth{Username: "ann", Password: "hunter2"}
	echoed := func(r *http.Request) string {
		_, password, _ := r.BasicAuth()
		return password + " " + r.Header.Get("Authorization") + " " + r.Header.Get("X-Api-Key")
	}
	for name, answer := range map[string]http.HandlerFunc{
		"status": func(w http.ResponseWriter, r *http.Request) {
			canned(500, "application/json", fmt.Sprintf(`{"status":"error","errorType":"internal","error":%q}`, echoed(r)))(w, r)
		},
		"refused": func(w http.ResponseWriter, r *http.Request) {
			canned(400, "application/json", fmt.Sprintf(`{"status":"error","errorType":%q,"error":%q}`, echoed(r), echoed(r)))(w, r)
		},
		"content type": func(w http.ResponseWriter, r *http.Request) { canned(200, echoed(r), "")(w, r) },
		"unknown status": func(w http.ResponseWriter, r *http.Request) {
			canned(200, "application/json", fmt.Sprintf(`{"status":%q,"data":null}`, echoed(r)))(w, r)
		},
		"unknown type": func(w http.ResponseWriter, r *http.Request) {
			canned(200, "application/json", fmt.Sprintf(`{"status":"success","data":{"resultType":%q,"result":[]}}`, echoed(r)))(w, r)
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://localhost:1/"+url.PathEscape(echoed(r)), http.StatusPermanentRedirect)
		},
		"no HTTP": func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 "+echoed(r)+"\r\n\r\n")
				_ = conn.Close()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			logs := &syncBuffer{}
			remote := newRemote(t, source.RemoteOptions{
				URLs: []string{serve(t, answer)}, HTTPClientConfig: &c, Headers: map[string]string{"X-Api-Key": "hunter3"}, Logger: slog.New(slog.NewTextHandler(logs, nil)),
			})
			_, err := remote.Instant(t.Context(), "up", at(0))
			require.Error(t, err)
			shown := strings.Join(append(logs.lines(), err.Error()), "\n")
			for _, secret := range []string{"hunter2", "hunter3", base64.StdEncoding.EncodeToString([]byte("ann:hunter2"))} {
				require.NotContains(t, shown, secret)
			}
			require.Contains(t, shown, "secret")
		})
	}
	remote := newRemote(t, source.RemoteOptions{HTTPClientConfig: &c, URLs: []string{serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		canned(200, "application/json", fmt.Sprintf(`{"status":"success","data":{"resultType":"vector","result":[]},"warnings":[%q]}`, echoed(r)))(w, r)
	}))}})
	v, err := remote.Instant(t.Context(), "up", at(0))
	require.NoError(t, err)
	require.Equal(t, []string{"<secret> <secret> "}, v.Warnings)
}
