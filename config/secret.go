package config

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	promconfig "github.com/prometheus/common/config"
	"go.yaml.in/yaml/v3"
	"golang.org/x/net/http/httpguts"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// httpConfig is the key below which http_config's secrets are.
const httpConfig = "http_config"

// masked stands for a secret wherever values are shown.
const masked = "<secret>"

// secret decodes a secret, which comes from the environment alone: a file is
// copied, committed and shown to people.
func (d *decoder) secret(_ *document.Decoder, n *yaml.Node, _ document.Field, p document.Path) (any, bool) {
	if d.origin == FromFile {
		d.Fail(n, CheckSecret, secretHint(p.Full), "%s is a secret, which the configuration file may not hold", p.Subject)
		return nil, false
	}
	s, ok := d.Text(n, p)
	key := p.Full[strings.LastIndexByte(p.Full, '.')+1:]
	if why := noLine([]byte(s)); ok && why != "" && slices.Contains(sentFiles, key+"_file") {
		d.Fail(n, document.CheckValue, "", "%s %s", p.Subject, why)
		return nil, false
	}
	return promconfig.Secret(s), ok
}

// secretHint names the key that takes the secret from a file, and the variable
// where there is one.
func secretHint(path string) string {
	i := strings.LastIndexAny(path, ".")
	name := path[i+1:]
	switch {
	case strings.Contains(path, ".secrets["):
		return "write it into a file and name that in files"
	case strings.Contains(path, "["):
		return "write it into a file and name that in " + name + "_file"
	}
	return "write it into a file and name that in " + name + "_file, or set " + variable(path)
}

// secretEntry refuses headers and parameters whose names say that they are
// secrets.
func (d *decoder) secretEntry(key, value *yaml.Node, p document.Path) bool {
	path := p.Full
	if d.origin != FromFile || !document.SecretName(key.Value) {
		return false
	}
	name := document.KeyName(key.Value, path)
	hint := "set " + variable(document.Join(path, name))
	switch {
	case strings.HasSuffix(path, ".http_headers"):
		if findKey(value, headerValues) == nil {
			return false
		}
		hint = "write it into a file and name that in files"
	case strings.HasSuffix(path, ".headers"):
		hint = "write it into a file and name that in http_config.http_headers." + name + ".files, or " + hint
	case strings.HasSuffix(path, ".endpoint_params"):
		hint = "client_secret_file takes the client's secret from a file"
		if !strings.Contains(path, "[") {
			hint += "; else set " + variable(document.Join(path, name))
		}
	case !strings.HasSuffix(path, ".query_params"):
		return false
	}
	d.Fail(key, CheckSecret, hint, "%s is a secret by its name, which the configuration file may not hold", document.Join(path, name))
	return true
}

// proxyURL decodes the address of a proxy, which may have a password in it.
func (d *decoder) proxyURL(_ *document.Decoder, n *yaml.Node, _ document.Field, p document.Path) (any, bool) {
	path := p.Full
	s, ok := d.Text(n, p)
	if !ok {
		return nil, false
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		d.Fail(n, document.CheckValue, "begin with http://, https:// or socks5://", "%s is not the URL of a proxy", path)
		return nil, false
	}
	if _, has := u.User.Password(); has && d.origin == FromFile {
		hint := "a proxy that needs a password cannot be used here"
		if !strings.Contains(path, "[") {
			hint = "set " + variable(path)
		}
		d.Fail(n, CheckSecret, hint, "%s has a password in it, which the configuration file may not hold", path)
		return nil, false
	}
	return promconfig.URL{URL: u}, true
}

// inlineSecrets are the keys of Prometheus' configuration that hold a secret.
var inlineSecrets = []string{
	"password", "credentials", "bearer_token", "client_secret", "client_certificate_key", "secrets",
	"secret_key", "key",
}

// refuseSecrets looks for secrets in YAML that others read.
func (d *decoder) refuseSecrets(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && passwordInURL.MatchString(n.Value) {
		d.Fail(n, CheckSecret, "use basic_auth with password_file", "a URL has a password in it, which the configuration file may not hold")
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && slices.Contains(inlineSecrets, c.Value) {
			d.Fail(c, CheckSecret, "write it into a file and use the key that ends in _file",
				"%s is a secret, which the configuration file may not hold", c.Value)
		}
		d.refuseSecrets(c)
	}
}

// passwordInURL matches a URL with a user and a password.
var passwordInURL = regexp.MustCompile(`://[^/\s@]*:[^/\s@]+@`)

// headerValues is the key of http_headers that holds what is sent as it stands.
const headerValues = "values"

// checkHeaders refuses headers that the client sets itself.
func (r *report) checkHeaders(headers map[string]string, path string) {
	for name, value := range headers {
		p := document.Join(path, name)
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			r.fail(p, document.CheckValue, "", "%s is not the name of a header", p)
		case reserved(name):
			r.fail(p, document.CheckValue, "http_config has credentials", "%s is a header that the client sets itself", p)
		case !httpguts.ValidHeaderFieldValue(value):
			r.fail(p, document.CheckValue, "", "%s has a line break or another control character in it", p)
		}
	}
}

func reserved(name string) bool {
	_, ok := promconfig.ReservedHeaders[http.CanonicalHeaderKey(name)]
	return ok
}
