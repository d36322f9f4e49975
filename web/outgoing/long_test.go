package outgoing

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"
)

// Each reply has its free part; what is beyond waits for the one place.
func TestLongRepliesAreReadOneAtATime(t *testing.T) {
	long := NewLongReplies()
	read := func(ctx context.Context, in *Intake, announced int64, text string) error {
		r, err := in.Reader(ctx, announced, strings.NewReader(text))
		if err == nil {
			_, err = io.ReadAll(iotest.OneByteReader(r))
		}
		return err
	}
	first := long.Intake(4)
	require.NoError(t, read(t.Context(), first, -1, "12345"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, read(ended, long.Intake(8), 7, "1234567"), "small ones do not wait")
	require.ErrorIs(t, read(ended, long.Intake(4), -1, "12345"), context.Canceled)
	require.ErrorIs(t, read(ended, long.Intake(4), 5, "12345"), context.Canceled)
	first.Release()
	first.Release()
	second := long.Intake(4)
	require.NoError(t, read(t.Context(), second, 5, "12345"))
	second.Release()
	require.Empty(t, long)
	require.NoError(t, read(ended, LongReplies(nil).Intake(1), -1, "12345"), "nil has a place for everybody")
}

func TestWithoutCredentials(t *testing.T) {
	c := withPassword("pass")
	c.TLSConfig = promconfig.TLSConfig{CAFile: "ca", CertFile: "cert", KeyFile: "key", Cert: "c", Key: "k", CertRef: "cr", KeyRef: "kr", ServerName: "s"}
	c.HTTPHeaders = &promconfig.Headers{}
	got := WithoutCredentials(c)
	require.Equal(t, promconfig.TLSConfig{CAFile: "ca", ServerName: "s"}, got.TLSConfig)
	require.Nil(t, got.BasicAuth)
	require.Nil(t, got.HTTPHeaders)
	require.True(t, got.FollowRedirects)
	require.True(t, identifies(&c))
	require.False(t, identifies(&got))
}
