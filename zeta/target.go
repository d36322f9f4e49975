package zeta

import (
	"fmt"
	"net/url"
	"strings"
)

// targets decides whom /probe may ask. An empty list allows everybody.
type targets []*url.URL

func newTargets(allowed []string) (targets, error) {
	var list targets
	for i, raw := range allowed {
		u, err := parseTarget(raw)
		if err != nil {
			return nil, fmt.Errorf("allowed_targets[%d]: %w", i, err)
		}
		list = append(list, u)
	}
	return list, nil
}

// admit reports whether a target, as parseTarget gave it, may be asked.
func (t targets) admit(target *url.URL) bool {
	if len(t) == 0 {
		return true
	}
	for _, allowed := range t {
		if target.Scheme == allowed.Scheme && hostMatches(allowed.Host, target.Host) &&
			pathBelow(allowed.EscapedPath(), target.EscapedPath()) {
			return true
		}
	}
	return false
}

// hostMatches compares host:port; "*.domain:port" stands for any name below
// the domain, not for the domain.
func hostMatches(pattern, host string) bool {
	domain, wild := strings.CutPrefix(pattern, "*")
	if !wild {
		return pattern == host
	}
	below, ok := strings.CutSuffix(host, domain)
	return ok && strings.HasPrefix(domain, ".") && below != ""
}

func pathBelow(base, path string) bool {
	return path == base || strings.HasPrefix(path, base+"/")
}
