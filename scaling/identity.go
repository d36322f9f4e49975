package scaling

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Identity is a recommendation id in its parts.
type Identity struct {
	Epoch, Generation uint64
	Scope             string
}

// ParseRecommendationID reads "epoch-generation-key" (RecommendationID). Only the one
// way in which an id is written is taken: no sign, no leading zero.
func ParseRecommendationID(id string) (Identity, bool) {
	if len(id) > MaxRecommendationID || !utf8.ValidString(id) {
		return Identity{}, false
	}
	epoch, rest, ok := strings.Cut(id, "-")
	if !ok {
		return Identity{}, false
	}
	generation, key, ok := strings.Cut(rest, "-")
	if !ok || key == "" {
		return Identity{}, false
	}
	var out Identity
	if out.Epoch, ok = parseCount(epoch); !ok {
		return Identity{}, false
	}
	if out.Generation, ok = parseCount(generation); !ok {
		return Identity{}, false
	}
	out.Scope = key
	return out, true
}

// parseCount reads a number ≥ 1 as FormatUint writes it.
func parseCount(s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil && n > 0 && s[0] != '0' && s[0] != '+'
}
