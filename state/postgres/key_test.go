package postgres

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestLongKeysAreShortInIndexes(t *testing.T) {
	for _, key := range []string{"", "prod/a%2Fb", strings.Repeat("k", longest)} {
		s, whole := indexed(key)
		require.Equal(t, key, s)
		require.Nil(t, whole)
	}
	rapid.Check(t, func(t *rapid.T) {
		head := rapid.String().Draw(t, "head") + strings.Repeat("日本", 200)
		a, b := head+rapid.String().Draw(t, "a"), head+rapid.String().Draw(t, "b")
		s, whole := indexed(a)
		require.Equal(t, a, *whole)
		require.LessOrEqual(t, len(s), longest)
		require.True(t, utf8.ValidString(s))
		require.Equal(t, a == b, s == short(b))
	})
}
