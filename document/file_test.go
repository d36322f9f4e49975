package document

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOfALargeFileOneByteMoreIsRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("12345"), 0o600))
	for most, want := range map[int64]string{9: "12345", 5: "12345", 4: "12345", 3: "1234", 0: "1"} {
		got, err := ReadFile(file, most)
		require.NoError(t, err)
		require.Equal(t, want, string(got), most)
	}
	_, err := ReadFile(file+"s", 3)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = ReadFile(filepath.Dir(file), 3)
	require.ErrorContains(t, err, file[:len(file)-len("/file")])
}
