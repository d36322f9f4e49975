package jobs

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func key(b byte) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, keyBytes)) }

func TestKeys(t *testing.T) {
	older, err := ParseKeys(key(1))
	require.NoError(t, err)
	both, err := ParseKeys("# new on top\n" + key(2) + "\n\n" + key(1) + "\n")
	require.NoError(t, err)

	sealed := older.seal([]byte("hunter2"), "prod 1")
	require.NotContains(t, string(sealed), "hunter2")
	require.NotEqual(t, sealed, older.seal([]byte("hunter2"), "prod 1"), "two texts that look alike sealed")
	plain, err := both.open(sealed, "prod 1")
	require.NoError(t, err)
	require.Equal(t, "hunter2", string(plain))

	_, err = both.open(sealed, "prod 2")
	require.ErrorIs(t, err, errNoKey, "what is about another job")
	_, err = older.open(both.seal([]byte("x"), ""), "")
	require.ErrorIs(t, err, errNoKey)
	sealed[len(sealed)-1] ^= 1
	_, err = both.open(sealed, "prod 1")
	require.ErrorIs(t, err, errNoKey)
}

func TestBadKeys(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "there is no key",
		"# nothing":                            "there is no key",
		"hunter2":                              "line 1 is not a key of 32 bytes in base64",
		"\n" + key(1)[:20]:                     "line 2 is not a key of 32 bytes in base64",
		strings.Repeat(key(1)+"\n", maxKeys+1): "there are more than 16 keys",
	} {
		_, err := ParseKeys(text)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func FuzzParseKeys(f *testing.F) {
	f.Add(key(1) + "\n# " + key(2))
	f.Fuzz(func(t *testing.T, text string) {
		k, err := ParseKeys(text)
		if err != nil {
			return
		}
		plain, err := k.open(k.seal([]byte("x"), "y"), "y")
		require.NoError(t, err)
		require.Equal(t, "x", string(plain))
	})
}
