package postgres

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// longest is how long a text may be that an index holds, in bytes: a page of an
// index has to hold three rows.
const longest = 1000

// indexed is the text that stands for a key in indexes, and the whole key if
// that is another one: the name of a scope that nobody bounds must not keep
// those of others from being stored.
func indexed(key string) (short string, whole *string) {
	if len(key) <= longest {
		return key, nil
	}
	sum := sha256.Sum256([]byte(key))
	digest := hex.EncodeToString(sum[:])
	return strings.ToValidUTF8(key[:longest-len(digest)-utf8.UTFMax], "") + "~" + digest, &key
}

// short is the first part of indexed.
func short(key string) string {
	s, _ := indexed(key)
	return s
}
