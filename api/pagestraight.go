package api

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// straight writes characters of a page's text that turn the direction of writing by
// their numbers: they turn what stands behind them, too, whatever the style says
// about the element that they stand in. In a tag nobody sees them, and a scope's key
// has to stay what it is: a template escapes every angle bracket of a value, so tags
// are what lies between two.
func straight(page []byte) []byte {
	out := make([]byte, 0, len(page))
	inside := false
	for i := 0; i < len(page); {
		c := page[i]
		if c < utf8.RuneSelf {
			inside = c == '<' || inside && c != '>'
			out = append(out, c)
			i++
			continue
		}
		r, n := utf8.DecodeRune(page[i:])
		if unicode.Is(unicode.Bidi_Control, r) && !inside {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, page[i:i+n]...)
		}
		i += n
	}
	return out
}
