package yarn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	promconfig "github.com/prometheus/common/config"

	"github.com/zeta-scaler/zeta-scaler/actuators/yarn/spnego"
	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

// maxReply bounds a reply, in bytes: that of a large cluster's scheduler or
// nodes is some megabytes.
const maxReply = 32 << 20

// rmPath is where a resource manager's own API is below its URL.
const rmPath = "/ws/v1/cluster"

// client asks the resource managers of one cluster, of which one is active. What
// a manager that is not has answered was not done, and the next one is asked; a
// redirect is only a hint which one that is. It is safe for concurrent use.
type client struct {
	// reads keep their connections. writes do not: on one that was kept, the
	// server may be gone, and then nobody could tell whether it acted.
	reads, writes *outgoing.Client
	managers      []*url.URL
	// user is sent as user.name, empty: not at all.
	user    string
	timeout time.Duration
	// authorize adds what proves who we are, nil: nothing.
	authorize func(ctx context.Context, req *http.Request) error

	mu sync.Mutex
	// active is the manager that answered last.
	active int
}

func newClient(o *Options) (*client, error) {
	c := &client{user: o.User, timeout: o.timeout()}
	if o.Kerberos.Set() {
		proof, err := spnego.New(o.Kerberos)
		if err != nil {
			return nil, err
		}
		c.user, c.authorize = "", proof.Authorize
	}
	for _, raw := range o.URLs {
		u, err := outgoing.ParseURL(raw)
		if err != nil {
			return nil, fmt.Errorf("urls: %w", err)
		}
		u.Path = strings.TrimRight(u.Path, "/")
		c.managers = append(c.managers, u)
	}
	config := o.HTTPClientConfig
	config.FollowRedirects = false
	with := outgoing.Options{Name: "actuator_yarn", Config: config, MaxReply: maxReply}
	var err error
	if c.reads, err = outgoing.New(with); err != nil {
		return nil, fmt.Errorf("http client: %w", err)
	}
	with.HTTPOptions = []promconfig.HTTPClientOption{promconfig.WithKeepAlivesDisabled()}
	if c.writes, err = outgoing.New(with); err != nil {
		return nil, fmt.Errorf("http client: %w", err)
	}
	return c, nil
}

// call is one request, whichever manager takes it. With a body it is a PUT.
type call struct {
	path  string
	query url.Values
	body  any
}

func (q call) method() string {
	if q.body != nil {
		return http.MethodPut
	}
	return http.MethodGet
}

// String is such as "PUT /app/v1/services/zeta".
func (q call) String() string { return q.method() + " " + q.path }

// get decodes the reply to a GET. Any manager may be asked again: it changes
// nothing.
func (c *client) get(ctx context.Context, path string, query url.Values, into any) error {
	q := call{path: path, query: query}
	r, err := c.ask(ctx, q)
	if err != nil {
		return err
	}
	if r.status != http.StatusOK {
		return r.failure(q)
	}
	if err := json.Unmarshal(r.body, into); err != nil {
		return &failure{call: q, manager: r.manager, status: r.status, kind: odd, text: "its reply cannot be understood: " + err.Error()}
	}
	return nil
}

// ask sends a request to one manager after the other, beginning with the one that
// answered last, until one answers that is active. Each is asked once. A PUT goes
// on to the next only if it was surely not carried out.
func (c *client) ask(ctx context.Context, q call) (*reply, error) {
	left := c.order()
	var said []*failure
	for len(left) > 0 {
		i := left[0]
		left = left[1:]
		r, f := c.send(ctx, c.managers[i], q)
		if f == nil {
			c.answered(i)
			return r, nil
		}
		said = append(said, f)
		if f.kind == ended || f.kind == lost && q.body != nil {
			break
		}
		if n := c.named(f.elsewhere); n >= 0 {
			if at := slices.Index(left, n); at > 0 {
				left = slices.Concat([]int{n}, left[:at], left[at+1:])
			}
		}
	}
	return nil, joined(said)
}

// order is the managers in the order in which they are asked.
func (c *client) order() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]int, len(c.managers))
	for i := range out {
		out[i] = (c.active + i) % len(out)
	}
	return out
}

func (c *client) answered(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active = i
}

// named is the index of the manager at an address, -1 if it is none of ours:
// nobody else is told who we are.
func (c *client) named(address *url.URL) int {
	if address == nil {
		return -1
	}
	return slices.IndexFunc(c.managers, func(u *url.URL) bool { return u.Scheme == address.Scheme && u.Host == address.Host })
}

// reply is what an active manager answered.
type reply struct {
	manager *url.URL
	status  int
	body    []byte
	// text says in one line what the body says.
	text string
}

// send asks one manager. It fails unless an active one has answered.
func (c *client) send(ctx context.Context, m *url.URL, q call) (*reply, *failure) {
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }}
	limited, cancel := context.WithTimeout(httptrace.WithClientTrace(ctx, trace), c.timeout)
	defer cancel()
	fail := func(k kind, cause error, text string) (*reply, *failure) {
		return nil, &failure{call: q, manager: m, kind: k, cause: cause, text: text}
	}
	if err := ctx.Err(); err != nil {
		return fail(ended, err, "")
	}
	req, err := c.request(limited, m, q)
	if err != nil {
		return fail(unreached, err, "")
	}
	by := c.reads
	if q.body != nil {
		by = c.writes
	}
	resp, err := by.Do(req)
	var body []byte
	if err == nil {
		defer resp.Body.Close()
		var b bytes.Buffer
		_, err = b.ReadFrom(resp.Body)
		body, err = b.Bytes(), resp.Clean(err)
	}
	var large *outgoing.TooLargeError
	switch {
	case err == nil:
		return c.judge(m, q, resp, body)
	case errors.As(err, &large):
		return fail(lost, nil, err.Error())
	case ctx.Err() != nil && sent.Load():
		return fail(lost, ctx.Err(), "")
	case ctx.Err() != nil:
		return fail(ended, ctx.Err(), "")
	case limited.Err() != nil && sent.Load():
		return fail(lost, nil, fmt.Sprintf("no reply within %s", c.timeout))
	case sent.Load():
		return fail(lost, nil, err.Error())
	}
	return fail(unreached, nil, err.Error())
}

func (c *client) request(ctx context.Context, m *url.URL, q call) (*http.Request, error) {
	u := *m
	u.Path += q.path
	query := u.Query()
	maps.Copy(query, q.query)
	if c.user != "" {
		query.Set("user.name", c.user)
	}
	u.RawQuery = query.Encode()
	var body []byte
	if q.body != nil {
		var err error
		if body, err = json.Marshal(q.body); err != nil {
			return nil, fmt.Errorf("writing the request: %w", err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, q.method(), u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the request cannot be made")
	}
	// With this the transport would send a request again whose reply was lost.
	req.GetBody = nil
	if q.body == nil {
		req.Body = http.NoBody
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	if c.authorize != nil {
		if err := c.authorize(ctx, req); err != nil {
			return nil, err
		}
	}
	return req, nil
}

// judge tells the answer of an active manager from what is none.
func (c *client) judge(m *url.URL, q call, resp *outgoing.Reply, body []byte) (*reply, *failure) {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	r := &reply{manager: m, status: resp.StatusCode, body: body, text: said(resp, media, body)}
	f := &failure{call: q, manager: m, status: r.status, kind: standby, text: r.text}
	switch {
	case r.status/100 == 3:
		f.elsewhere = c.leadsTo(m, resp.Header.Get("Location"))
		f.text = whereTo(m, f.elsewhere, c.named(f.elsewhere) >= 0)
		return nil, f
	case r.status/100 == 2 && strings.Contains(r.text, noActive):
		return nil, f
	case r.status/100 == 2 && r.status != http.StatusNoContent && media != "application/json":
		f.kind = odd
		f.text = fmt.Sprintf("it is %s, expected JSON: %s", orNothing(media), r.text)
		if q.body != nil {
			f.kind = lost
		}
		return nil, f
	}
	return r, nil
}

func (c *client) leadsTo(m *url.URL, location string) *url.URL {
	if location == "" {
		return nil
	}
	to, err := m.Parse(location)
	if err != nil {
		return nil
	}
	return to
}

// whereTo says what a redirect means.
func whereTo(m, to *url.URL, ours bool) string {
	switch {
	case to == nil:
		return "it knows no active ResourceManager"
	case to.Host == m.Host && to.Scheme == m.Scheme:
		return "it sends us to itself: a failover is under way"
	case ours:
		return "it is standby and names " + outgoing.Shown(&url.URL{Scheme: to.Scheme, Host: to.Host}) + " as active"
	}
	return "it sends us to " + outgoing.Shown(to) + ", which is not among urls and was not asked; if that is a ResourceManager of this cluster, add it"
}

func orNothing(media string) string {
	if media == "" {
		return "of no type"
	}
	return media
}
