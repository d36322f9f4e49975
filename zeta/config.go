package zeta

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	promconfig "github.com/prometheus/common/config"

	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

// ClusterConfig is one entry of the configuration's clusters.
type ClusterConfig struct {
	// Name is the value of the label cluster.
	Name string `yaml:"name"`
	// URLs are the nodes to ask: http://host:8080[/context] for REST v2 or
	// http://host:5801 for REST v1. One that answers is kept until it fails.
	URLs []string `yaml:"urls"`
	// EndpointTimeout is how long a scrape waits for one endpoint; 0 means
	// DefaultEndpointTimeout.
	EndpointTimeout time.Duration `yaml:"endpoint_timeout"`
	// MaxResponse is the longest body that is read, in bytes; 0 means
	// DefaultMaxResponse.
	MaxResponse int64 `yaml:"max_response"`
	// HTTPClientConfig has credentials, TLS and proxy.
	HTTPClientConfig promconfig.HTTPClientConfig `yaml:"http_config"`
}

func (c ClusterConfig) withDefaults() ClusterConfig {
	if c.EndpointTimeout == 0 {
		c.EndpointTimeout = DefaultEndpointTimeout
	}
	if c.MaxResponse == 0 {
		c.MaxResponse = DefaultMaxResponse
	}
	return c
}

// within reports whether a redirect may lead there: below a node that is asked.
func (c ClusterConfig) within(to *url.URL) bool {
	return slices.ContainsFunc(c.URLs, func(raw string) bool {
		base, err := url.Parse(newNode(raw).base)
		return err == nil && outgoing.Below(base, to)
	})
}

// Validate reports every problem of the entry at once.
func (c ClusterConfig) Validate() error {
	var problems []error
	if err := validName(c.Name); err != nil {
		problems = append(problems, fmt.Errorf("name: %w", err))
	}
	if len(c.URLs) == 0 {
		problems = append(problems, errors.New("urls: at least one is needed, such as http://master:8080"))
	}
	seen := map[string]bool{}
	for i, u := range c.URLs {
		parsed, err := parseTarget(u)
		if err != nil {
			problems = append(problems, fmt.Errorf("urls[%d]: %w", i, err))
			continue
		}
		if seen[parsed.String()] {
			problems = append(problems, fmt.Errorf("urls[%d]: %s is there twice", i, parsed))
		}
		seen[parsed.String()] = true
	}
	if c.EndpointTimeout < 0 {
		problems = append(problems, fmt.Errorf("endpoint_timeout: %s is negative", c.EndpointTimeout))
	}
	if c.MaxResponse < 0 {
		problems = append(problems, fmt.Errorf("max_response: %d is negative", c.MaxResponse))
	}
	if err := c.HTTPClientConfig.Validate(); err != nil {
		problems = append(problems, fmt.Errorf("http_config: %w", err))
	}
	return errors.Join(problems...)
}

// ValidateClusters reports every problem of all entries at once, and names that
// are used twice.
func ValidateClusters(clusters []ClusterConfig) error {
	var problems []error
	first := map[string]int{}
	for i, c := range clusters {
		if err := c.Validate(); err != nil {
			problems = append(problems, prefixed(fmt.Sprintf("clusters[%d]", i), err)...)
		}
		if j, twice := first[c.Name]; twice {
			problems = append(problems, fmt.Errorf("clusters[%d]: name: %q is also clusters[%d]", i, c.Name, j))
			continue
		}
		first[c.Name] = i
	}
	return errors.Join(problems...)
}

// ProbeConfig is the configuration's probe.
type ProbeConfig struct {
	// AllowedTargets are the URLs that /probe may ask: scheme, host and port
	// must be equal, and the path equal or below; the host may begin with "*."
	// for any name below a domain. Empty: every target, without credentials.
	AllowedTargets []string `yaml:"allowed_targets"`
	// HTTPClientConfig is used for targets of the list alone.
	HTTPClientConfig promconfig.HTTPClientConfig `yaml:"http_config"`
}

// Validate reports every problem at once.
func (p ProbeConfig) Validate() error {
	var problems []error
	for i, t := range p.AllowedTargets {
		if _, err := parseAllowed(t); err != nil {
			problems = append(problems, fmt.Errorf("allowed_targets[%d]: %w", i, err))
		}
	}
	if err := p.HTTPClientConfig.Validate(); err != nil {
		problems = append(problems, fmt.Errorf("http_config: %w", err))
	}
	return errors.Join(problems...)
}

func prefixed(where string, err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range joined.Unwrap() {
			out = append(out, fmt.Errorf("%s: %w", where, e))
		}
		return out
	}
	return []error{fmt.Errorf("%s: %w", where, err)}
}

// validName accepts what can be the value of the label cluster.
func validName(name string) error {
	switch {
	case name == "":
		return errors.New("it is empty")
	case len(name) > 128:
		return errors.New("it is longer than 128 bytes")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("it contains control characters or is not UTF-8")
	}
	return nil
}

// parseTarget reads the URL of a node and gives it one spelling: lower-case
// scheme and host, no default port, no slash at the end.
func parseTarget(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		// The error of net/url repeats the URL, which may hold a password.
		return nil, errors.New("it is not a URL such as http://host:8080")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("scheme %q, http or https is needed (http://host:8080)", clip(u.Scheme))
	case u.User != nil:
		return nil, errors.New("credentials belong in http_config, not in the URL")
	case u.Hostname() == "" || u.Opaque != "":
		return nil, errors.New("no host in it")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("a query or fragment has no meaning here")
	case strings.Contains(u.Path+"/", "/../") || strings.Contains(u.Path+"/", "/./") || strings.ContainsAny(u.Path, `\`):
		return nil, errors.New("the path has . or .. in it")
	case len(raw) > 2048:
		return nil, errors.New("it is longer than 2048 bytes")
	}
	return normalURL(u), nil
}

func normalURL(u *url.URL) *url.URL {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	port := u.Port()
	if port != "" && port != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		host += ":" + port
	}
	return &url.URL{Scheme: u.Scheme, Host: host, Path: strings.TrimRight(u.Path, "/"), RawPath: strings.TrimRight(u.RawPath, "/")}
}
