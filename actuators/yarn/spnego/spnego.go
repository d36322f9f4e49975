// Package spnego proves to a server of HTTP who we are, with a ticket of Kerberos
// (RFC 4559). Tickets are had with a keytab, or from a cache that somebody else
// keeps filled; nothing stays open between two requests of them.
package spnego

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/spnego"
	"github.com/jcmturner/gokrb5/v8/types"
)

// DefaultConfigFile is where Kerberos keeps its configuration.
const DefaultConfigFile = "/etc/krb5.conf"

// ticketFor is how long a ticket is used before it is asked for anew: less than
// tickets last anywhere, so that one that was renewed in the cache, or whose
// principal was changed, is taken up.
const ticketFor = 5 * time.Minute

// Options say who we are, by a keytab or by a ticket cache.
type Options struct {
	// Principal is whose keytab it is, such as svc@EXAMPLE.COM.
	Principal string `yaml:"principal"`
	// KeytabFile has the keys of the principal.
	KeytabFile string `yaml:"keytab_file" check:"file=filled"`
	// CacheFile is a ticket cache of type FILE, as kinit writes it. It is read for
	// each ticket, so that it may be renewed.
	CacheFile string `yaml:"ticket_cache_file" check:"file=filled"`
	// ConfigFile is a krb5.conf, empty is DefaultConfigFile.
	ConfigFile string `yaml:"config_file" check:"file=filled"`
	// Service is the name of the server, empty is HTTP/ and the host of its URL.
	Service string `yaml:"service_principal"`
}

// Set reports whether we are somebody.
func (o *Options) Set() bool { return *o != (Options{}) }

// Check reports values that do not go together.
func (o *Options) Check(fail func(key, format string, args ...any)) {
	if !o.Set() {
		return
	}
	name, realm, _ := strings.Cut(o.Principal, "@")
	switch {
	case o.KeytabFile == "" && o.CacheFile == "":
		fail("kerberos", "has neither keytab_file nor ticket_cache_file, expected one of them")
	case o.KeytabFile != "" && o.CacheFile != "":
		fail("kerberos", "has both keytab_file and ticket_cache_file, expected one of them")
	case o.KeytabFile != "" && (name == "" || realm == ""):
		fail("kerberos.principal", "is %q, expected whose keytab it is, such as svc@EXAMPLE.COM", o.Principal)
	}
}

// User is the short name of the principal: its first part. Empty if only the cache
// knows.
func (o *Options) User() string {
	name, _, _ := strings.Cut(o.Principal, "@")
	name, _, _ = strings.Cut(name, "/")
	return name
}

// Authorizer adds the proof to requests. It is safe for concurrent use.
type Authorizer struct {
	o   Options
	now func() time.Time

	mu      sync.Mutex
	tickets map[string]*ticket
}

// ticket is one for a server, or the attempt to get one.
type ticket struct {
	done   chan struct{}
	until  time.Time
	ticket messages.Ticket
	key    types.EncryptionKey
	// owner has the name that the proof carries, and no connection.
	owner *client.Client
	err   error
}

// New makes an authorizer. It reads what is configured, so that what is missing is
// told early, and connects to nothing.
func New(o Options) (*Authorizer, error) {
	a := &Authorizer{o: o, now: time.Now, tickets: map[string]*ticket{}}
	if _, err := a.client(); err != nil {
		return nil, fmt.Errorf("kerberos: %w", err)
	}
	return a, nil
}

// client reads files.
func (a *Authorizer) client() (*client.Client, error) {
	path := cmp.Or(a.o.ConfigFile, DefaultConfigFile)
	c, err := config.Load(path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if a.o.CacheFile != "" {
		cache, err := credentials.LoadCCache(a.o.CacheFile)
		if err != nil {
			return nil, fmt.Errorf("reading ticket cache %s: %w", a.o.CacheFile, err)
		}
		return client.NewFromCCache(cache, c, client.DisablePAFXFAST(true))
	}
	keys, err := keytab.Load(a.o.KeytabFile)
	if err != nil {
		return nil, fmt.Errorf("reading keytab %s: %w", a.o.KeytabFile, err)
	}
	name, realm, _ := strings.Cut(a.o.Principal, "@")
	return client.NewWithKeytab(name, realm, keys, c, client.DisablePAFXFAST(true)), nil
}

// Authorize adds the proof to a request. It asks for a ticket first if there is none
// for the server, within ctx.
func (a *Authorizer) Authorize(ctx context.Context, req *http.Request) error {
	service := cmp.Or(a.o.Service, "HTTP/"+req.URL.Hostname())
	t, err := a.ticket(ctx, service)
	if err != nil {
		return fmt.Errorf("kerberos: asking for a ticket for %s: %w", service, err)
	}
	init, err := spnego.NewNegTokenInitKRB5(t.owner, t.ticket, t.key)
	if err != nil {
		return fmt.Errorf("kerberos: making the proof for %s: %w", service, err)
	}
	token := spnego.SPNEGOToken{Init: true, NegTokenInit: init}
	b, err := token.Marshal()
	if err != nil {
		return fmt.Errorf("kerberos: making the proof for %s: %w", service, err)
	}
	req.Header.Set("Authorization", "Negotiate "+base64.StdEncoding.EncodeToString(b))
	return nil
}

// ticket is one that is young enough, or a new one. Those who want the same wait for
// one request; a failed one is not kept.
func (a *Authorizer) ticket(ctx context.Context, service string) (*ticket, error) {
	a.mu.Lock()
	t := a.tickets[service]
	if t == nil || t.failed() || !a.now().Before(t.until) {
		t = &ticket{done: make(chan struct{}), until: a.now().Add(ticketFor)}
		a.tickets[service] = t
		// The library knows no context. Its own time-outs end it, some seconds for
		// each KDC.
		go func() {
			defer close(t.done)
			t.err = a.fetch(t, service)
		}()
	}
	a.mu.Unlock()
	select {
	case <-t.done:
		return t, t.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (t *ticket) failed() bool {
	select {
	case <-t.done:
		return t.err != nil
	default:
		return false
	}
}

// fetch asks the KDC. What it has opened is closed again: the library renews the
// tickets of an open client for ever.
func (a *Authorizer) fetch(t *ticket, service string) error {
	asks, err := a.client()
	if err != nil {
		return err
	}
	defer asks.Destroy()
	if t.owner, err = a.client(); err != nil {
		return err
	}
	if a.o.CacheFile == "" {
		if err := asks.Login(); err != nil {
			return fmt.Errorf("logging in as %s: %w", a.o.Principal, plain(err))
		}
	}
	if t.ticket, t.key, err = asks.GetServiceTicket(service); err != nil {
		return plain(err)
	}
	return nil
}

// plain is the error's last line: the library writes one for each of its layers.
func plain(err error) error {
	text := err.Error()
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	return errors.New(strings.Join(lines, ": "))
}
