package app

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/config"
)

func TestWhereAReplicaIsReached(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		listen, set, pod string
		tls              bool
		want             string
	}{
		"configured":        {listen: ":9880", set: "https://a.example.com/zeta", pod: "10.1.2.3", want: "https://a.example.com/zeta"},
		"a pod":             {listen: ":9880", pod: "10.1.2.3", want: "http://10.1.2.3:9880"},
		"a pod with IPv6":   {listen: "[::]:9880", pod: "fd00::7", want: "http://[fd00::7]:9880"},
		"a pod with TLS":    {listen: "0.0.0.0:9880", pod: "10.1.2.3", tls: true, want: "https://10.1.2.3:9880"},
		"a machine":         {listen: ":9880", want: "http://" + host + ":9880"},
		"an address":        {listen: "192.0.2.7:9880", pod: "10.1.2.3", want: "http://192.0.2.7:9880"},
		"a name":            {listen: "scaler-1:9880", tls: true, want: "https://scaler-1:9880"},
		"only this machine": {listen: "127.0.0.1:9880", pod: "10.1.2.3", want: ""},
		"by name":           {listen: "localhost:9880", want: ""},
		"by IPv6":           {listen: "[::1]:9880", want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, advertised(config.Web{ListenAddress: tt.listen, AdvertiseURL: tt.set}, tt.tls, tt.pod))
		})
	}
}

// The leader's certificate is checked as the configuration says, and the error
// names the key to set.
func TestTheLeadersCertificateIsChecked(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("a credential of ours was sent")
		}
	}))
	defer srv.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600))
	ask := func(tls config.LeaderTLS) error {
		client, err := leaderClient(config.Web{Leader: config.Leader{TLSConfig: tls}})
		require.NoError(t, err)
		defer client.CloseIdleConnections()
		reply, err := client.Get(t.Context(), srv.URL)
		if err != nil {
			return err
		}
		return reply.Body.Close()
	}
	require.ErrorContains(t, ask(config.LeaderTLS{}), "set web.leader.tls_config.ca_file to the authority that signed")
	require.NoError(t, ask(config.LeaderTLS{CAFile: ca, ServerName: "example.com"}))
	require.ErrorContains(t, ask(config.LeaderTLS{CAFile: ca, ServerName: "other.test"}), "web.leader.tls_config.server_name")
}
