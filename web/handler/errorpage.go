package handler

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/chart"
)

//go:embed errorpage.html
var errorTemplate string

// maxProblem bounds what is kept of an error until it is written as a page, in bytes;
// a longer one is written as it is.
const maxProblem = 64 << 10

// WithErrorPages has people see errors as pages: where h answers with problem+json and
// the request comes from a browser that shows what it gets, the same is said as HTML.
// Whoever else asks gets what h writes.
func WithErrorPages(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &errorPages{ResponseWriter: w, wanted: wantsPage(r.Header.Values("Accept"))}
		h.ServeHTTP(p, r)
		p.finish(r)
	})
}

// wantsPage reports whether HTML is named, and nothing that an error may be in is
// preferred to it: what stands first is, of what has the same weight.
func wantsPage(accept []string) bool {
	best, page := 0.0, false
	for name := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		mediaType, params, err := mime.ParseMediaType(name)
		if err != nil {
			continue
		}
		html := mediaType == "text/html" || mediaType == "application/xhtml+xml"
		if !html && mediaType != "application/json" && mediaType != ProblemType {
			continue
		}
		weight := 1.0
		if q, given := params["q"]; given {
			if weight, err = strconv.ParseFloat(q, 64); err != nil {
				continue
			}
		}
		if weight > best {
			best, page = weight, html
		}
	}
	return page
}

// errorPages holds back an error that is going to be a page.
type errorPages struct {
	http.ResponseWriter
	wanted bool
	// status is that of the error that is held back, 0 for none.
	status int
	begun  bool
	body   bytes.Buffer
}

// WriteHeader passes on what is no error of ours.
func (p *errorPages) WriteHeader(status int) {
	switch {
	case status < http.StatusOK || p.begun:
		p.ResponseWriter.WriteHeader(status)
		return
	case p.status != 0:
		return // the first one counts
	}
	h := p.Header()
	if status >= http.StatusBadRequest && h.Get("Content-Type") == ProblemType {
		if !slices.Contains(h.Values("Vary"), "Accept") { // another replica, whose answer this is, has said it
			h.Add("Vary", "Accept")
		}
		if p.wanted && h.Get("Content-Encoding") == "" {
			p.status = status
			return
		}
	}
	p.begun = true
	p.ResponseWriter.WriteHeader(status)
}

// Write keeps an error that is held back.
func (p *errorPages) Write(b []byte) (int, error) {
	if p.status == 0 {
		p.begun = true
		return p.ResponseWriter.Write(b)
	}
	if p.body.Len()+len(b) <= maxProblem {
		return p.body.Write(b)
	}
	if err := p.release(); err != nil {
		return 0, err
	}
	return p.ResponseWriter.Write(b)
}

// FlushError flushes, unless there is only what is held back.
func (p *errorPages) FlushError() error {
	if p.status != 0 {
		return nil
	}
	p.begun = true
	return http.NewResponseController(p.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController reach deadlines.
func (p *errorPages) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// release writes what was held back as it is.
func (p *errorPages) release() error {
	status := p.status
	p.status, p.begun = 0, true
	p.ResponseWriter.WriteHeader(status)
	_, err := p.ResponseWriter.Write(p.body.Bytes())
	return err
}

// finish writes the page. What a client that is gone does not get is lost.
func (p *errorPages) finish(r *http.Request) {
	if p.status == 0 {
		return
	}
	var problem Problem
	page := bytes.Buffer{}
	err := json.Unmarshal(p.body.Bytes(), &problem)
	if err == nil {
		err = chart.WritePage(&page, errorTemplate, nil, struct {
			Problem
			Next, Home string
		}{problem, nextStep(p.status, p.Header()), home(r.URL.Path)})
	}
	if err != nil {
		_ = p.release()
		return
	}
	h := p.Header()
	h.Del("Content-Length")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	p.ResponseWriter.WriteHeader(p.status)
	_, _ = p.ResponseWriter.Write(page.Bytes())
}

// nextStep is what a person does about an error that does not say so itself.
func nextStep(status int, h http.Header) string {
	offers := strings.ToLower(strings.Join(h.Values("WWW-Authenticate"), ","))
	switch {
	case status == http.StatusUnauthorized && strings.Contains(offers, "basic"):
		return "Load this page again and give user and password."
	case status == http.StatusUnauthorized:
		return "A browser cannot give a bearer token, and no user is configured: give basic_auth_users in web.config_file, or ask with curl -H 'Authorization: Bearer TOKEN', or with the commands of zeta-scaler and --token-file."
	case status == http.StatusNotFound:
		return "Look for it from the start page: the address may be misspelt, or what was there is gone."
	case status == http.StatusInternalServerError:
		return "Load this page again; if that does not help, the log of the service says why."
	case status == http.StatusServiceUnavailable:
		return "Load this page again in a moment."
	}
	return ""
}

// home is the start page as seen from a path, behind whatever prefix a proxy takes
// away.
func home(path string) string {
	if n := strings.Count(path, "/") - 1; n > 0 {
		return strings.Repeat("../", n)
	}
	return "./"
}
