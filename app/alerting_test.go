package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/config"
)

func TestExternalURL(t *testing.T) {
	require.Equal(t, "https://scaler.example/z", externalURL(config.Web{ExternalURL: "https://scaler.example/z", ListenAddress: ":1"}))
	require.Equal(t, "http://[::1]:9880", externalURL(config.Web{ListenAddress: "[::1]:9880"}))
	require.Regexp(t, `^http://[^:]+:9880$`, externalURL(config.Web{ListenAddress: ":9880"}))
}
