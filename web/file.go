package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/crypto/bcrypt"
)

// fileConfig is a web configuration file in the exporter toolkit's format.
type fileConfig struct {
	TLS   *tlsConfig        `yaml:"tls_server_config"`
	HTTP  httpConfig        `yaml:"http_server_config"`
	Users map[string]string `yaml:"basic_auth_users"`
}

type httpConfig struct {
	HTTP2   *bool             `yaml:"http2"`
	Headers map[string]string `yaml:"headers"`
}

func (c httpConfig) http2() bool { return c.HTTP2 == nil || *c.HTTP2 }

// protocols are what a TLS handshake offers.
func (c httpConfig) protocols() []string {
	if c.http2() {
		return []string{"h2", "http/1.1"}
	}
	return []string{"http/1.1"}
}

// headers are those that a web configuration may set, as in the exporter
// toolkit.
func headers() []string {
	return []string{
		"Content-Security-Policy", "Cross-Origin-Embedder-Policy", "Cross-Origin-Opener-Policy",
		"Cross-Origin-Resource-Policy", "Permissions-Policy", "Referrer-Policy", "Strict-Transport-Security",
		"X-Content-Type-Options", "X-Frame-Options", "X-XSS-Protection",
	}
}

// readFile reads and checks a web configuration file; "" is an empty one.
func readFile(path string) (*fileConfig, error) {
	c := &fileConfig{}
	if path == "" {
		return c, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the web configuration: %w", err)
	}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	dec.KnownFields(true)
	if err := dec.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %s", path, yamlMessage(err))
	}
	if err := c.check(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

var (
	goType    = regexp.MustCompile(` not found in type web\.\w+`)
	yamlValue = regexp.MustCompile("cannot unmarshal (\\S+)(?: `[^`]*`)? into \\S+")
)

// yamlMessage says an error of the YAML library without names of Go types, and
// without values, which may be passwords.
func yamlMessage(err error) string {
	m := strings.TrimPrefix(err.Error(), "yaml: ")
	m = strings.ReplaceAll(strings.TrimPrefix(m, "unmarshal errors:\n  "), "\n  ", "; ")
	m = goType.ReplaceAllString(m, " is not known here")
	return yamlValue.ReplaceAllString(m, "a value of the wrong type ($1)")
}

// check reports everything that is wrong and makes paths relative to the
// file's folder absolute.
func (c *fileConfig) check(dir string) error {
	var errs []error
	for _, user := range slices.Sorted(maps.Keys(c.Users)) {
		if _, err := bcrypt.Cost([]byte(c.Users[user])); err != nil {
			// The text of a wrong hash may be a password.
			errs = append(errs, fmt.Errorf("basic_auth_users: the value of user %q is not a bcrypt hash; make one with: htpasswd -nBC 10 %s", user, user))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.HTTP.Headers)) {
		switch value := c.HTTP.Headers[name]; {
		case !slices.Contains(headers(), http.CanonicalHeaderKey(name)) && !slices.Contains(headers(), name):
			errs = append(errs, fmt.Errorf("http_server_config.headers: %s cannot be set, only %s", name, strings.Join(headers(), ", ")))
		case strings.ContainsAny(value, "\r\n\x00"):
			errs = append(errs, fmt.Errorf("http_server_config.headers: %s has a line break in it", name))
		}
	}
	if c.TLS != nil {
		errs = append(errs, c.TLS.check(dir))
	}
	return errors.Join(errs...)
}
