//go:build unix

package exec

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRequestIsThereBeforeTheStart: whoever is started finds it, even if we are
// killed before the next instruction.
func TestRequestIsThereBeforeTheStart(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "unused")
	request := []byte(`{"verb":"scale","want":3}`)
	started, err := handOver(cmd, request)
	require.NoError(t, err)
	in, err := io.ReadAll(cmd.Stdin.(*os.File)) // to its end: nobody else holds it open
	require.NoError(t, err)
	require.Equal(t, request, in)
	started()()
}

// TestRequestLargerThanAPipe comes whole, and a command that does not read it
// ends all the same.
func TestRequestLargerThanAPipe(t *testing.T) {
	request := []byte(strings.Repeat("0123456789abcdef", 64<<10))
	for name, read := range map[string]bool{"read": true, "not read": false} {
		t.Run(name, func(t *testing.T) {
			program := "cat"
			if !read {
				program = "true"
			}
			var out bytes.Buffer
			cmd := exec.CommandContext(t.Context(), program)
			cmd.Stdout = &out
			started, err := handOver(cmd, request)
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			ended := started()
			require.NoError(t, cmd.Wait())
			ended()
			if read {
				require.True(t, bytes.Equal(request, out.Bytes()))
			}
		})
	}
}
