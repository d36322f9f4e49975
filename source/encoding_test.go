package source

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Only what comes over a network is packed.
func TestEncodingFor(t *testing.T) {
	for host, want := range map[string]string{
		"localhost": "identity", "127.0.0.1": "identity", "127.3.2.1": "identity", "::1": "identity",
		"prometheus": "gzip", "10.0.0.1": "gzip", "localhost.example.org": "gzip", "": "gzip",
	} {
		require.Equal(t, want, encodingFor(host), host)
	}
}
