//go:build unix

package config

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pipe that nobody writes into would hold up a start for ever.
func TestAPipeIsNoFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err := loadText(t, "web: {bearer_tokens_file: "+pipe+"}", nil, nil)
	require.ErrorContains(t, err, "is a pipe")
}
