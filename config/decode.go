package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	promconfig "github.com/prometheus/common/config"
	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/kube"
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
	case strings.HasSuffix(f.Name, "_file"), f.Name == "files":
		f.Checks["file"] = "filled"
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

// path makes a relative path of the file relative to the file's folder. The
// arguments file and folder say what is made, or written, when the service runs;
// it is checked that it can be. The argument read is a folder that is there.
func (d *decoder) path(_ *document.Decoder, n *yaml.Node, s, argument string, p document.Path) (string, bool) {
	s = d.resolve(s)
	if argument == "read" && s != "" {
		why := unlistable(s)
		if why != "" {
			d.Fail(n, CheckFile, d.resolved(n, s), "%s names the folder %s, which cannot be read: %s", p.Subject, strconv.Quote(n.Value), why)
		}
		return s, why == ""
	}
	if argument == "" || s == "" || !d.report.local {
		return s, true
	}
	if err := creatable(s, argument == "folder"); err != nil {
		hint := d.resolved(n, s)
		if hint == "" {
			hint = "check as the user that the service runs as"
		}
		d.Fail(n, CheckFile, hint, "%s names %s, which cannot be written: %v", p.Subject, strconv.Quote(n.Value), err)
		return s, false
	}
	return s, true
}

// creatable says what keeps a file, or a folder, from being made or written by
// this process.
func creatable(path string, folder bool) error {
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir() != folder:
		return errors.New(map[bool]string{true: "it is no folder", false: "it is a folder"}[folder])
	case err == nil && folder:
		return access(path, mayWrite|mayExecute)
	case err == nil:
		return access(path, mayWrite)
	case !missing(err):
		return errors.New(reason(err))
	}
	for above := filepath.Dir(path); ; above = filepath.Dir(above) {
		info, err := os.Stat(above)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("%s is no folder", above)
		case err == nil:
			if err := access(above, mayWrite|mayExecute); err != nil {
				return fmt.Errorf("nothing can be made in %s: %w", above, err)
			}
			return nil
		case !missing(err) || filepath.Dir(above) == above:
			return errors.New(reason(err))
		}
	}
}

// missing reports whether there is no such file, or a file where a folder would
// be.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func (d *decoder) resolve(path string) string {
	if path == "" || d.dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(d.dir, path)
}

// file checks that a file that others will read is there; the argument filled
// says that there must be something in it.
func (d *decoder) file(_ *document.Decoder, n *yaml.Node, s, argument string, p document.Path) (string, bool) {
	s = d.resolve(s)
	why := unreadable(s, argument == "filled")
	if why == "" {
		return s, true
	}
	d.Fail(n, CheckFile, d.resolved(n, s), "%s names the file %s, which %s", p.Subject, strconv.Quote(n.Value), why)
	return s, false
}

// resolved says where a relative path leads to.
func (d *decoder) resolved(n *yaml.Node, path string) string {
	if d.dir == "" || path == n.Value {
		return ""
	}
	return "relative to the folder of the configuration file, it is " + path
}

// unreadable says why a file cannot be used, empty if it can.
func unreadable(path string, filled bool) string {
	f, err := os.Open(path)
	if err != nil {
		return "cannot be read: " + reason(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "cannot be read: " + reason(err)
	case info.IsDir():
		return "cannot be read: it is a folder"
	case !filled:
		return ""
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFileBytes))
	switch {
	case err != nil:
		return "cannot be read: " + reason(err)
	case len(bytes.TrimSpace(b)) == 0:
		return "is empty"
	}
	return ""
}

// unlistable says why a folder cannot be read, empty if it can.
func unlistable(s string) string {
	info, err := os.Stat(s)
	if err == nil && !info.IsDir() {
		return "it is no folder"
	}
	if err == nil {
		err = access(s, mayRead|mayExecute)
	}
	if err != nil {
		return reason(err)
	}
	return ""
}

// reason is the last part of an error of the system, as paths are said already.
func reason(err error) string {
	why := err.Error()
	if i := strings.LastIndex(why, ": "); i >= 0 {
		why = why[i+2:]
	}
	return why
}

// program checks that a command can be run: a path, or a name that is looked up
// in PATH.
func (d *decoder) program(_ *document.Decoder, n *yaml.Node, s, _ string, p document.Path) (string, bool) {
	name := s
	if strings.ContainsRune(s, filepath.Separator) {
		if name = d.resolve(s); !strings.ContainsRune(name, filepath.Separator) {
			name = "." + string(filepath.Separator) + name // a name alone would be looked up in PATH
		}
	}
	found, err := exec.LookPath(name)
	if err == nil {
		err = interpreted(found)
	}
	if err != nil {
		d.Fail(n, CheckFile, d.resolved(n, name), "%s names the command %s, which cannot be run: %s", p.Subject, strconv.Quote(n.Value), reason(err))
		return name, false
	}
	return name, true
}

// interpreted checks the interpreter that a script names in its first line. One
// that is missing is reported by the system as if the script were.
func interpreted(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil //nolint:nilerr // a program need not be readable
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := io.ReadFull(f, head)
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	line, script := strings.CutPrefix(line, "#!")
	words := strings.Fields(line)
	switch {
	case !script:
		return nil
	case strings.HasSuffix(line, "\r"):
		return errors.New("its first line ends with a carriage return, which becomes a part of the interpreter's name")
	case len(words) == 0:
		return errors.New("its first line names no interpreter")
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return fmt.Errorf("its interpreter %s cannot be run", words[0])
	}
	return nil
}

// kubeconfig checks that a file says how to reach a cluster.
func (d *decoder) kubeconfig(_ *document.Decoder, n *yaml.Node, s, _ string, p document.Path) (string, bool) {
	s, ok := d.file(d.Decoder, n, s, "filled", p)
	if !ok {
		return s, false
	}
	if _, err := kube.Open(kube.Options{Kubeconfig: s}); err != nil {
		d.Fail(n, CheckFile, "", "%s: %v", p.Subject, err)
		return s, false
	}
	return s, true
}
