package exec

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCommandDiesWithTheService: a command must not act beside that of whoever
// takes the place of a service that was killed.
func TestCommandDiesWithTheService(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	address, accept := connections(t)
	service := exec.CommandContext(t.Context(), program, "child", "service", address)
	require.NoError(t, service.Start())
	command := accept()
	require.NoError(t, service.Process.Kill())
	_ = service.Wait() // it was killed
	gone(t, command)
}
