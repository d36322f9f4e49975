package app

import (
	"os"
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
