package app

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/config"
)

func TestExternalURL(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		listen, set string
		tls         bool
		want        string
	}{
		"configured":           {listen: ":1", set: "https://scaler.example/z", want: "https://scaler.example/z"},
		"configured, with TLS": {listen: ":1", set: "http://scaler.example", tls: true, want: "http://scaler.example"},
		"an address":           {listen: "[::1]:9880", want: "http://[::1]:9880"},
		"an address with TLS":  {listen: "192.0.2.7:9880", tls: true, want: "https://192.0.2.7:9880"},
		"a machine":            {listen: ":9880", want: "http://" + host + ":9880"},
		"all of its addresses": {listen: "0.0.0.0:9880", tls: true, want: "https://" + host + ":9880"},
		"with IPv6":            {listen: "[::]:9880", want: "http://" + host + ":9880"},
		"no address":           {listen: "nonsense", want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, externalURL(config.Web{ListenAddress: tt.listen, ExternalURL: tt.set}, tt.tls))
		})
	}
}

// Links of alerts and of the page lead to what is listened on, as it is spoken
// there.
func TestLinksWithTLS(t *testing.T) {
	folder := t.TempDir()
	cert, key := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	selfSigned(t, cert, key)
	file := filepath.Join(folder, "web.yml")
	require.NoError(t, os.WriteFile(file, []byte("tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n"), 0o600))
	cfg := &config.Config{Web: config.Web{ListenAddress: "127.0.0.1:0", ConfigFile: file, OpenReads: true}}
	server, err := listen(t.Context(), cfg.Web, false, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, end := context.WithCancel(t.Context())
		end()
		require.NoError(t, server.Serve(ctx, http.NotFoundHandler()))
	})
	s := &service{server: server}
	want := "https://" + server.Addr().String()
	require.Equal(t, want, s.pageURL(cfg.Web))
	require.Equal(t, want, alertSettings(cfg, s.pageURL(cfg.Web)).ExternalURL)
}

func selfSigned(t *testing.T, cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
}
