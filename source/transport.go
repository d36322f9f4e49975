package source

import (
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net/url"

	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

// newHTTPClient builds the client for all replicas: authentication and TLS with
// files that are read anew when they change, a limit on what is read, and
// redirects only where they keep the meaning.
func newHTTPClient(opts RemoteOptions) (*outgoing.Client, error) {
	parameters := url.Values{}
	maps.Copy(parameters, opts.QueryParams)
	for _, raw := range opts.URLs {
		if u, err := url.Parse(raw); err == nil { // else it is refused
			maps.Copy(parameters, u.Query())
		}
	}
	return outgoing.New(outgoing.Options{
		Name: "prometheus", Config: *opts.HTTPClientConfig, UserAgent: opts.UserAgent, MaxReply: opts.MaxResponse,
		Parameters: parameters, Key: "prometheus.urls", HTTPKey: "prometheus.http_config",
		Redirects: outgoing.Redirects{Loses: "the query", Elsewhere: true},
	})
}

// requestError names the cause of a request that failed before a whole reply
// was there.
func requestError(err error) error {
	var (
		tooLarge *outgoing.TooLargeError
		redirect *outgoing.RedirectError
		broken   *outgoing.BrokenBodyError
	)
	switch {
	case errors.As(err, &tooLarge):
		return noAnswer(reasonTooLarge, err)
	case errors.As(err, &redirect):
		return noAnswer(reasonRedirect, err)
	case errors.As(err, &broken):
		return noAnswer(reasonBadResponse, err)
	case isTLS(err):
		return noAnswer(reasonTLS, err)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return noAnswerf(reasonConnection, "connection closed in the middle of the reply: %w", err)
	default:
		return noAnswer(reasonConnection, err)
	}
}

func isTLS(err error) bool {
	var (
		verify *tls.CertificateVerificationError
		record tls.RecordHeaderError
		alert  tls.AlertError
	)
	return errors.As(err, &verify) || errors.As(err, &record) || errors.As(err, &alert)
}
