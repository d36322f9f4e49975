package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"
)

// scanner walks over JSON without building values. Its methods expect the
// named thing next and stand behind it afterwards.
type scanner struct {
	buf     []byte
	pos     int
	builder labels.ScratchBuilder
	// names are the label names so far: few, and repeated in every series.
	names map[string]string
}

// maxNesting bounds what skip walks into; the API's own replies have five.
const maxNesting = 100

// peek is the next byte that is not white space, 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.buf) {
		switch c := s.buf[s.pos]; c {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// unexpected says what stands where want should.
func (s *scanner) unexpected(want string) error {
	if s.peek() == 0 && s.pos >= len(s.buf) {
		return fmt.Errorf("byte %d: %w, expected %s", s.pos, io.ErrUnexpectedEOF, want)
	}
	return fmt.Errorf("byte %d: %q, expected %s", s.pos, s.buf[s.pos], want)
}

// take consumes c if it is next.
func (s *scanner) take(c byte) bool {
	if s.peek() != c || s.pos >= len(s.buf) {
		return false
	}
	s.pos++
	return true
}

// end makes sure that nothing follows.
func (s *scanner) end() error {
	if s.peek(); s.pos < len(s.buf) {
		return s.unexpected("the end")
	}
	return nil
}

// null consumes a null if it is next.
func (s *scanner) null() bool {
	if s.peek() == 'n' && bytes.HasPrefix(s.buf[s.pos:], []byte("null")) {
		s.pos += len("null")
		return true
	}
	return false
}

// object calls member behind the colon of every member.
func (s *scanner) object(member func(key []byte) error) error {
	if !s.take('{') {
		return s.unexpected("an object")
	}
	for first := true; !s.take('}'); first = false {
		if !first && !s.take(',') {
			return s.unexpected(`"," or "}"`)
		}
		key, err := s.str()
		if err != nil {
			return err
		}
		if !s.take(':') {
			return s.unexpected(`":"`)
		}
		if err := member(key); err != nil {
			return err
		}
	}
	return nil
}

// array calls item before every item.
func (s *scanner) array(item func() error) error {
	if !s.take('[') {
		return s.unexpected("an array")
	}
	for first := true; !s.take(']'); first = false {
		if !first && !s.take(',') {
			return s.unexpected(`"," or "]"`)
		}
		if err := item(); err != nil {
			return err
		}
	}
	return nil
}

// str reads a string; the result lies in buf unless it had escapes.
func (s *scanner) str() ([]byte, error) {
	if !s.take('"') {
		return nil, s.unexpected("a string")
	}
	start, escaped := s.pos, false
	for ; s.pos < len(s.buf); s.pos++ {
		switch s.buf[s.pos] {
		case '"':
			s.pos++
			if escaped {
				return unescape(s.buf[start-1 : s.pos])
			}
			return s.buf[start : s.pos-1], nil
		case '\\':
			escaped = true
			s.pos++
		}
	}
	s.pos = len(s.buf) // an escape may have led past the end
	return nil, s.unexpected("the end of a string")
}

// intern turns bytes that are seen often into one string.
func (s *scanner) intern(b []byte) string {
	if known, ok := s.names[string(b)]; ok {
		return known
	}
	if s.names == nil {
		s.names = make(map[string]string)
	}
	text := string(b)
	s.names[text] = text
	return text
}

// literal reads a number or a word.
func (s *scanner) literal() []byte {
	s.peek()
	start := s.pos
	for s.pos < len(s.buf) {
		c := s.buf[s.pos]
		if c != '+' && c != '-' && c != '.' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && c != 'E' {
			break
		}
		s.pos++
	}
	return s.buf[start:s.pos]
}

func (s *scanner) number() (float64, error) {
	c := s.peek()
	if c != '-' && (c < '0' || c > '9') {
		return 0, s.unexpected("a number")
	}
	text := s.literal()
	if whole, ok := digits(text); ok {
		return float64(whole), nil
	}
	return strconv.ParseFloat(string(text), 64)
}

// exactDigits is how many digits every whole number has that a float64 holds
// exactly.
const exactDigits = 15

// digits reads a short whole number, as most times are.
func digits(text []byte) (whole int64, ok bool) {
	if len(text) == 0 || len(text) > exactDigits {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		whole = 10*whole + int64(c-'0')
	}
	return whole, true
}

// raw skips a value and returns it unread.
func (s *scanner) raw() ([]byte, error) {
	s.peek()
	start := s.pos
	err := s.skip()
	return s.buf[start:s.pos], err
}

// skip walks over any value without judging what is inside of it.
func (s *scanner) skip() error {
	for depth := 0; ; {
		switch s.peek() {
		case '"':
			if err := s.skipString(); err != nil {
				return err
			}
		case '{', '[':
			s.pos++
			if depth++; depth > maxNesting {
				return errors.New("nested too deeply")
			}
			continue
		case '}', ']':
			if depth--; depth < 0 {
				return s.unexpected("a value")
			}
			s.pos++
		case ',', ':':
			if depth == 0 {
				return s.unexpected("a value")
			}
			s.pos++
			continue
		default:
			if len(s.literal()) == 0 {
				return s.unexpected("a value")
			}
		}
		if depth == 0 {
			return nil
		}
	}
}

// skipString is str without the result.
func (s *scanner) skipString() error {
	for i := s.pos + 1; i < len(s.buf); i++ {
		switch s.buf[i] {
		case '"':
			s.pos = i + 1
			return nil
		case '\\':
			i++
		}
	}
	s.pos = len(s.buf)
	return s.unexpected("the end of a string")
}
