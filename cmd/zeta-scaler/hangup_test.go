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

// A file that hangs, at the start or at a reload, keeps no service from ending,
// nor from the next reload.
func TestStopWhileAFileHangs(t *testing.T) {
	t.Parallel()
	for _, service := range []string{"serve", "exporter"} {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "config.yml")
			require.NoError(t, os.WriteFile(file, []byte("prometheus: {urls: ['http://127.0.0.1:1']}\n"), 0o600))
			p := start(t, dir, service, "--config.file", file)
			require.NoError(t, os.Remove(file))
			require.NoError(t, syscall.Mkfifo(file, 0o600))
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
			hold(t, file)
			p.stop()
			require.Equal(t, 1, p.log.count("a file does not answer"))

			cmd := command(t, dir, service, "--config.file", file)
			require.NoError(t, cmd.Start())
			hold(t, file)
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			require.NoError(t, cmd.Wait())
		})
	}
}

// hold waits for who reads a pipe, and writes nothing into it.
func hold(t *testing.T, pipe string) {
	t.Helper()
	eventually(t, "a reader", func() bool {
		f, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return false
		}
		t.Cleanup(func() { _ = f.Close() })
		return true
	})
}
