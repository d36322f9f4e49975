package actuators

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxIDLength bounds a recommendation id in bytes: a scope's key is built from
// label values, and nothing longer is looked up.
const maxIDLength = 4096

// identity is a recommendation id in its parts.
type identity struct {
	epoch, generation uint64
	scope             string
}

// parseID reads "epoch-generation-key" (scaling.RecommendationID). Only the one
// way in which an id is written is taken: no sign, no leading zero.
func parseID(id string) (identity, bool) {
	if len(id) > maxIDLength || !utf8.ValidString(id) {
		return identity{}, false
	}
	epoch, rest, ok := strings.Cut(id, "-")
	if !ok {
		return identity{}, false
	}
	generation, key, ok := strings.Cut(rest, "-")
	if !ok || key == "" {
		return identity{}, false
	}
	var out identity
	if out.epoch, ok = parseCount(epoch); !ok {
		return identity{}, false
	}
	if out.generation, ok = parseCount(generation); !ok {
		return identity{}, false
	}
	out.scope = key
	return out, true
}

// parseCount reads a number ≥ 1 as FormatUint writes it.
func parseCount(s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil && n > 0 && s[0] != '0' && s[0] != '+'
}
