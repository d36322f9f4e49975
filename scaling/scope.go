package scaling

import (
	"net/url"
	"strconv"
	"strings"
)

// DefaultScope is the key of the single scope of a rule set without scope_by.
const DefaultScope = "default"

// Label is one label of a scope.
type Label struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Scope is one worker group whose size is decided (spec 1.1).
type Scope struct {
	// Key is the label values joined by "/" in scope_by order, each
	// percent-encoded; DefaultScope without labels.
	Key    string  `json:"key"`
	Labels []Label `json:"labels"`
}

// NewScope builds a scope from its labels in scope_by order.
func NewScope(labels []Label) Scope {
	if len(labels) == 0 {
		return Scope{Key: DefaultScope}
	}
	parts := make([]string, len(labels))
	for i, l := range labels {
		parts[i] = url.PathEscape(l.Value)
	}
	return Scope{Key: strings.Join(parts, "/"), Labels: labels}
}

// Shown is the scope's key for people: the label values as they are. Unlike the
// key it may be that of two scopes.
func (s *Scope) Shown() string { return ShownKey(s.Key) }

// ShownKey is a scope's key as people read it: see Scope.Shown.
func ShownKey(key string) string { return eachPart(key, decoded) }

// SpelledKey is the key that people mean who write its values as they are: what
// is a key already stays as it is, unless two scopes look alike.
func SpelledKey(shown string) string {
	return eachPart(shown, func(part string) string { return url.PathEscape(decoded(part)) })
}

// LiteralKey is the key of the scope with just these values, none of them with a
// "/": unlike SpelledKey it takes nothing for encoded.
func LiteralKey(shown string) string { return eachPart(shown, url.PathEscape) }

// Argument is a key as a shell takes it for one word: a value may have a "&" or a
// "$", and commands are copied from what people are told.
func Argument(key string) string {
	if key != "" && !strings.ContainsFunc(key, unsafeInShell) {
		return key
	}
	return "'" + strings.ReplaceAll(key, "'", `'\''`) + "'"
}

func unsafeInShell(r rune) bool {
	letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	return !letter && !strings.ContainsRune("-_./%:@+=", r)
}

func decoded(part string) string {
	if v, err := url.PathUnescape(part); err == nil {
		return v
	}
	return part
}

func eachPart(key string, f func(string) string) string {
	parts := strings.Split(key, "/")
	for i, p := range parts {
		parts[i] = f(p)
	}
	return strings.Join(parts, "/")
}

// Bounds in bytes. An alert carries the id as a label, and a notification with a
// longer one is refused.
const (
	MaxRecommendationID = 2048
	// MaxActingKey is the longest key of a scope that can act: the id has two
	// numbers of up to 20 digits in front of it.
	MaxActingKey = MaxRecommendationID - 2*(20+1)
)

// RecommendationID renders the identity of one generation of a scope.
func RecommendationID(epoch, generation uint64, scopeKey string) string {
	return strconv.FormatUint(epoch, 10) + "-" + strconv.FormatUint(generation, 10) + "-" + scopeKey
}
