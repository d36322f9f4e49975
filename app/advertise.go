package app

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"

	promconfig "github.com/prometheus/common/config"

	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

// podIP is the variable by which the manifests tell a pod its address: the name
// of a pod leads nowhere from others.
const podIP = "POD_IP"

// advertisedURL is where other replicas reach this one: what is configured, or
// made of what is listened on, with the port that was opened. It is empty where
// only this machine gets.
func (s *service) advertisedURL() string {
	return advertised(s.opened(s.running.Load().Web), s.server.TLS(), os.Getenv(podIP))
}

// leaderClient asks the replica that leads. Whoever asks this one brings the
// credential: none of ours is added.
func leaderClient(w config.Web) (*outgoing.Client, error) {
	c, err := outgoing.New(outgoing.Options{
		Name: "leader", Config: promconfig.HTTPClientConfig{TLSConfig: w.Leader.TLSConfig.Prometheus()},
		Key: "web.advertise_url", HTTPKey: "web.leader",
	})
	if err != nil {
		return nil, fmt.Errorf("web.leader: %w", err)
	}
	return c, nil
}

func advertised(w config.Web, tls bool, pod string) string {
	if w.AdvertiseURL != "" {
		return w.AdvertiseURL
	}
	host, port, err := net.SplitHostPort(w.ListenAddress)
	if err != nil {
		return ""
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "localhost", err == nil && ip.IsLoopback():
		return ""
	case everywhere(host):
		if host = pod; host == "" {
			if host, err = os.Hostname(); err != nil {
				return ""
			}
		}
	}
	return address(host, port, tls)
}

// everywhere reports whether a host that is listened on stands for every address
// of this machine.
func everywhere(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}

// address is the URL of a server.
func address(host, port string, tls bool) string {
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}
	if tls {
		u.Scheme = "https"
	}
	return u.String()
}
