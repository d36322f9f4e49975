package web

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"
	"golang.org/x/crypto/bcrypt"
)

// fileConfig is a web configuration file in the exporter toolkit's format.
type fileConfig struct {
	TLS   *tlsConfig        `yaml:"tls_server_config"`
	HTTP  httpConfig        `yaml:"http_server_config"`
	Users map[string]string `yaml:"basic_auth_users"`
}

type tlsConfig struct {
	CertFile       string     `yaml:"cert_file"`
	KeyFile        string     `yaml:"key_file"`
	ClientAuthType string     `yaml:"client_auth_type"`
	ClientCAFile   string     `yaml:"client_ca_file"`
	MinVersion     tlsVersion `yaml:"min_version"`
	MaxVersion     tlsVersion `yaml:"max_version"`
}

type httpConfig struct {
	HTTP2   *bool             `yaml:"http2"`
	Headers map[string]string `yaml:"headers"`
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
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := c.check(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// check reports everything that is wrong and makes paths relative to the
// file's folder absolute.
func (c *fileConfig) check(dir string) error {
	var errs []error
	for user, hash := range c.Users {
		if _, err := bcrypt.Cost([]byte(hash)); err != nil {
			// The text of a wrong hash may be a password.
			errs = append(errs, fmt.Errorf("basic_auth_users: the value of user %q is not a bcrypt hash; make one with: htpasswd -nBC 10 %s", user, user))
		}
	}
	if c.TLS == nil {
		return errors.Join(errs...)
	}
	for _, f := range []*string{&c.TLS.CertFile, &c.TLS.KeyFile, &c.TLS.ClientCAFile} {
		if *f != "" && !filepath.IsAbs(*f) {
			*f = filepath.Join(dir, *f)
		}
	}
	if c.TLS.CertFile == "" || c.TLS.KeyFile == "" {
		errs = append(errs, errors.New("tls_server_config: cert_file and key_file are both needed"))
	} else if _, err := tls.LoadX509KeyPair(c.TLS.CertFile, c.TLS.KeyFile); err != nil {
		errs = append(errs, fmt.Errorf("tls_server_config: %w", err))
	}
	if _, err := clientAuth(c.TLS.ClientAuthType); err != nil {
		errs = append(errs, err)
	}
	if c.TLS.ClientCAFile != "" {
		if _, err := readPool(c.TLS.ClientCAFile); err != nil {
			errs = append(errs, err)
		}
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
	return 0, fmt.Errorf("tls_server_config: client_auth_type is %q, expected NoClientCert, RequestClientCert, RequireAnyClientCert, VerifyClientCertIfGiven or RequireAndVerifyClientCert", name)
}

func readPool(path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("tls_server_config: client_ca_file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("tls_server_config: client_ca_file %s has no certificate", path)
	}
	return pool, nil
}

// server makes the TLS configuration. Certificate, key and client authorities
// are read again at each handshake, so that rotated files count at once.
func (c *tlsConfig) server() *tls.Config {
	load := func() (*tls.Config, error) {
		cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, err
		}
		auth, err := clientAuth(c.ClientAuthType)
		if err != nil {
			return nil, err
		}
		out := &tls.Config{
			Certificates: []tls.Certificate{cert}, ClientAuth: auth, NextProtos: []string{"h2", "http/1.1"},
			MinVersion: tls.VersionTLS12, MaxVersion: uint16(c.MaxVersion),
		}
		if c.MinVersion != 0 {
			out.MinVersion = uint16(c.MinVersion)
		}
		if c.ClientCAFile != "" {
			if out.ClientCAs, err = readPool(c.ClientCAFile); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		NextProtos:         []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return load() },
	}
}
