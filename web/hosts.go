package web

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// hosts are the names that a server is reached by without a credential. A page
// of somebody else's can have a browser ask us, and read the answer, if it makes
// its own name lead here (DNS rebinding): the browser then sends that name.
type hosts struct {
	// names may begin with "*.", for all names below; "*" is every name.
	names []string
}

// newHosts knows the given names, that of the machine, and the one listened on.
func newHosts(names []string, listenAddress string) hosts {
	h := hosts{}
	add := func(name string) {
		if name != "" {
			h.names = append(h.names, canonical(name))
		}
	}
	for _, name := range names {
		add(name)
	}
	if host, _, err := net.SplitHostPort(listenAddress); err == nil {
		add(host)
	}
	if name, err := os.Hostname(); err == nil {
		add(name)
	}
	return h
}

// reserved are the domains that nobody can have a name of on the Internet.
func reserved() []string {
	return []string{".localhost", ".local", ".internal", ".svc", ".lan", ".home.arpa", ".test", ".invalid"}
}

// know reports whether a name may be one of ours: the value of the header Host.
// Addresses and names that no public domain can have are.
func (h hosts) know(host string) bool {
	name := canonical(host)
	if _, err := netip.ParseAddr(name); err == nil || !strings.Contains(name, ".") {
		return true // a rebound name is one that somebody has registered
	}
	return slices.ContainsFunc(reserved(), func(domain string) bool { return strings.HasSuffix(name, domain) }) ||
		slices.ContainsFunc(h.names, func(known string) bool {
			below, wide := strings.CutPrefix(known, "*")
			return name == known || wide && strings.HasSuffix(name, below)
		})
}

// canonical is a name without port, brackets and the dot of the root.
func canonical(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
