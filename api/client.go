package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zeta-scaler/zeta-scaler/web/handler"
	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

const (
	// DefaultTimeout is that of a Client without one.
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
	// Timeout bounds a whole call; 0 is DefaultTimeout.
	Timeout time.Duration

	transport http.RoundTripper // nil: the network
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
	return get[Status](ctx, c, "autoscaler/status", asking("scope", scope))
}

// Metrics returns the current inputs of every scope, or of one.
func (c *Client) Metrics(ctx context.Context, scope string) (MetricsSnapshot, error) {
	return get[MetricsSnapshot](ctx, c, "autoscaler/metrics", asking("scope", scope))
}

// DecisionTable returns the rows in order, and which one decided for every
// scope, or for one.
func (c *Client) DecisionTable(ctx context.Context, scope string) (DecisionTable, error) {
	return get[DecisionTable](ctx, c, "autoscaler/decision-table", asking("scope", scope))
}

// History returns one page of recorded decisions, newest first. Zero fields of
// params do not narrow; the next page has NextCursor as its Cursor and is
// otherwise asked for alike.
func (c *Client) History(ctx context.Context, params GetHistoryParams) (HistoryPage, error) {
	return get[HistoryPage](ctx, c, "autoscaler/history", asking("scope", params.Scope, "since", timeText(params.Since),
		"until", timeText(params.Until), "action", string(params.Action), "limit", countText(params.Limit), "cursor", params.Cursor))
}

// Actions returns one page of actions, those under way first. Zero fields of
// params do not narrow.
func (c *Client) Actions(ctx context.Context, params GetActionsParams) (ActionsPage, error) {
	return get[ActionsPage](ctx, c, "autoscaler/actions", asking("scope", params.Scope, "state", string(params.State),
		"since", timeText(params.Since), "until", timeText(params.Until), "limit", countText(params.Limit), "cursor", params.Cursor))
}

// Explain returns why a decision of a scope was taken: the latest, or the one
// that params names.
func (c *Client) Explain(ctx context.Context, params GetExplainParams) (Explanation, error) {
	return get[Explanation](ctx, c, "autoscaler/explain", asking("scope", params.Scope, "id", params.Id, "at", timeText(params.At)))
}

// Config returns the effective configuration of every scope, or of one.
func (c *Client) Config(ctx context.Context, scope string) (EffectiveConfig, error) {
	reply, _, err := c.ConfigTag(ctx, scope)
	return reply, err
}

// ConfigTag is Config with the tag that a change of it needs.
func (c *Client) ConfigTag(ctx context.Context, scope string) (reply EffectiveConfig, tag string, err error) {
	header, err := c.exchange(ctx, http.MethodGet, "autoscaler/config", asking("scope", scope), nil, nil, &reply)
	return reply, header.Get("ETag"), err
}

// SetConfig changes bounds and mode of scopes at run time, unless somebody has
// changed anything since the tag was read.
func (c *Client) SetConfig(ctx context.Context, changes []ScopeChange, tag string) (reply EffectiveConfig, err error) {
	body, err := json.Marshal(map[string]any{"scopes": changes})
	if err != nil {
		return reply, fmt.Errorf("encoding a request: %w", err)
	}
	_, err = c.exchange(ctx, http.MethodPut, "autoscaler/config", nil, http.Header{"If-Match": {tag}}, body, &reply)
	return reply, err
}

// Pause pauses a scope or the whole service.
func (c *Client) Pause(ctx context.Context, req PauseRequest) (ControlState, error) {
	return post[ControlState](ctx, c, "autoscaler/pause", req)
}

// Resume ends the pause of a scope or of the whole service.
func (c *Client) Resume(ctx context.Context, req ResumeRequest) (ControlState, error) {
	return post[ControlState](ctx, c, "autoscaler/resume", req)
}

// Drains returns the drains that are not over, and at most limit that are.
func (c *Client) Drains(ctx context.Context, scope string, limit int) (DrainsPage, error) {
	return get[DrainsPage](ctx, c, "autoscaler/drain", asking("scope", scope, "limit", countText(max(0, limit))))
}

// Drain begins a drain.
func (c *Client) Drain(ctx context.Context, req DrainRequest) (Drain, error) {
	return post[Drain](ctx, c, "autoscaler/drain", req)
}

// PlanDrain says what a drain would do.
func (c *Client) PlanDrain(ctx context.Context, req DrainPlanRequest) (DrainPlan, error) {
	return post[DrainPlan](ctx, c.patient(planTimeout), "autoscaler/drain/plan", req)
}

// CancelDrain has the open drain of a scope go back.
func (c *Client) CancelDrain(ctx context.Context, req DrainCancelRequest) (Drain, error) {
	return post[Drain](ctx, c, "autoscaler/drain/cancel", req)
}

// submitTimeout is what a submission may take: Zeta makes its plan of the job
// before it answers, and a lost answer is made up for by looking.
const submitTimeout = time.Minute

// Submit passes a job on to Zeta. After an error that is no *Error the same
// request, with the same id, may be sent again.
func (c *Client) Submit(ctx context.Context, req JobRequest) (SubmittedJob, error) {
	return post[SubmittedJob](ctx, c.patient(submitTimeout), "autoscaler/jobs", req)
}

// patient is a client for what takes longer than most calls.
func (c *Client) patient(timeout time.Duration) *Client {
	p := *c
	p.Timeout = cmp.Or(c.Timeout, timeout)
	return &p
}

// asking is a query of names and values, without those that are empty.
func asking(pairs ...string) url.Values {
	q := url.Values{}
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			q.Set(pair[0], pair[1])
		}
	}
	return q
}

// timeText is a time in a query, empty for none.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}

// countText is a number in a query, empty for 0.
func countText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func get[T any](ctx context.Context, c *Client, path string, q url.Values) (reply T, err error) {
	_, err = c.exchange(ctx, http.MethodGet, path, q, nil, nil, &reply)
	return reply, err
}

func post[T any](ctx context.Context, c *Client, path string, request any) (reply T, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return reply, fmt.Errorf("encoding a request: %w", err)
	}
	_, err = c.exchange(ctx, http.MethodPost, path, nil, nil, body, &reply)
	return reply, err
}

// exchange asks, and returns the header of the reply, nil after an error.
func (c *Client) exchange(ctx context.Context, method, path string, q url.Values, header http.Header, body []byte, into any) (http.Header, error) {
	base, err := outgoing.ParseURL(c.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("server address, such as http://127.0.0.1:9880: %w", err)
	}
	target := base.JoinPath(path)
	target.RawQuery = q.Encode()
	req, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", target.Redacted(), err)
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Accept", "application/json, "+handler.ProblemType)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	client, err := outgoing.New(outgoing.Options{
		Transport: cmp.Or(c.transport, http.DefaultTransport), Timeout: cmp.Or(c.Timeout, DefaultTimeout), MaxReply: maxReply,
		Redirects: outgoing.Redirects{Within: func(to *url.URL) bool { return outgoing.Below(base, to) }},
		Key:       "--server",
	})
	if err != nil {
		return nil, fmt.Errorf("asking zeta-scaler: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		err = fmt.Errorf("asking zeta-scaler: %s %s: %w", method, outgoing.Shown(target), err)
		if errors.Is(err, syscall.ECONNREFUSED) {
			err = fmt.Errorf("%w; is it running, and at this address?", err)
		}
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is lost: the body was read or is not wanted
	if err := resp.Clean(decodeReply(resp, target.Redacted(), into)); err != nil {
		return nil, err
	}
	return resp.Header, nil
}

// decodeReply reads a reply that may as well come from a proxy in between or
// from another program.
func decodeReply(resp *outgoing.Reply, from string, into any) error {
	body, err := io.ReadAll(resp.Body)
	if _, tooLarge := errors.AsType[*outgoing.TooLargeError](err); tooLarge {
		return fmt.Errorf("the reply of %s is larger than %d MiB; ask for one scope", from, maxReply>>20)
	}
	if err != nil {
		return fmt.Errorf("reading the reply of %s: %w", from, err)
	}
	mediaType, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		mediaType = "no known content type"
	}
	if mediaType == handler.ProblemType {
		e := &Error{URL: from}
		if err := json.Unmarshal(body, &e.Problem); err == nil && e.Detail != "" {
			e.Status = resp.StatusCode
			e.Title, e.Detail = resp.Redact(e.Title), resp.Redact(e.Detail)
			return e
		}
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%s answered %s: a valid token is needed", from, resp.StatusText())
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answered %s (%s): %s", from, resp.StatusText(), mediaType, excerpt(resp, body))
	case mediaType != "application/json":
		return fmt.Errorf("%s answered with %s instead of JSON; is it a zeta-scaler? %s", from, mediaType, excerpt(resp, body))
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("decoding the reply of %s: %w", from, err)
	}
	return nil
}

// excerpt is the beginning of a body on one line.
func excerpt(resp *outgoing.Reply, body []byte) string {
	text := resp.Excerpt(body)
	if text == "" {
		return "empty body"
	}
	return strconv.Quote(text)
}
