package file_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/file"
	"github.com/zeta-scaler/zeta-scaler/state/statetest"
)

func open(t testing.TB, path string) *file.Store {
	t.Helper()
	s, err := file.Open(t.Context(), file.Options{Path: path})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestConformance(t *testing.T) {
	statetest.RunConformance(t, func(t testing.TB) state.Store {
		return open(t, filepath.Join(t.TempDir(), "new", "folder", "state.db"))
	})
}
