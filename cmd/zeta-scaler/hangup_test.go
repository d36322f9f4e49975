package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who reloads a service that is still starting must not end it.
func TestHangupDuringAStart(t *testing.T) {
	t.Parallel()
	for _, service := range []string{"serve", "exporter"} {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			pipe := filepath.Join(dir, "config.yml")
			require.NoError(t, syscall.Mkfifo(pipe, 0o600))
			var log syncBuffer
			cmd := command(t, dir, service, "--config.file", pipe, "--web.listen-address", "127.0.0.1:0")
			cmd.Stderr = &log
			require.NoError(t, cmd.Start())
			configure := func(meanwhile func()) {
				var f *os.File
				eventually(t, "a reader", func() bool {
					var err error
					f, err = os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
					return err == nil
				})
				meanwhile()
				_, err := f.WriteString("prometheus: {urls: ['http://127.0.0.1:1']}\n")
				require.NoError(t, err)
				require.NoError(t, f.Close())
			}
			configure(func() { require.NoError(t, cmd.Process.Signal(syscall.SIGHUP)) })
			eventually(t, "the start", func() bool { return log.count(` starts"`) == 1 })
			configure(func() {})
			eventually(t, "a reload", func() bool { return log.count("configuration reloaded") == 1 })
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			require.NoError(t, cmd.Wait(), log.String())
		})
	}
}
