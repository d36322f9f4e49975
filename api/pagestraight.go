package api

import (
	"fmt"
	"unicode/utf8"
)

// turns reports whether a character turns the direction of writing: of what stands
// behind it, too, whatever the style says about the element that it stands in.
func turns(r rune) bool {
	switch {
	case r == '\u061c', r == '\u200e', r == '\u200f', r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return true
	}
	return false
}

// straight writes such characters of a page's text by their numbers. In a tag nobody
// sees them, and a scope's key has to stay what it is: a template escapes every
// angle bracket of a value, so tags are what lies between two.
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
		if turns(r) && !inside {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, page[i:i+n]...)
		}
		i += n
	}
	return out
}
