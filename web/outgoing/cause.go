package outgoing

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
)

// Cause is why a request got no usable answer, as far as it tells people what to
// do about it.
type Cause string

// The causes.
const (
	// CauseOther is anything else.
	CauseOther Cause = ""
	// NobodyListens: the machine is there, nothing listens at the port.
	NobodyListens Cause = "nobody_listens"
	// NoSuchHost: the name is not known.
	NoSuchHost Cause = "no_such_host"
	// NoAnswerInTime: the time was up.
	NoAnswerInTime Cause = "no_answer_in_time"
	// SpeaksHTTP: https was spoken to a server that speaks http, SpeaksTLS the
	// other way round.
	SpeaksHTTP Cause = "speaks_http"
	SpeaksTLS  Cause = "speaks_tls"
	// ConnectionReset: the server broke the connection off, as some that speak TLS do
	// when they are spoken to in plain HTTP.
	ConnectionReset Cause = "connection_reset"
	// UnknownAuthority: whoever signed the certificate is not trusted, OtherName: it
	// is for another host, CertificateOver: its time is over or has not begun.
	UnknownAuthority Cause = "unknown_authority"
	OtherName        Cause = "other_name"
	CertificateOver  Cause = "certificate_over"
	// WantsCredential: 401 or 403. NotFound: 404 or 405.
	WantsCredential Cause = "wants_credential"
	NotFound        Cause = "not_found"
)

// CauseOf finds the cause of an error of a client, or of what says the status of a
// reply in the words of StatusText.
func CauseOf(err error) Cause {
	if err == nil {
		return CauseOther
	}
	if c := causeOfTLS(err); c != CauseOther {
		return c
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && !dns.IsTimeout {
		return NoSuchHost
	}
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return NobodyListens
	case errors.Is(err, syscall.ECONNRESET):
		return ConnectionReset
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return NoAnswerInTime
	}
	text := err.Error()
	for _, status := range []struct {
		code  int
		cause Cause
	}{
		{http.StatusUnauthorized, WantsCredential},
		{http.StatusForbidden, WantsCredential},
		{http.StatusNotFound, NotFound},
		{http.StatusMethodNotAllowed, NotFound},
	} {
		if strings.Contains(text, strconv.Itoa(status.code)+" "+http.StatusText(status.code)) {
			return status.cause
		}
	}
	if strings.Contains(text, "malformed HTTP response \"\\x15\\x03") || strings.Contains(text, "HTTP request to an HTTPS server") {
		return SpeaksTLS
	}
	return CauseOther
}

func causeOfTLS(err error) Cause {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return SpeaksHTTP
	}
	if strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		return SpeaksHTTP // net/http's own words take the place of the error
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return UnknownAuthority
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return OtherName
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return CertificateOver
	}
	return CauseOther
}

// Advice says what to do about a cause, where key is the setting that names the
// server and http the one with its credentials and TLS. It is empty for
// CauseOther.
func (c Cause) Advice(key, http string) string {
	switch c {
	case NobodyListens:
		return "is it up, and is this its port? " + key
	case NoSuchHost:
		return "the name is not known on this machine: mend " + key + ", or the DNS here"
	case NoAnswerInTime:
		return "a firewall in between, or a server that hangs: try it with curl from this machine"
	case SpeaksHTTP:
		return "the server speaks plain HTTP: write http:// in " + key
	case SpeaksTLS:
		return "the server speaks TLS: write https:// in " + key
	case ConnectionReset:
		return "if it happens again, the server may speak TLS, or something in between closes connections: check http:// or https:// in " + key
	case UnknownAuthority:
		return "set " + http + ".tls_config.ca_file to the authority that signed the server's certificate"
	case OtherName:
		return "the certificate is for another name: use that name in " + key + ", or set " + http + ".tls_config.server_name"
	case CertificateOver:
		return "renew the server's certificate, or mend the clock of this machine"
	case WantsCredential:
		return "it asks for another credential: " + http
	case NotFound:
		return "something answers there, but not what was looked for: check the port and the path of " + key
	}
	return ""
}
