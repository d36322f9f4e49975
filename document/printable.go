package document

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Unprintable reports whether a character would move a terminal's cursor, break a
// line, or turn the direction in which what stands behind it is written.
func Unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// Printable is a text that a terminal bears, wherever it comes from: a "?" stands
// for each character that is Unprintable and for each byte that is no UTF-8. The
// characters of keep stay, such as "\n" where lines are to stay lines.
func Printable(text, keep string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || Unprintable(r) && !strings.ContainsRune(keep, r) {
			return '?'
		}
		return r
	}, text)
}
