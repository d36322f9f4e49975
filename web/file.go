package web

import (
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// fileConfig is a web configuration file in the exporter toolkit's format. The
// tags are explained in package document.
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

// Limits on what is read at all.
const (
	maxFileBytes = 1 << 20
	maxDepth     = 16
)

// readFile reads and checks a web configuration file; "" is an empty one. What
// is wrong with it is a *document.ErrorList.
func readFile(path string) (*fileConfig, error) {
	if path == "" {
		return &fileConfig{}, nil
	}
	b, err := document.ReadFile(path, maxFileBytes)
	if err != nil {
		return nil, fmt.Errorf("reading the web configuration: %w", err)
	}
	return parseFile(path, b)
}

func parseFile(path string, content []byte) (*fileConfig, error) {
	c := &fileConfig{}
	report, root := document.Parse(path, content, document.ParseOptions{MaxBytes: maxFileBytes, MaxDepth: maxDepth, Secrets: true})
	r := &reader{places: document.Places{}, dir: filepath.Dir(path)}
	r.Decoder = &document.Decoder{
		Report: report, Schema: r.schema(), Name: path, EmptyIsNone: true,
		Note: func(path string, n *yaml.Node) { r.places[path] = report.Pos(n) },
	}
	if root != nil {
		r.Decode(root, c, "the web configuration")
		r.check(c)
	}
	if len(report.Errors) > 0 {
		document.Sort(report.Errors)
		return nil, &document.ErrorList{Diagnostics: report.Errors}
	}
	return c, nil
}

// reader decodes one file.
type reader struct {
	*document.Decoder
	places document.Places
	// dir is the file's folder, which relative paths are relative to.
	dir string
}

func (r *reader) schema() *document.Schema {
	return &document.Schema{
		Types: map[reflect.Type]document.DecodeFunc{
			reflect.TypeFor[tlsVersion]():  decodeVersion,
			reflect.TypeFor[cipherSuite](): decodeSuite,
			reflect.TypeFor[curve]():       decodeCurve,
		},
		Words: map[string]document.WordFunc{
			"path": func(_ *document.Decoder, _ *yaml.Node, s, _ string, _ document.Path) (string, bool) {
				if filepath.IsAbs(s) {
					return s, true
				}
				return filepath.Join(r.dir, s), true
			},
		},
	}
}

// fail reports an error at a path.
func (r *reader) fail(path, hint, format string, args ...any) {
	at, ok := r.places[path]
	for !ok && strings.Contains(path, ".") {
		path = path[:strings.LastIndex(path, ".")]
		at, ok = r.places[path]
	}
	r.Add(document.SeverityError, at, document.CheckValue, hint, "%s: %s", path, fmt.Sprintf(format, args...))
}

// check reports what no value can be judged by alone.
func (r *reader) check(c *fileConfig) {
	for _, user := range slices.Sorted(maps.Keys(c.Users)) {
		if err := checkUser(user, c.Users[user]); err != nil {
			r.fail(document.Join("basic_auth_users", user), "make one with: htpasswd -nBC 10 "+user, "%v", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.HTTP.Headers)) {
		path := document.Join("http_server_config.headers", name)
		switch value := c.HTTP.Headers[name]; {
		case !slices.Contains(headers(), http.CanonicalHeaderKey(name)) && !slices.Contains(headers(), name):
			r.fail(path, "", "%s cannot be set, only %s", name, strings.Join(headers(), ", "))
		case strings.ContainsAny(value, "\r\n\x00"):
			r.fail(path, "", "there is a line break in it")
		}
	}
	if c.TLS != nil {
		r.checkTLS(c.TLS)
	}
}
