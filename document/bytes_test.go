package document

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]Bytes{"0B": 0, "1B": 1, "64MiB": 64 << 20, "3KiB": 3072, "2GiB": 2 << 30} {
		got, err := parseBytes(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "1", "MiB", "1MB", "1.5MiB", "-1MiB", "1 MiB", "9223372036854775807KiB", "99999999999999999999B"} {
		_, err := parseBytes(text)
		require.Error(t, err, text)
	}
}

func TestBytesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Bytes(rapid.Int64Min(0).Draw(t, "bytes"))
		got, err := parseBytes(b.String())
		require.NoError(t, err)
		require.Equal(t, b, got)
	})
}
