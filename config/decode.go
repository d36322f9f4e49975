package config

import (
	"net"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	promconfig "github.com/prometheus/common/config"
	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// decoder decodes one layer: the file, a variable or a flag.
type decoder struct {
	*document.Decoder
	report *report
	origin Origin
	// dir is what relative paths are relative to, "" for the working directory.
	dir string
}

// decoder returns the decoder of a layer; name is the file, the variable or the
// flag that is read.
func (r *report) decoder(origin Origin, name, dir string) *decoder {
	d := &decoder{report: r, origin: origin, dir: dir}
	d.Decoder = &document.Decoder{
		Report: r.Report, Schema: d.schema(), Name: name,
		Layered: true, EmptyIsNone: true, FlagsToo: origin == FromFlag,
		Note:        func(path string, n *yaml.Node) { r.places[path] = place{origin: origin, pos: d.Pos(n)} },
		RefuseEntry: d.secretEntry,
	}
	return d
}

// schema is what the configuration is made of.
func schema(kinds map[string]document.Kinds) *document.Schema {
	return (&decoder{report: &report{kinds: kinds}}).schema()
}

func (d *decoder) schema() *document.Schema {
	return &document.Schema{
		Types: map[reflect.Type]document.DecodeFunc{
			reflect.TypeFor[ScrapeConfigs]():         d.scrapeConfigs,
			reflect.TypeFor[promconfig.Secret]():     d.secret,
			reflect.TypeFor[promconfig.URL]():        d.proxyURL,
			reflect.TypeFor[promconfig.TLSVersion](): d.tlsVersion,
			reflect.TypeFor[map[string]any]():        d.claims,
		},
		Words: map[string]document.WordFunc{
			"url":        d.httpURL,
			"address":    d.address,
			"host":       d.host,
			"path":       d.path,
			"file":       d.file,
			"program":    d.program,
			"kubeconfig": d.kubeconfig,
		},
		Kinds:       d.report.kinds,
		Adjust:      d.adjust,
		UnknownHint: unknownHint,
	}
}

// adjust completes what the tags say.
func (d *decoder) adjust(owner reflect.Type, f *document.Field) bool {
	if section, ok := f.Checks["kind"]; ok {
		f.Checks["oneof"] = strings.Join(d.report.kinds[section].Names(), "|")
	}
	return prometheusKey(owner, f)
}

// sentFiles are the keys of Prometheus' own types that name a file whose text is
// sent as it is.
var sentFiles = []string{"username_file", "password_file", "credentials_file", "bearer_token_file", "client_secret_file", "files"}

// prometheusKey says how the keys of Prometheus' own types are checked, and
// drops those that have no meaning here: there is no secret manager to refer to,
// and a header for a proxy could only hold a secret in the file.
func prometheusKey(owner reflect.Type, f *document.Field) bool {
	if owner.PkgPath() != reflect.TypeFor[promconfig.HTTPClientConfig]().PkgPath() {
		return true
	}
	switch {
	case strings.HasSuffix(f.Name, "_ref"), f.Name == "proxy_connect_header":
		return false
	case slices.Contains(sentFiles, f.Name):
		f.Checks["file"] = fileLine
	case strings.HasSuffix(f.Name, "_file"):
		f.Checks["file"] = fileFilled
	case f.Name == "token_url":
		f.Checks["url"] = ""
	}
	return true
}

func unknownHint(section document.Path, key string) string {
	switch path := section.Full; {
	case path == "web" && key == "enable_lifecycle":
		return "it is a flag only: --web.enable-lifecycle"
	case path == "scope_defaults" && (key == "mode" || key == "actuator"):
		return "a default never acts: list the scope by name in scopes and set it there"
	case strings.HasSuffix(key, "_ref") && strings.Contains(path, httpConfig):
		return "there is no secret manager here: use the key that ends in _file"
	}
	return ""
}

// claims decodes the free mapping below oauth2.
func (d *decoder) claims(_ *document.Decoder, n *yaml.Node, _ document.Field, p document.Path) (any, bool) {
	var m map[string]any
	if n.Decode(&m) != nil {
		d.Fail(n, document.CheckType, "", "%s is %s, expected a mapping of names to values", p.Subject, d.KindOf(n, p))
		return nil, false
	}
	return m, true
}

func (d *decoder) tlsVersion(_ *document.Decoder, n *yaml.Node, _ document.Field, p document.Path) (any, bool) {
	s, ok := d.Text(n, p)
	v, known := promconfig.TLSVersions[s]
	if ok && !known {
		d.Fail(n, document.CheckValue, "", "%s is %s, expected TLS10, TLS11, TLS12 or TLS13", p.Subject, strconv.Quote(s))
	}
	return v, ok && known
}

// address checks what is listened on.
func (d *decoder) address(_ *document.Decoder, n *yaml.Node, s, _ string, p document.Path) (string, bool) {
	if _, port, err := net.SplitHostPort(s); err != nil || !isPort(port) {
		d.Fail(n, document.CheckValue, "write host:port or :port, an IPv6 host in brackets", "%s is %s, expected an address such as :9880", p.Subject, strconv.Quote(s))
		return s, false
	}
	return s, true
}

// host checks a name that the header Host may have.
func (d *decoder) host(_ *document.Decoder, n *yaml.Node, s, _ string, p document.Path) (string, bool) {
	name := strings.TrimPrefix(s, "*.")
	if s != "*" && !hostName.MatchString(name) {
		d.Fail(n, document.CheckValue, "write the name alone, without a scheme, a port or a path", "%s is %s, expected a host such as scaler.example.com or *.example.com",
			p.Subject, strconv.Quote(s))
		return s, false
	}
	return s, true
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n <= 65535
}

// httpURL checks the address of a server.
func (d *decoder) httpURL(_ *document.Decoder, n *yaml.Node, s, _ string, p document.Path) (string, bool) {
	u, err := url.Parse(s)
	shown := strconv.Quote(s)
	if err != nil || strings.ContainsAny(s, "@?#") {
		shown = "a text" // there may be a password or a token in it
	}
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https":
		d.Fail(n, document.CheckValue, "begin with http:// or https://", "%s is %s, expected a URL such as http://host:9090", p.Subject, shown)
	case u.User != nil:
		d.Fail(n, CheckSecret, "use http_config.basic_auth with password_file", "%s has a user or a password in it", p.Subject)
	case u.Hostname() == "" || u.Port() != "" && !isPort(u.Port()):
		d.Fail(n, document.CheckValue, "", "%s is %s, expected a URL with a host, such as http://host:9090", p.Subject, shown)
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		d.Fail(n, document.CheckValue, "leave out what begins with ? or #", "%s has a query or a fragment, expected a URL without them", p.Subject)
	default:
		return s, true
	}
	return s, false
}
