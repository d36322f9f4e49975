package zeta

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"
)

// master is a recorded cluster behind a real server, at whatever port it got.
func master(t *testing.T, dir string, start func(http.Handler) *httptest.Server, before func(http.ResponseWriter, *http.Request) bool) *httptest.Server {
	t.Helper()
	recorded := &replay{dir: "testdata/replies/" + dir}
	s := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before != nil && !before(w, r) {
			return
		}
		req := r.Clone(r.Context())
		req.URL.Host, req.RequestURI = "m:8080", ""
		resp, err := recorded.RoundTrip(req)
		if err != nil {
			http.Error(w, "nothing recorded", http.StatusInternalServerError)
			return
		}
		defer resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	t.Cleanup(s.Close)
	return s
}

func withHTTP(c promconfig.HTTPClientConfig) func(*CollectorOptions) {
	return func(o *CollectorOptions) { o.Cluster.HTTPClientConfig = c }
}

func basicAuth(password string) promconfig.HTTPClientConfig {
	c := promconfig.DefaultHTTPClientConfig
	c.BasicAuth = &promconfig.BasicAuth{Username: "admin", Password: promconfig.Secret(password)}
	return c
}

func needsPassword(password string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if _, got, ok := r.BasicAuth(); !ok || got != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="SeaTunnel Web UI"`)
			w.WriteHeader(http.StatusUnauthorized)
			return false
		}
		return true
	}
}

func TestBasicAuth(t *testing.T) {
	s := master(t, "2.3.13/busy", httptest.NewServer, needsPassword("secret"))
	good := newTestCollector(t, nil, withURLs(s.URL), withHTTP(basicAuth("secret")))
	require.Contains(t, samples(page(t, good)), "up 1")
	for name, c := range map[string]promconfig.HTTPClientConfig{"none": {}, "wrong": basicAuth("guess")} {
		got := page(t, newTestCollector(t, nil, withURLs(s.URL), withHTTP(c)))
		require.Contains(t, samples(got), "up 0", name)
		require.Contains(t, samples(got), `scrape_errors_total{endpoint="overview"} 1`, name)
	}
}

func TestTLS(t *testing.T) {
	s := master(t, "2.3.13/busy", httptest.NewTLSServer, nil)
	require.Contains(t, samples(page(t, newTestCollector(t, nil, withURLs(s.URL)))), "up 0", "nobody vouches for the certificate")
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	c := promconfig.DefaultHTTPClientConfig
	c.TLSConfig = promconfig.TLSConfig{CAFile: ca}
	require.Contains(t, samples(page(t, newTestCollector(t, nil, withURLs(s.URL), withHTTP(c)))), "up 1")
}

// TestRedirectsCarryNoCredentials redirects to another host, to another port of
// the same one, and within the host.
func TestRedirectsCarryNoCredentials(t *testing.T) {
	var mu sync.Mutex
	var foreign []string
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		foreign = append(foreign, r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"projectVersion":"2.3.8","workers":"7"}`))
	}))
	t.Cleanup(thief.Close)
	s := master(t, "2.3.13/busy", httptest.NewServer, func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, thief.URL+r.URL.Path, http.StatusFound)
		return false
	})
	got := page(t, newTestCollector(t, nil, withURLs(s.URL), withHTTP(basicAuth("secret"))))
	require.Contains(t, samples(got), "up 0")
	mu.Lock()
	defer mu.Unlock()
	require.Empty(t, foreign, "another host is not even asked")

	moved := master(t, "2.3.13/busy", httptest.NewServer, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/overview" && r.URL.RawQuery == "" {
			http.Redirect(w, r, "/overview?moved=1", http.StatusFound)
			return false
		}
		return needsPassword("secret")(w, r)
	})
	got = page(t, newTestCollector(t, nil, withURLs(moved.URL), withHTTP(basicAuth("secret"))))
	require.Contains(t, samples(got), "up 1", "within the host redirects are followed")
}

// A redirect below another path of the host leads to another application, which
// must not see the credential of this one.
func TestRedirectsStayBelowTheURL(t *testing.T) {
	var stolen atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/zeta/") {
			http.Redirect(w, r, "/other"+r.URL.Path, http.StatusFound)
			return
		}
		if r.Header.Get("Authorization") != "" {
			stolen.Add(1)
		}
	}))
	t.Cleanup(s.Close)
	e := newTestExporter(t, ExporterOptions{Probe: ProbeConfig{AllowedTargets: []string{s.URL + "/zeta"}, HTTPClientConfig: basicAuth("hunter2")}})
	require.Contains(t, get(t, e, probeURL(s.URL+"/zeta", "c")).Body.String(), `seatunnel_zeta_up{cluster="c"} 0`)
	require.Zero(t, stolen.Load())
}

// A server that tells an error by showing the request must not bring our
// credential into the log.
func TestEchoedCredentialsAreTakenOut(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter, string){
		"message": func(w http.ResponseWriter, secret string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = fmt.Fprintf(w, `{"status":"fail","message":%q}`, secret)
		},
		"failure with 200": func(w http.ResponseWriter, secret string) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"status":"fail","message":%q}`, secret)
		},
		"content type": func(w http.ResponseWriter, secret string) { w.Header().Set("Content-Type", "text/"+secret) },
		"number": func(w http.ResponseWriter, secret string) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"workers":%q}`, secret)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, password, _ := r.BasicAuth()
				answer(w, password)
			}))
			t.Cleanup(s.Close)
			var log bytes.Buffer
			c, err := NewCollector(CollectorOptions{
				Cluster: ClusterConfig{Name: "c", URLs: []string{s.URL}, HTTPClientConfig: basicAuth("hunter2")}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
			require.NoError(t, err)
			c.Snapshot(t.Context())
			c.Close()
			require.Contains(t, log.String(), "secret>")
			require.NotContains(t, log.String(), "hunter2")
		})
	}
}
