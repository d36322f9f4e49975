//go:build unix

package file_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/state/file"
)

// nobody is a user with no rights of its own.
const nobody = 65534

func TestUnwritable(t *testing.T) {
	// Not t.TempDir: another user may not even enter that.
	folder, err := os.MkdirTemp("", "zeta-scaler-unwritable")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	require.NoError(t, os.Chmod(folder, 0o555))
	if os.Geteuid() == 0 {
		// Root may write everywhere, so it is somebody else for this test.
		require.NoError(t, syscall.Seteuid(nobody))
		t.Cleanup(func() { require.NoError(t, syscall.Seteuid(0)) })
	}
	_, err = file.Open(t.Context(), file.Options{Path: filepath.Join(folder, "state.db")})
	require.ErrorContains(t, err, "cannot be written: let this user write")
}
