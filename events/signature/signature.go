// Package signature signs what is posted to other systems, and is what a
// system written in Go may use to verify it:
//
//	X-Zeta-Scaler-Signature: t=1767225600,v1=5257a869e7ecebed…
//
// t is when it was signed (Unix seconds), v1 the HMAC-SHA256, in hexadecimal, of
// t, a full stop and the body, with the shared key. A receiver computes it over
// the bytes that it received, compares in constant time, and refuses a t that is
// too far from its own clock, so that nothing old can be sent again.
package signature

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// Header is the name of the header.
const Header = "X-Zeta-Scaler-Signature"

// DefaultTolerance is how far the clocks of sender and receiver may be apart.
const DefaultTolerance = 5 * time.Minute

// Bounds on what is read, in bytes.
const (
	maxHeader = 4 << 10
	maxKey    = 4 << 10
)

// What is wrong with a signature.
var (
	// ErrMalformed: the header is not a signature.
	ErrMalformed = errors.New("malformed signature")
	// ErrMismatch: another key or another body.
	ErrMismatch = errors.New("the signature is not that of the body")
	// ErrExpired: too old, or from too far in the future.
	ErrExpired = errors.New("the signature is out of its time")
)

// Sign returns the header's value for body, signed at the given time, which
// must not be before 1970.
func Sign(key, body []byte, at time.Time) string {
	t := strconv.FormatInt(at.Unix(), 10)
	return "t=" + t + ",v1=" + hex.EncodeToString(sum(key, t, body))
}

// Verify checks the header's value against the body as it was received. A
// header may have several v1, while a key is being replaced: one has to fit.
// tolerance is how far t may be from now, either way.
func Verify(key []byte, header string, body []byte, now time.Time, tolerance time.Duration) error {
	t, sums, err := parse(header)
	if err != nil {
		return err
	}
	want, fits := sum(key, strconv.FormatInt(t, 10), body), false
	for _, s := range sums {
		fits = hmac.Equal(s, want) || fits
	}
	if !fits {
		return ErrMismatch
	}
	if d := now.Sub(time.Unix(t, 0)); d.Abs() > tolerance {
		return fmt.Errorf("%w: signed %s ago, at most %s are allowed", ErrExpired, d.Round(time.Second), tolerance)
	}
	return nil
}

func sum(key []byte, t string, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(t))
	h.Write([]byte{'.'})
	h.Write(body)
	return h.Sum(nil)
}

// parse reads a header's value. What is neither t nor v1 is for later versions
// and left alone.
func parse(header string) (t int64, sums [][]byte, err error) {
	if len(header) > maxHeader {
		return 0, nil, fmt.Errorf("%w: longer than %d bytes", ErrMalformed, maxHeader)
	}
	times := 0
	for part := range strings.SplitSeq(header, ",") {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return 0, nil, fmt.Errorf("%w: %q is no name=value", ErrMalformed, part)
		}
		switch name {
		case "t":
			times++
			t, err = strconv.ParseInt(value, 10, 64)
			if err != nil || t < 0 || strconv.FormatInt(t, 10) != value {
				return 0, nil, fmt.Errorf("%w: t is %q", ErrMalformed, value)
			}
		case "v1":
			s, err := hex.DecodeString(value)
			if err != nil || len(s) != sha256.Size {
				return 0, nil, fmt.Errorf("%w: v1 is no SHA-256 in hexadecimal", ErrMalformed)
			}
			sums = append(sums, s)
		}
	}
	if times != 1 || len(sums) == 0 {
		return 0, nil, fmt.Errorf("%w: it has %d times and %d sums", ErrMalformed, times, len(sums))
	}
	return t, sums, nil
}

// ReadKey reads the shared key from a file: its content without white space at
// both ends.
func ReadKey(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	if err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	if len(b) > maxKey {
		return nil, fmt.Errorf("reading the key: %s is larger than %d bytes", path, maxKey)
	}
	key := bytes.TrimSpace(b)
	if len(key) == 0 {
		return nil, fmt.Errorf("reading the key: %s is empty", path)
	}
	return key, nil
}
