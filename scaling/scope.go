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

// RecommendationID renders the identity of one generation of a scope.
func RecommendationID(epoch, generation uint64, scopeKey string) string {
	return strconv.FormatUint(epoch, 10) + "-" + strconv.FormatUint(generation, 10) + "-" + scopeKey
}
