package source_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/source"
)

// authority is a certificate authority made for one test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &authority{cert: cert, key: key}
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// issue returns a certificate for loopback and its key, as PEM.
func (a *authority) issue(t *testing.T, name string) (cert, key []byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, k.Public(), a.key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(k)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

// keyPair is issue for a server.
func (a *authority) keyPair(t *testing.T) *tls.Certificate {
	t.Helper()
	cert, key := a.issue(t, "server")
	pair, err := tls.X509KeyPair(cert, key)
	require.NoError(t, err)
	return &pair
}

// httpConfig reads what an operator would write below http_config.
func httpConfig(t *testing.T, text string) *config.HTTPClientConfig {
	t.Helper()
	c := config.DefaultHTTPClientConfig
	require.NoError(t, yaml.Unmarshal([]byte(text), &c))
	return &c
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, content, 0o600))
}

func TestRotatedCertificatesArePickedUp(t *testing.T) {
	dir := t.TempDir()
	caFile, certFile, keyFile := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	firstCA, secondCA, clients := newAuthority(t, "first"), newAuthority(t, "second"), newAuthority(t, "clients")

	var serverCert atomic.Pointer[tls.Certificate]
	serverCert.Store(firstCA.keyPair(t))
	var client atomic.Value
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client.Store(r.TLS.PeerCertificates[0].Subject.CommonName)
		canned(200, "application/json", vectorOf("1"))(w, r)
	}))
	pool := x509.NewCertPool()
	pool.AddCert(clients.cert)
	srv.TLS = &tls.Config{
		ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return serverCert.Load(), nil },
	}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes are what the test is about
	srv.StartTLS()
	t.Cleanup(srv.Close)
	srv.TLS.Certificates = nil // httptest's own, which would win over GetCertificate

	write(t, caFile, firstCA.pem())
	cert, key := clients.issue(t, "client one")
	write(t, certFile, cert)
	write(t, keyFile, key)
	remote := newRemote(t, source.RemoteOptions{
		URLs:             []string{srv.URL},
		HTTPClientConfig: httpConfig(t, "tls_config: {ca_file: "+caFile+", cert_file: "+certFile+", key_file: "+keyFile+"}"),
	})
	ask := func() error {
		_, err := remote.Instant(t.Context(), "up", at(0))
		return err
	}
	require.NoError(t, ask())
	require.Equal(t, "client one", client.Load())

	cert, key = clients.issue(t, "client two")
	write(t, certFile, cert)
	write(t, keyFile, key)
	require.NoError(t, ask())
	require.Equal(t, "client two", client.Load(), "the new client certificate, without a restart")

	serverCert.Store(secondCA.keyPair(t))
	srv.CloseClientConnections()
	err := ask()
	require.ErrorIs(t, err, source.ErrNoAnswer)
	require.ErrorContains(t, err, "certificate signed by unknown authority")

	write(t, caFile, secondCA.pem())
	require.NoError(t, ask(), "the new authority, without a restart")

	write(t, caFile, []byte("nonsense"))
	err = ask()
	require.ErrorIs(t, err, source.ErrNoAnswer)
	require.ErrorContains(t, err, "CA cert")
}

func TestRotatedSecretsArePickedUp(t *testing.T) {
	tests := []struct {
		name   string
		config func(file string) string
		seen   func(r *http.Request) string
	}{
		{
			"bearer", func(f string) string { return "authorization: {credentials_file: " + f + "}" },
			func(r *http.Request) string { return r.Header.Get("Authorization")[len("Bearer "):] },
		},
		{
			"basic", func(f string) string { return "basic_auth: {username: zeta, password_file: " + f + "}" },
			func(r *http.Request) string { _, p, _ := r.BasicAuth(); return p },
		},
		{
			"header", func(f string) string { return "http_headers: {X-Token: {files: [" + f + "]}}" },
			func(r *http.Request) string { return r.Header.Get("X-Token") },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var seen string
			base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen = tt.seen(r)
				canned(200, "application/json", vectorOf("1"))(w, r)
			}))
			file := filepath.Join(t.TempDir(), "secret")
			write(t, file, []byte("one\n"))
			remote := newRemote(t, source.RemoteOptions{URLs: []string{base}, HTTPClientConfig: httpConfig(t, tt.config(file))})
			for _, secret := range []string{"one", "two"} {
				write(t, file, []byte(secret+"\n"))
				_, err := remote.Instant(t.Context(), "up", at(0))
				require.NoError(t, err)
				require.Equal(t, secret, seen)
			}
			require.NoError(t, os.Remove(file))
			_, err := remote.Instant(t.Context(), "up", at(0))
			require.ErrorIs(t, err, source.ErrNoAnswer)
			require.ErrorContains(t, err, "secret: no such file")
		})
	}
}

func TestOAuth2SecretIsPickedUp(t *testing.T) {
	tokens := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secret := r.FormValue("client_secret")
		if _, p, ok := r.BasicAuth(); ok {
			secret = p
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "token of " + secret, "token_type": "Bearer", "expires_in": 3600})
	}))
	var seen string
	base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header.Get("Authorization")
		canned(200, "application/json", vectorOf("1"))(w, r)
	}))
	file := filepath.Join(t.TempDir(), "secret")
	write(t, file, []byte("one"))
	remote := newRemote(t, source.RemoteOptions{URLs: []string{base}, HTTPClientConfig: httpConfig(t,
		"oauth2: {client_id: zeta, client_secret_file: "+file+", token_url: "+tokens+"}")})
	for _, secret := range []string{"one", "two"} {
		write(t, file, []byte(secret))
		_, err := remote.Instant(t.Context(), "up", at(0))
		require.NoError(t, err)
		require.Equal(t, "Bearer token of "+secret, seen)
	}
}

func TestNewRemoteChecksHTTPConfig(t *testing.T) {
	c := config.DefaultHTTPClientConfig
	c.BasicAuth = &config.BasicAuth{Username: "a", Password: "p"}
	c.Authorization = &config.Authorization{Credentials: "secret"}
	_, err := source.NewRemote(source.RemoteOptions{URLs: []string{"http://a"}, HTTPClientConfig: &c})
	require.ErrorContains(t, err, "at most one of basic_auth, oauth2 & authorization")

	_, err = source.NewRemote(source.RemoteOptions{URLs: []string{"https://a"}, HTTPClientConfig: httpConfig(t, "tls_config: {ca_file: /nowhere/ca.pem}")})
	require.ErrorContains(t, err, "/nowhere/ca.pem")
}
