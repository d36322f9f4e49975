package zeta

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// targets decides whom /probe may ask. An empty list allows everybody.
type targets []*url.URL

func newTargets(allowed []string) (targets, error) {
	var list targets
	for i, raw := range allowed {
		u, err := parseAllowed(raw)
		if err != nil {
			return nil, fmt.Errorf("allowed_targets[%d]: %w", i, err)
		}
		list = append(list, u)
	}
	return list, nil
}

// parseAllowed reads an entry of allowed_targets. A star elsewhere than where
// hostMatches knows it would admit nobody, and nobody would be told why.
func parseAllowed(raw string) (*url.URL, error) {
	u, err := parseTarget(raw)
	if err != nil {
		return nil, err
	}
	domain, wild := strings.CutPrefix(u.Hostname(), "*")
	if strings.Contains(domain, "*") || strings.Contains(u.Path, "*") || (wild && !strings.HasPrefix(domain, ".")) {
		return nil, errors.New("a star stands for the beginning of a host's name alone, as in http://*.zeta.svc:8080")
	}
	return u, nil
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
