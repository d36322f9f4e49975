package config

import (
	"net"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	promconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/rules"
)

// value decodes a node into a value of type t that passes the checks.
func (d *decoder) value(n *yaml.Node, t reflect.Type, c checks, path string) (reflect.Value, bool) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var v any
	var ok bool
	switch t {
	case reflect.TypeFor[time.Duration]():
		v, ok = d.duration(n, c, path)
	case reflect.TypeFor[Bytes]():
		v, ok = d.bytes(n, c, path)
	case reflect.TypeFor[ScrapeConfigs]():
		v, ok = d.scrapeConfigs(n, path)
	case reflect.TypeFor[promconfig.Secret]():
		v, ok = d.secret(n, path)
	case reflect.TypeFor[promconfig.URL]():
		v, ok = d.proxyURL(n, path)
	case reflect.TypeFor[promconfig.TLSVersion]():
		v, ok = d.tlsVersion(n, path)
	case reflect.TypeFor[map[string]any]():
		var m map[string]any
		if ok = n.Decode(&m) == nil; !ok {
			d.failf(n, rules.CheckType, "", "%s is %s, expected a mapping of names to values", path, d.kind(n, path))
		}
		v = m
	default:
		return d.plain(n, t, c, path)
	}
	return reflect.ValueOf(v), ok
}

// plain decodes what Go has itself.
func (d *decoder) plain(n *yaml.Node, t reflect.Type, c checks, path string) (reflect.Value, bool) {
	switch t.Kind() {
	case reflect.Struct:
		return d.structure(n, t, path)
	case reflect.Slice:
		return d.list(n, t, c, path)
	case reflect.Bool:
		var b bool
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(&b) != nil {
			d.failf(n, rules.CheckType, "", "%s is %s, expected true or false", path, d.kind(n, path))
			return reflect.Value{}, false
		}
		return reflect.ValueOf(b), true
	case reflect.Int:
		i, ok := d.integer(n, c, path)
		return reflect.ValueOf(i), ok
	default:
		s, ok := d.text(n, path)
		if ok {
			s, ok = d.checkText(n, s, c, path)
		}
		return reflect.ValueOf(s).Convert(t), ok
	}
}

func (d *decoder) text(n *yaml.Node, path string) (string, bool) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		return n.Value, true
	}
	hint := ""
	if n.Kind == yaml.ScalarNode && !isNull(n) && !secretPath(path) {
		hint = "quote it: " + strconv.Quote(n.Value)
	}
	d.failf(n, rules.CheckType, hint, "%s is %s, expected a text", path, d.kind(n, path))
	return "", false
}

func (d *decoder) integer(n *yaml.Node, c checks, path string) (int, bool) {
	var i int
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(&i) != nil {
		d.failf(n, rules.CheckType, "", "%s is %s, expected a whole number", path, d.kind(n, path))
		return 0, false
	}
	if least, err := strconv.Atoi(c["least"]); err == nil && i < least {
		d.failf(n, rules.CheckValue, "", "%s is %d, expected %d or more", path, i, least)
		return 0, false
	}
	return i, true
}

func (d *decoder) duration(n *yaml.Node, c checks, path string) (time.Duration, bool) {
	const expected = "expected a duration such as 30s or 1h30m"
	if n.Kind != yaml.ScalarNode || isNull(n) {
		d.failf(n, rules.CheckType, "", "%s is %s, %s", path, d.kind(n, path), expected)
		return 0, false
	}
	v, err := model.ParseDuration(n.Value)
	if err != nil {
		hint := "units are ms, s, m, h, d, w and y, the greatest first"
		if _, err := strconv.ParseUint(n.Value, 10, 32); err == nil {
			hint = "a number needs a unit: " + n.Value + "s"
		}
		d.failf(n, rules.CheckDuration, hint, "%s is %s, %s", path, d.kind(n, path), expected)
		return 0, false
	}
	if least, err := model.ParseDuration(c["least"]); err == nil && v < least {
		d.failf(n, rules.CheckValue, "", "%s is %s, expected %s or more", path, v, least)
		return 0, false
	}
	return time.Duration(v), true
}

func (d *decoder) bytes(n *yaml.Node, c checks, path string) (Bytes, bool) {
	b, err := ParseBytes(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		hint := "units are B, KiB, MiB and GiB, as in 64MiB"
		if _, err := strconv.ParseUint(n.Value, 10, 63); err == nil {
			hint = "a number needs a unit: " + n.Value + "B"
		}
		d.failf(n, rules.CheckValue, hint, "%s is %s, expected a number of bytes such as 64MiB", path, d.kind(n, path))
		return 0, false
	}
	if least, err := ParseBytes(c["least"]); err == nil && b < least {
		d.failf(n, rules.CheckValue, "", "%s is %s, expected %s or more", path, b, least)
		return 0, false
	}
	return b, true
}

func (d *decoder) tlsVersion(n *yaml.Node, path string) (promconfig.TLSVersion, bool) {
	s, ok := d.text(n, path)
	v, known := promconfig.TLSVersions[s]
	if ok && !known {
		d.failf(n, rules.CheckValue, "", "%s is %s, expected TLS10, TLS11, TLS12 or TLS13", path, strconv.Quote(s))
	}
	return v, ok && known
}

// checkText applies the checks of a text.
func (d *decoder) checkText(n *yaml.Node, s string, c checks, path string) (string, bool) {
	if s == "" {
		if c.has("required") || c.has("oneof") || c.has("address") {
			d.failf(n, rules.CheckValue, "", "%s is empty", path)
			return s, false
		}
		return s, true
	}
	switch {
	case c.has("oneof"):
		return s, d.oneOf(n, s, strings.Split(c["oneof"], "|"), path)
	case c.has("url"):
		return s, d.httpURL(n, s, path)
	case c.has("address"):
		if _, port, err := net.SplitHostPort(s); err != nil || !isPort(port) {
			d.failf(n, rules.CheckValue, "write host:port or :port, an IPv6 host in brackets", "%s is %s, expected an address such as :9880", path, strconv.Quote(s))
			return s, false
		}
	case c.has("path"):
		return d.path(s), true
	case c.has("file"):
		return d.file(n, s, path)
	}
	return s, true
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n <= 65535
}

func (d *decoder) oneOf(n *yaml.Node, s string, choices []string, path string) bool {
	if slices.Contains(choices, s) {
		return true
	}
	expected := strings.Join(choices, ", ")
	if i := strings.LastIndex(expected, ", "); i >= 0 {
		expected = expected[:i] + " or " + expected[i+2:]
	}
	hint := ""
	if len(choices) > 1 {
		hint = rules.DidYouMean(s, choices)
	}
	d.failf(n, rules.CheckValue, hint, "%s is %s, expected %s", path, strconv.Quote(s), expected)
	return false
}

// httpURL checks the address of a server.
func (d *decoder) httpURL(n *yaml.Node, s, path string) bool {
	u, err := url.Parse(s)
	shown := strconv.Quote(s)
	if err != nil || strings.ContainsAny(s, "@?#") {
		shown = "a text" // there may be a password or a token in it
	}
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https":
		d.failf(n, rules.CheckValue, "begin with http:// or https://", "%s is %s, expected a URL such as http://host:9090", path, shown)
	case u.User != nil:
		d.failf(n, CheckSecret, "use http_config.basic_auth with password_file", "%s has a user or a password in it", path)
	case u.Hostname() == "" || u.Port() != "" && !isPort(u.Port()):
		d.failf(n, rules.CheckValue, "", "%s is %s, expected a URL with a host, such as http://host:9090", path, shown)
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		d.failf(n, rules.CheckValue, "leave out what begins with ? or #", "%s has a query or a fragment, expected a URL without them", path)
	default:
		return true
	}
	return false
}

// file checks that a file that others will read is there.
func (d *decoder) file(n *yaml.Node, s, path string) (string, bool) {
	s = d.path(s)
	f, err := os.Open(s)
	if err == nil {
		defer f.Close()
		var info os.FileInfo
		if info, err = f.Stat(); err == nil && !info.IsDir() {
			return s, true
		}
	}
	why := "it is a folder"
	if err != nil {
		why = err.Error()
		if i := strings.LastIndex(why, ": "); i >= 0 {
			why = why[i+2:]
		}
	}
	hint := ""
	if d.dir != "" && s != n.Value {
		hint = "relative to the folder of the configuration file, it is " + s
	}
	d.failf(n, CheckFile, hint, "%s names the file %s, which cannot be read: %s", path, strconv.Quote(n.Value), why)
	return s, false
}
