package document

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrintable(t *testing.T) {
	for name, tt := range map[string]struct{ text, keep, want string }{
		"plain":                    {"a → é שלום 👩‍💻", "", "a → é שלום 👩‍💻"},
		"empty":                    {"", "\n", ""},
		"escape sequence":          {"\x1b[2Ja\x7f", "", "?[2Ja?"},
		"escape is not kept":       {"\x1b[2Ja\nb", "\n", "?[2Ja\nb"},
		"C1 control":               {"a\u0085b\u009b2J", "", "a?b?2J"},
		"lines and tabs":           {"a\n\tb\r", "", "a??b?"},
		"lines kept":               {"a\n\tb\r", "\n", "a\n?b?"},
		"lines and tabs kept":      {"a\n\tb\r", "\n\t", "a\n\tb?"},
		"other separators":         {"a\u2028b\u2029c", "\n", "a?b?c"},
		"overrides of direction":   {"a\u202eb\u2066c\u2069", "\n", "a?b?c?"},
		"marks of direction":       {"a\u200eb\u200fc\u061cd", "", "a?b?c?d"},
		"not UTF-8":                {"a\xffb\xc3", "\n\t", "a?b?"},
		"what stood for not UTF-8": {"a\uFFFDb", "\uFFFD", "a?b"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, Printable(tt.text, tt.keep))
			require.Equal(t, tt.want, Printable(tt.want, tt.keep), "what is printable stays")
			if tt.keep == "" && strings.ToValidUTF8(tt.text, "\uFFFD") == tt.text && !strings.Contains(tt.text, "\uFFFD") {
				require.Equal(t, tt.text != tt.want, strings.ContainsFunc(tt.text, Unprintable))
			}
		})
	}
}
