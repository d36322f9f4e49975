// Package web serves a handler safely: TLS and basic_auth_users in the format
// of Prometheus' exporter toolkit, bearer tokens, a credential for every call
// that changes something, protection of browsers, limits and time-outs
// everywhere, and a graceful stop (spec 3.3).
package web
