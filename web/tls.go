package web

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"go.yaml.in/yaml/v3"
)

// tlsConfig is the section tls_server_config.
type tlsConfig struct {
	CertFile         string        `yaml:"cert_file"`
	KeyFile          string        `yaml:"key_file"`
	ClientAuthType   string        `yaml:"client_auth_type"`
	ClientCAFile     string        `yaml:"client_ca_file"`
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

// UnmarshalYAML reads TLS12 or TLS13: older versions are not offered.
func (v *tlsVersion) UnmarshalYAML(n *yaml.Node) error {
	switch n.Value {
	case "TLS12":
		*v = tls.VersionTLS12
	case "TLS13":
		*v = tls.VersionTLS13
	default:
		return fmt.Errorf("line %d: TLS version is %q, expected TLS12 or TLS13", n.Line, n.Value)
	}
	return nil
}

// cipherSuite is a cipher suite by its name in Go.
type cipherSuite uint16

// UnmarshalYAML reads the name of a suite that is not insecure.
func (s *cipherSuite) UnmarshalYAML(n *yaml.Node) error {
	for _, suite := range tls.CipherSuites() {
		if suite.Name == n.Value {
			*s = cipherSuite(suite.ID)
			return nil
		}
	}
	return fmt.Errorf("line %d: cipher suite %q is not known or not secure", n.Line, n.Value)
}

// curve is an elliptic curve by its name in the format.
type curve tls.CurveID

// UnmarshalYAML reads the name of a curve.
func (c *curve) UnmarshalYAML(n *yaml.Node) error {
	id, ok := map[string]tls.CurveID{
		"CurveP256": tls.CurveP256, "CurveP384": tls.CurveP384, "CurveP521": tls.CurveP521, "X25519": tls.X25519,
	}[n.Value]
	if !ok {
		return fmt.Errorf("line %d: curve is %q, expected CurveP256, CurveP384, CurveP521 or X25519", n.Line, n.Value)
	}
	*c = curve(id)
	return nil
}

// check reports everything that is wrong and makes paths relative to the
// file's folder absolute.
func (c *tlsConfig) check(dir string) error {
	for _, f := range []*string{&c.CertFile, &c.KeyFile, &c.ClientCAFile} {
		if *f != "" && !filepath.IsAbs(*f) {
			*f = filepath.Join(dir, *f)
		}
	}
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("tls_server_config: "+format, args...))
		}
	}
	if c.CertFile == "" || c.KeyFile == "" {
		add(true, "cert_file and key_file are both needed")
	} else {
		_, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		add(err != nil, "%w", err)
	}
	add(c.MinVersion != 0 && c.MaxVersion != 0 && c.MinVersion > c.MaxVersion, "min_version is above max_version")
	auth, err := clientAuth(c.ClientAuthType)
	add(err != nil, "%w", err)
	verifies := auth == tls.VerifyClientCertIfGiven || auth == tls.RequireAndVerifyClientCert
	add(err == nil && verifies && c.ClientCAFile == "", "client_auth_type %s needs client_ca_file", c.ClientAuthType)
	add(err == nil && !verifies && c.ClientCAFile != "", "client_ca_file is of no use without a client_auth_type that verifies")
	add(err == nil && auth != tls.RequireAndVerifyClientCert && len(c.ClientSANs) > 0,
		"client_allowed_sans needs client_auth_type RequireAndVerifyClientCert")
	if c.ClientCAFile != "" {
		_, err := readPool(c.ClientCAFile)
		add(err != nil, "%w", err)
	}
	return errors.Join(errs...)
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
