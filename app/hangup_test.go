package app

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/config"
)

func TestAStopIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		hangs := make(chan struct{})
		time.AfterFunc(time.Hour, stop)
		began := time.Now()
		require.ErrorIs(t, bounded(ctx, func() error {
			<-hangs
			return nil
		}), errStop)
		require.Equal(t, time.Hour+stopTimeout, time.Since(began))
		close(hangs)
		require.NoError(t, bounded(ctx, func() error { return nil }))
	})
}

// A reload waits for files for a while; a start until it is called off.
func TestReadingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := make(chan struct{})
		load := func() (*config.Config, error) {
			<-hangs
			return &config.Config{}, nil
		}
		began := time.Now()
		_, err := rereading(t.Context(), load)
		require.ErrorContains(t, err, "a file does not answer")
		require.Equal(t, loadTimeout, time.Since(began))
		time.AfterFunc(time.Hour, func() { close(hangs) })
		cfg, err := reading(t.Context(), load)
		require.NoError(t, err)
		require.NotNil(t, cfg)
	})
}
