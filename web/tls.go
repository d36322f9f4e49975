package web

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"

	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// tlsConfig is the section tls_server_config.
type tlsConfig struct {
	CertFile         string        `yaml:"cert_file" check:"required,path"`
	KeyFile          string        `yaml:"key_file" check:"required,path"`
	ClientAuthType   string        `yaml:"client_auth_type" check:"oneof=NoClientCert|RequestClientCert|RequireAnyClientCert|VerifyClientCertIfGiven|RequireAndVerifyClientCert"`
	ClientCAFile     string        `yaml:"client_ca_file" check:"path"`
	ClientSANs       []string      `yaml:"client_allowed_sans"`
	CipherSuites     []cipherSuite `yaml:"cipher_suites"`
	CurvePreferences []curve       `yaml:"curve_preferences"`
	MinVersion       tlsVersion    `yaml:"min_version"`
	MaxVersion       tlsVersion    `yaml:"max_version"`
	// PreferServer has no meaning in Go any more; it is read for the format.
	PreferServer bool `yaml:"prefer_server_cipher_suites"`
}

// tlsVersion is a protocol version by its name in the format.
type tlsVersion uint16

// decodeVersion reads TLS12 or TLS13: older versions are not offered.
func decodeVersion(d *document.Decoder, n *yaml.Node, _ document.Field, p document.Path) (any, bool) {
	s, ok := d.OneOf(n, []string{"TLS12", "TLS13"}, p)
	return map[string]tlsVersion{"TLS12": tls.VersionTLS12, "TLS13": tls.VersionTLS13}[s], ok
}

// cipherSuite is a cipher suite by its name in Go.
type cipherSuite uint16

// decodeSuite reads the name of a suite that is not insecure.
func decodeSuite(d *document.Decoder, n *yaml.Node, _ document.Field, p document.Path) (any, bool) {
	for _, suite := range tls.CipherSuites() {
		if suite.Name == n.Value {
			return cipherSuite(suite.ID), true
		}
	}
	d.Fail(n, document.CheckValue, "", "%s: cipher suite %q is not known or not secure", p.Subject, n.Value)
	return nil, false
}

// curve is an elliptic curve by its name in the format.
type curve tls.CurveID

func decodeCurve(d *document.Decoder, n *yaml.Node, _ document.Field, p document.Path) (any, bool) {
	s, ok := d.OneOf(n, []string{"CurveP256", "CurveP384", "CurveP521", "X25519"}, p)
	return map[string]curve{
		"CurveP256": curve(tls.CurveP256), "CurveP384": curve(tls.CurveP384), "CurveP521": curve(tls.CurveP521), "X25519": curve(tls.X25519),
	}[s], ok
}

// checkTLS reports what no key can be judged by alone, and files that cannot be
// used.
func (r *reader) checkTLS(c *tlsConfig) {
	const section = "tls_server_config"
	add := func(bad bool, key, format string, args ...any) {
		if bad {
			r.fail(document.Join(section, key), "", format, args...)
		}
	}
	if c.CertFile != "" && c.KeyFile != "" {
		_, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		add(err != nil, "cert_file", "%v", err)
	}
	add(c.MinVersion != 0 && c.MaxVersion != 0 && c.MinVersion > c.MaxVersion, "min_version", "min_version is above max_version")
	auth, err := clientAuth(c.ClientAuthType)
	verifies := auth == tls.VerifyClientCertIfGiven || auth == tls.RequireAndVerifyClientCert
	add(err == nil && verifies && c.ClientCAFile == "", "client_auth_type", "client_auth_type %s needs client_ca_file", c.ClientAuthType)
	add(err == nil && !verifies && c.ClientCAFile != "", "client_ca_file", "client_ca_file is of no use without a client_auth_type that verifies")
	add(err == nil && auth != tls.RequireAndVerifyClientCert && len(c.ClientSANs) > 0, "client_allowed_sans",
		"client_allowed_sans needs client_auth_type RequireAndVerifyClientCert")
	if c.ClientCAFile != "" {
		_, err := readPool(c.ClientCAFile)
		add(err != nil, "client_ca_file", "%v", err)
	}
}

// clientAuth is Go's own names, as in the exporter toolkit.
func clientAuth(name string) (tls.ClientAuthType, error) {
	switch name {
	case "", "NoClientCert":
		return tls.NoClientCert, nil
	case "RequestClientCert":
		return tls.RequestClientCert, nil
	case "RequireAnyClientCert":
		return tls.RequireAnyClientCert, nil
	case "VerifyClientCertIfGiven":
		return tls.VerifyClientCertIfGiven, nil
	case "RequireAndVerifyClientCert":
		return tls.RequireAndVerifyClientCert, nil
	}
	return 0, fmt.Errorf("client_auth_type is %q, expected NoClientCert, RequestClientCert, RequireAnyClientCert, VerifyClientCertIfGiven or RequireAndVerifyClientCert", name)
}

func readPool(path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("client_ca_file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("client_ca_file %s has no certificate", path)
	}
	return pool, nil
}

// server makes the TLS configuration. Certificate, key and client authorities
// are read again at each handshake, so that rotated files count at once. While
// they do not fit, as between the replacement of the one and the other, the last
// ones that did are used.
func (c *tlsConfig) server(protocols []string, logger *slog.Logger) *tls.Config {
	var last atomic.Pointer[tls.Config]
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			next, err := c.load(protocols)
			if err == nil {
				last.Store(next)
				return next, nil
			}
			if old := last.Load(); old != nil {
				logger.Warn("the TLS files cannot be used now, the last good ones are", "err", err)
				return old, nil
			}
			return nil, err
		},
	}
}

// load makes the configuration of one handshake.
func (c *tlsConfig) load(protocols []string) (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		return nil, err
	}
	auth, err := clientAuth(c.ClientAuthType)
	if err != nil {
		return nil, err
	}
	out := &tls.Config{
		Certificates: []tls.Certificate{cert}, ClientAuth: auth, NextProtos: protocols,
		MinVersion: max(tls.VersionTLS12, uint16(c.MinVersion)), MaxVersion: uint16(c.MaxVersion),
	}
	for _, s := range c.CipherSuites {
		out.CipherSuites = append(out.CipherSuites, uint16(s))
	}
	for _, id := range c.CurvePreferences {
		out.CurvePreferences = append(out.CurvePreferences, tls.CurveID(id))
	}
	if c.ClientCAFile != "" {
		if out.ClientCAs, err = readPool(c.ClientCAFile); err != nil {
			return nil, err
		}
	}
	if len(c.ClientSANs) > 0 {
		out.VerifyConnection = c.verifySAN
	}
	return out, nil
}

// verifySAN lets a verified client pass if one of its names is allowed.
func (c *tlsConfig) verifySAN(state tls.ConnectionState) error {
	for _, cert := range state.PeerCertificates[:min(1, len(state.PeerCertificates))] {
		names := slices.Concat(cert.DNSNames, cert.EmailAddresses)
		for _, ip := range cert.IPAddresses {
			names = append(names, ip.String())
		}
		for _, u := range cert.URIs {
			names = append(names, u.String())
		}
		if slices.ContainsFunc(names, func(n string) bool { return slices.Contains(c.ClientSANs, n) }) {
			return nil
		}
	}
	return errors.New("the client's certificate has no name in client_allowed_sans")
}
