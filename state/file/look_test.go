package file_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/file"
)

func TestLookFindsWhatOpenRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(t *testing.T, path string)
		want  string
	}{
		"no SQLite": {func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, make([]byte, 8192), 0o600))
		}, "not SQLite"},
		"too short": {func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 100)) }, "has 100 bytes"},
		"cut short": {func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 3*4096)) }, "is damaged"},
		"newer":     {func(t *testing.T, path string) { shell(t, path, "PRAGMA user_version = 9") }, "newer zeta-scaler"},
		"of another program": {func(t *testing.T, path string) {
			shell(t, path, "PRAGMA application_id = 7")
		}, "another program"},
		"a folder": {func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Mkdir(path, 0o700))
		}, "not a regular file"},
		"without the file of its log": {func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.WriteFile(path+"-wal", make([]byte, 100), 0o600))
		}, "put the state file back"},
	} {
		t.Run(name, func(t *testing.T) {
			o := file.Options{Path: filled(t)}
			require.NoError(t, o.Look())
			tc.spoil(t, o.Path)
			err := o.Look()
			require.ErrorContains(t, err, tc.want)
			require.ErrorContains(t, err, o.Path)
			_, err = file.Open(t.Context(), o)
			require.Error(t, err)
		})
	}
}

func TestLookChangesNothingAndMayRunBesideTheService(t *testing.T) {
	folder := t.TempDir()
	o := file.Options{Path: filepath.Join(folder, "state.db")}
	require.NoError(t, o.Look())
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, entries)

	s, err := file.Open(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, o.Look(), "its first pages are in the log alone")
	p, err := state.NewPut(state.Decision, "prod", 0, "x")
	require.NoError(t, err)
	_, err = s.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{p}})
	require.NoError(t, err)
	require.NoError(t, o.Look())
	require.NoError(t, s.Close())
	require.NoError(t, o.Look())
}
