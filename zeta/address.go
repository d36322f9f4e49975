package zeta

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Address is a member's address as host:port without brackets, the value of
// the label worker. /pending-jobs writes "[10.0.0.8]:5801" and
// /system-monitoring-information a host and a port: both must give the same
// Address, or the two replies cannot be joined.
type Address string

// ParseAddress reads "[host]:port" and "host:port", IPv6 included (its
// spellings are made one: "[0:0:0:0:0:0:0:1]:5801" is "::1:5801"). ok is false
// when the text names no host or no port.
func ParseAddress(text string) (addr Address, ok bool) {
	text = strings.TrimSpace(text)
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return "", false
	}
	return JoinAddress(text[:i], text[i+1:])
}

// JoinAddress makes an Address of a host, with or without brackets, and a port.
func JoinAddress(host, port string) (addr Address, ok bool) {
	host = strings.TrimSpace(host)
	if strings.HasPrefix(host, "[") {
		if !strings.HasSuffix(host, "]") {
			return "", false
		}
		host = host[1 : len(host)-1]
	}
	n, err := strconv.ParseUint(strings.TrimSpace(port), 10, 16)
	if err != nil || n == 0 || !validHost(host) {
		return "", false
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.String()
	}
	return Address(strings.ToLower(host) + ":" + strconv.FormatUint(n, 10)), true
}

// SameHost reports whether a host without a port, such as an IP of a platform's,
// is that of an address.
func SameHost(host string, a Address) bool {
	host = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.String()
	}
	return host == a.Host()
}

// validHost keeps control characters and absurd lengths out of a label.
func validHost(host string) bool {
	if host == "" || len(host) > 255 {
		return false
	}
	for _, r := range host {
		if r <= ' ' || r == 0x7f || r == 0xfffd || strings.ContainsRune(`[]"'\/`, r) {
			return false
		}
	}
	return true
}

// split is the host, without brackets, and the port.
func (a Address) split() (host, port string) {
	i := strings.LastIndexByte(string(a), ':')
	return string(a[:max(0, i)]), string(a[i+1:])
}

// Host is the host, without brackets.
func (a Address) Host() string {
	host, _ := a.split()
	return host
}

// HostPort is the address as it stands in a URL.
func (a Address) HostPort() string { return net.JoinHostPort(a.split()) }
