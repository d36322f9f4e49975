package web

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// certificate writes a self-signed certificate with the given serial number
// and returns it as a client would use it.
func certificate(t *testing.T, dir string, serial int64) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "scaler"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames: []string{"client.example"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cert.pem"), certPEM, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "key.pem"), keyPEM, 0o600))
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	require.NoError(t, err)
	return pair
}

// serve serves TLS with a web configuration file in dir.
func serve(t *testing.T, dir, text string) *Server {
	t.Helper()
	file := filepath.Join(dir, "web.yml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	s := listen(t, Options{OpenReads: true, ConfigFile: file})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, echo) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-done)
	})
	return s
}

// get asks the server over a new connection.
func get(t *testing.T, s *Server, client *tls.Config) (*http.Response, error) {
	t.Helper()
	client.InsecureSkipVerify = true
	tr := &http.Transport{TLSClientConfig: client, ForceAttemptHTTP2: true}
	defer tr.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+s.Addr().String()+"/x", nil)
	require.NoError(t, err)
	res, err := (&http.Client{Transport: tr}).Do(req)
	if err == nil {
		require.NoError(t, res.Body.Close())
	}
	return res, err
}

func TestTLSWithRotatedCertificate(t *testing.T) {
	dir := t.TempDir()
	certificate(t, dir, 1)
	s := serve(t, dir, "tls_server_config: {cert_file: cert.pem, key_file: key.pem}\nhttp_server_config: {headers: {X-Frame-Options: deny}}\n")
	serial := func() int64 {
		res, err := get(t, s, &tls.Config{})
		require.NoError(t, err)
		require.Equal(t, "deny", res.Header.Get("X-Frame-Options"))
		require.Equal(t, "HTTP/2.0", res.Proto)
		return res.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	require.Equal(t, int64(1), serial())
	certificate(t, dir, 2)
	require.Equal(t, int64(2), serial(), "a rotated certificate counts without a restart")
	require.NoError(t, os.Remove(filepath.Join(dir, "key.pem")))
	require.Equal(t, int64(2), serial(), "while files do not fit, the last good ones are used")
	certificate(t, dir, 3)
	require.Equal(t, int64(3), serial())

	_, err := get(t, s, &tls.Config{MaxVersion: tls.VersionTLS11})
	require.Error(t, err, "old versions are not offered")
}

func TestTLSWithoutHTTP2(t *testing.T) {
	dir := t.TempDir()
	certificate(t, dir, 1)
	s := serve(t, dir, "tls_server_config: {cert_file: cert.pem, key_file: key.pem, min_version: TLS13}\nhttp_server_config: {http2: false}\n")
	res, err := get(t, s, &tls.Config{})
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1", res.Proto)
	require.Equal(t, uint16(tls.VersionTLS13), res.TLS.Version)
	_, err = get(t, s, &tls.Config{MaxVersion: tls.VersionTLS12})
	require.Error(t, err)
}

func TestTLSClients(t *testing.T) {
	clientDir, dir := t.TempDir(), t.TempDir()
	client := certificate(t, clientDir, 7)
	stranger := certificate(t, t.TempDir(), 8)
	certificate(t, dir, 1)
	text := "tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: " +
		filepath.Join(clientDir, "cert.pem") + "\n"
	s := serve(t, dir, text+"  client_allowed_sans: [client.example]\n")
	_, err := get(t, s, &tls.Config{Certificates: []tls.Certificate{client}})
	require.NoError(t, err)
	_, err = get(t, s, &tls.Config{})
	require.Error(t, err, "no certificate")
	_, err = get(t, s, &tls.Config{Certificates: []tls.Certificate{stranger}})
	require.Error(t, err, "another authority")

	other := serve(t, dir, text+"  client_allowed_sans: [other.example]\n")
	_, err = get(t, other, &tls.Config{Certificates: []tls.Certificate{client}})
	require.Error(t, err, "a name that is not allowed")
}

func TestTLSFileErrors(t *testing.T) {
	dir := t.TempDir()
	certificate(t, dir, 1)
	pair := "cert_file: " + filepath.Join(dir, "cert.pem") + ", key_file: " + filepath.Join(dir, "key.pem")
	for _, tc := range []struct{ name, text, want string }{
		{"missing certificate", "tls_server_config: {cert_file: c.pem, key_file: k.pem}", "no such file"},
		{"versions crossed", "tls_server_config: {" + pair + ", min_version: TLS13, max_version: TLS12}", "min_version is above max_version"},
		{"client type", "tls_server_config: {" + pair + ", client_auth_type: Maybe}", `client_auth_type is "Maybe"`},
		{"no authority", "tls_server_config: {" + pair + ", client_auth_type: RequireAndVerifyClientCert}", "needs client_ca_file"},
		{"useless authority", "tls_server_config: {" + pair + ", client_ca_file: " + filepath.Join(dir, "cert.pem") + "}", "of no use"},
		{"authority is no certificate", "tls_server_config: {" + pair + ", client_auth_type: VerifyClientCertIfGiven, client_ca_file: " + filepath.Join(dir, "key.pem") + "}", "has no certificate"},
		{"names without clients", "tls_server_config: {" + pair + ", client_allowed_sans: [a]}", "client_allowed_sans needs"},
		{"cipher", "tls_server_config: {" + pair + ", cipher_suites: [TLS_RSA_WITH_RC4_128_SHA]}", "not known or not secure"},
		{"curve", "tls_server_config: {" + pair + ", curve_preferences: [P1]}", "expected CurveP256"},
		{"header", "http_server_config: {headers: {Set-Cookie: a}}", "Set-Cookie cannot be set"},
		{"header value", `http_server_config: {headers: {X-Frame-Options: "a\nb"}}`, "line break"},
		{"wrong type", "basic_auth_users: [hunter2]", "web.yml:1:19: basic_auth_users is a list, expected a mapping of names to values"},
		{"unknown key", "tls_server_confg: {}", "did you mean tls_server_config?"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Listen(t.Context(), Options{ListenAddress: "127.0.0.1:0", OpenReads: true, ConfigFile: write(t, "web.yml", tc.text)})
			require.ErrorContains(t, err, tc.want)
			require.NotContains(t, err.Error(), "hunter2")
			require.NotContains(t, err.Error(), "web.tls")
		})
	}
	all := "tls_server_config: {" + pair + ", cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256], curve_preferences: [X25519], prefer_server_cipher_suites: true}"
	s, err := Listen(t.Context(), Options{ListenAddress: "127.0.0.1:0", OpenReads: true, ConfigFile: write(t, "web.yml", all)})
	require.NoError(t, err)
	require.NoError(t, s.listener.Close())
}

func TestAddressIsLogged(t *testing.T) {
	var log bytes.Buffer
	s, err := Listen(t.Context(), Options{ListenAddress: "127.0.0.1:0", OpenReads: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.NoError(t, s.Serve(ctx, echo))
	require.Contains(t, log.String(), "address="+s.Addr().String())
}
