package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// DefaultTimeout bounds a whole call of a Client without an HTTPClient.
	DefaultTimeout = 10 * time.Second
	// maxReply caps what a Client reads; 10 000 scopes fit several times.
	maxReply = 256 << 20
)

// Client speaks the API of a running service. The zero value needs a BaseURL;
// a Client may be used by several goroutines at once.
type Client struct {
	// BaseURL is where the service answers, such as http://127.0.0.1:9880. A
	// path is kept in front of the API's own, for a service behind a prefix.
	BaseURL string
	// Token, if not empty, is sent as bearer token.
	Token string
	// HTTPClient is used as it is; nil is a client with DefaultTimeout.
	HTTPClient *http.Client
}

// Error is an error that the service answered with.
type Error struct {
	// URL is what was asked for, without a password.
	URL string
	Problem
}

// Error names the service, the status and what was wrong.
func (e *Error) Error() string {
	return fmt.Sprintf("%s answered %d %s: %s", e.URL, e.Status, strings.ToLower(e.Title), e.Detail)
}

// Status returns the latest recommendation of every scope, or of one if scope
// is not empty.
func (c *Client) Status(ctx context.Context, scope string) (Status, error) {
	var reply Status
	err := c.get(ctx, "autoscaler/status", scopeQuery(scope), &reply)
	return reply, err
}

// Metrics returns the current inputs of every scope, or of one.
func (c *Client) Metrics(ctx context.Context, scope string) (MetricsSnapshot, error) {
	var reply MetricsSnapshot
	err := c.get(ctx, "autoscaler/metrics", scopeQuery(scope), &reply)
	return reply, err
}

// DecisionTable returns the rows in order, and which one decided for every
// scope, or for one.
func (c *Client) DecisionTable(ctx context.Context, scope string) (DecisionTable, error) {
	var reply DecisionTable
	err := c.get(ctx, "autoscaler/decision-table", scopeQuery(scope), &reply)
	return reply, err
}

// History returns one page of recorded decisions, newest first. Zero fields of
// params do not narrow; the next page has NextCursor as its Cursor and is
// otherwise asked for alike.
func (c *Client) History(ctx context.Context, params GetHistoryParams) (HistoryPage, error) {
	q := scopeQuery(params.Scope)
	set := func(name, value string, given bool) {
		if given {
			q.Set(name, value)
		}
	}
	set("since", params.Since.Format(time.RFC3339Nano), !params.Since.IsZero())
	set("until", params.Until.Format(time.RFC3339Nano), !params.Until.IsZero())
	set("action", string(params.Action), params.Action != "")
	set("limit", strconv.Itoa(params.Limit), params.Limit != 0)
	set("cursor", params.Cursor, params.Cursor != "")
	var reply HistoryPage
	err := c.get(ctx, "autoscaler/history", q, &reply)
	return reply, err
}

// Actions returns one page of actions, those under way first. Zero fields of
// params do not narrow.
func (c *Client) Actions(ctx context.Context, params GetActionsParams) (ActionsPage, error) {
	q := scopeQuery(params.Scope)
	set := func(name, value string, given bool) {
		if given {
			q.Set(name, value)
		}
	}
	set("state", string(params.State), params.State != "")
	set("since", params.Since.Format(time.RFC3339Nano), !params.Since.IsZero())
	set("until", params.Until.Format(time.RFC3339Nano), !params.Until.IsZero())
	set("limit", strconv.Itoa(params.Limit), params.Limit != 0)
	set("cursor", params.Cursor, params.Cursor != "")
	var reply ActionsPage
	err := c.get(ctx, "autoscaler/actions", q, &reply)
	return reply, err
}

// Explain returns why a decision of a scope was taken: the latest, or the one
// that params names.
func (c *Client) Explain(ctx context.Context, params GetExplainParams) (Explanation, error) {
	q := scopeQuery(params.Scope)
	if params.Id != "" {
		q.Set("id", params.Id)
	}
	if !params.At.IsZero() {
		q.Set("at", params.At.Format(time.RFC3339Nano))
	}
	var reply Explanation
	err := c.get(ctx, "autoscaler/explain", q, &reply)
	return reply, err
}

// Config returns the effective configuration of every scope, or of one.
func (c *Client) Config(ctx context.Context, scope string) (EffectiveConfig, error) {
	var reply EffectiveConfig
	err := c.get(ctx, "autoscaler/config", scopeQuery(scope), &reply)
	return reply, err
}

// Pause pauses a scope or the whole service.
func (c *Client) Pause(ctx context.Context, req PauseRequest) (ControlState, error) {
	var reply ControlState
	err := c.post(ctx, "autoscaler/pause", req, &reply)
	return reply, err
}

// Resume ends the pause of a scope or of the whole service.
func (c *Client) Resume(ctx context.Context, req ResumeRequest) (ControlState, error) {
	var reply ControlState
	err := c.post(ctx, "autoscaler/resume", req, &reply)
	return reply, err
}

func scopeQuery(scope string) url.Values {
	q := url.Values{}
	if scope != "" {
		q.Set("scope", scope)
	}
	return q
}

func (c *Client) get(ctx context.Context, path string, q url.Values, into any) error {
	return c.call(ctx, http.MethodGet, path, q, nil, into)
}

func (c *Client) post(ctx context.Context, path string, request, into any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encoding a request: %w", err)
	}
	return c.call(ctx, http.MethodPost, path, nil, body, into)
}

func (c *Client) call(ctx context.Context, method, path string, q url.Values, body []byte, into any) error {
	target, err := c.url(path, q)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("asking %s: %w", target.Redacted(), err)
	}
	req.Header.Set("Accept", "application/json, "+problemType)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	client := c.HTTPClient
	if client == nil {
		client = &http.Client{Timeout: DefaultTimeout}
	}
	resp, err := client.Do(req)
	if err != nil {
		// The error of net/http names method and URL itself.
		if errors.Is(err, syscall.ECONNREFUSED) {
			return fmt.Errorf("asking zeta-scaler: %w; is it running, and at this address?", err)
		}
		return fmt.Errorf("asking zeta-scaler: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is lost: the body was read or is not wanted
	return decodeReply(resp, target.Redacted(), into)
}

func (c *Client) url(path string, q url.Values) (*url.URL, error) {
	base, err := url.Parse(c.BaseURL)
	if err != nil {
		// url.Error repeats the address, which may hold a password.
		if parse, ok := errors.AsType[*url.Error](err); ok {
			err = parse.Err
		}
		return nil, fmt.Errorf("server address is not a URL: %w", err)
	}
	if (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, fmt.Errorf("server address %q is not a URL such as http://127.0.0.1:9880", base.Redacted())
	}
	target := base.JoinPath(path)
	target.RawQuery = q.Encode()
	return target, nil
}

// decodeReply reads a reply that may as well come from a proxy in between or
// from another program.
func decodeReply(resp *http.Response, from string, into any) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	if err != nil {
		return fmt.Errorf("reading the reply of %s: %w", from, err)
	}
	if len(body) > maxReply {
		return fmt.Errorf("the reply of %s is larger than %d MiB; ask for one scope", from, maxReply>>20)
	}
	mediaType, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		mediaType = "no known content type"
	}
	if mediaType == problemType {
		e := &Error{URL: from}
		if err := json.Unmarshal(body, &e.Problem); err == nil && e.Detail != "" {
			e.Status = resp.StatusCode
			return e
		}
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%s answered %s: a valid token is needed", from, resp.Status)
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answered %s (%s): %s", from, resp.Status, mediaType, excerpt(body))
	case mediaType != "application/json":
		return fmt.Errorf("%s answered with %s instead of JSON; is it a zeta-scaler? %s", from, mediaType, excerpt(body))
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("decoding the reply of %s: %w", from, err)
	}
	return nil
}

// excerpt is the beginning of a body on one line.
func excerpt(body []byte) string {
	text := strings.Join(strings.Fields(shown(strings.ToValidUTF8(string(body), "?"))), " ")
	if text == "" {
		return "empty body"
	}
	return strconv.Quote(text)
}

// IsNotFound reports whether the service said that there is no such scope.
func IsNotFound(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusNotFound
}
