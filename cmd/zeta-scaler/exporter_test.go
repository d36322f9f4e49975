package main

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// SIGHUP swaps the exporter's clusters, all of them or none.
func TestExporterReload(t *testing.T) {
	t.Parallel()
	dir, url := t.TempDir(), zetaServer(t, 2)
	config := func(name string) string { return fmt.Sprintf("clusters: [{name: %s, urls: [%q]}]\n", name, url) }
	write(t, dir, "zeta-scaler.yml", config("one"))
	p := start(t, dir, "exporter")
	require.Equal(t, "2", p.metric(`seatunnel_zeta_workers{cluster="one"}`))
	write(t, dir, "zeta-scaler.yml", "clusters: [{nam: two}]\n")
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
	eventually(t, "a refused reload", func() bool { return p.log.count("reload failed, the old configuration stays") == 1 })
	require.Equal(t, "2", p.metric(`seatunnel_zeta_workers{cluster="one"}`))
	write(t, dir, "zeta-scaler.yml", config("two"))
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
	eventually(t, "the other cluster", func() bool { return p.metric(`seatunnel_zeta_workers{cluster="two"}`) == "2" })
	require.Empty(t, p.metric(`seatunnel_zeta_workers{cluster="one"}`))

	write(t, dir, "zeta-scaler.yml", config("three")+"log: {format: json}\n")
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
	eventually(t, "a restart is asked for", func() bool { return p.log.count("log.format has changed, which needs a restart") == 1 })
	write(t, dir, "zeta-scaler.yml", config("three")+"log: {level: error}\n")
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
	eventually(t, "the third cluster", func() bool { return p.metric(`seatunnel_zeta_workers{cluster="three"}`) == "2" })
	reloaded := p.log.count("configuration reloaded")
	write(t, dir, "zeta-scaler.yml", config("four")+"log: {level: error}\n")
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
	eventually(t, "the fourth cluster", func() bool { return p.metric(`seatunnel_zeta_workers{cluster="four"}`) == "2" })
	require.Equal(t, reloaded, p.log.count("configuration reloaded"), "the level has changed")
	p.stop()
}
