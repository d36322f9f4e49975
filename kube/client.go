// Package kube is a small client of the Kubernetes API: get, list, create,
// update, merge patch and delete of the few kinds of objects that we use, as
// JSON. How a server is found and how we prove who we are (kubeconfigs and
// their exec plugins, the service account of a pod, tokens and certificates
// that change on disk, proxies) is left to client-go.
//
// Errors of the server are those of k8s.io/apimachinery/pkg/api/errors, whose
// functions tell them apart (IsConflict, IsNotFound, …).
package kube

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/zeta-scaler/zeta-scaler/backoff"
)

// FieldManager owns what we write, in the managed fields of an object.
const FieldManager = "zeta-scaler"

// DefaultTimeout bounds one request to the API server.
const DefaultTimeout = 10 * time.Second

// Options say which API server is asked, and how.
type Options struct {
	// Kubeconfig is the path of a kubeconfig, whose current context is used;
	// empty uses the service account of the pod.
	Kubeconfig string
	// Timeout bounds one request, DefaultTimeout if 0. A request that the server
	// asks to send again later is another one.
	Timeout time.Duration
	// Transport, if not nil, wraps the connection to the API server.
	Transport func(http.RoundTripper) http.RoundTripper
	// Budget bounds the requests, together with those of all clients that have
	// the same one; nil bounds nothing.
	Budget *Budget
}

// Client asks one API server. It is safe for concurrent use.
type Client struct {
	http      *http.Client
	base      *url.URL
	namespace string
	budget    *Budget
	timeout   time.Duration
}

// Open makes a client. It calls nothing.
func Open(o Options) (*Client, error) {
	config, namespace, err := load(o.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.UserAgent = FieldManager
	if o.Transport != nil {
		config.Wrap(o.Transport)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of %s: %w", config.Host, err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of %s: %w", config.Host, err)
	}
	return &Client{http: client, base: base, namespace: namespace, budget: o.Budget, timeout: cmp.Or(o.Timeout, DefaultTimeout)}, nil
}

// Namespace is that of the kubeconfig's current context or of the pod, empty if
// neither names one.
func (c *Client) Namespace() string { return c.namespace }

// request is one request and what it is about, for errors.
type request struct {
	// verb is as RBAC names it.
	verb     string
	method   string
	resource Resource
	// namespace is always there: we use no object that has none.
	namespace, name string
	query           url.Values
	contentType     string
	body            any
}

// validate keeps a name from being read as another path, and an empty one from
// naming all objects.
func (r *request) validate() error {
	for _, segment := range []string{r.namespace, r.name} {
		if msgs := rest.IsValidPathSegmentName(segment); len(msgs) > 0 {
			return fmt.Errorf("%s %s: name %q %s", r.verb, r.resource.Plural, segment, msgs[0])
		}
	}
	collection := r.verb == "list" || r.verb == "create"
	if r.namespace == "" || r.name == "" && !collection {
		return fmt.Errorf("%s %s: a namespace and a name are needed, not %q and %q", r.verb, r.resource.Plural, r.namespace, r.name)
	}
	return nil
}

func (r *request) url(base *url.URL) string {
	u := *base
	group := path.Join("apis", r.resource.Group)
	if r.resource.Group == "" {
		group = "api"
	}
	u.Path = path.Join("/", base.Path, group, r.resource.Version, "namespaces", r.namespace, r.resource.Plural, r.name)
	u.RawQuery = r.query.Encode()
	return u.String()
}

// do sends a request and decodes the reply into reply, unless that is nil. A
// server that is too busy is asked again when it says so, as long as it does
// not ask for more patience than one request may take.
func (c *Client) do(ctx context.Context, r *request, reply any) error {
	if err := r.validate(); err != nil {
		return err
	}
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return fmt.Errorf("encoding %s %s/%s: %w", r.resource.Plural, r.namespace, r.name, err)
		}
	}
	for patience := c.timeout; ; {
		later, err := c.send(ctx, r, body, reply)
		if err == nil || later <= 0 || later > patience {
			return err
		}
		patience -= later
		if backoff.Wait(ctx, later) != nil {
			return err
		}
	}
}

// send makes one try. If the server refuses it for now, later is when to ask
// again.
func (c *Client) send(ctx context.Context, r *request, body []byte, reply any) (later time.Duration, err error) {
	done, err := c.budget.take(ctx)
	if err != nil {
		return 0, fmt.Errorf("waiting to %s %s: %w", r.verb, r.resource.Plural, err)
	}
	defer done()
	within, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(within, r.method, r.url(c.base), bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("making a request: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	if r.body != nil {
		req.Header.Set("Content-Type", cmp.Or(r.contentType, "application/json"))
	}
	code, header, content, err := c.exchange(req)
	switch {
	case err != nil && within.Err() != nil && ctx.Err() == nil:
		return 0, fmt.Errorf("no answer within %s: %w", c.timeout, err)
	case err != nil:
		return 0, err
	case code < 200 || code > 299:
		return r.refused(code, header, content)
	case reply == nil:
		return 0, nil
	}
	if err := json.Unmarshal(content, reply); err != nil {
		return 0, fmt.Errorf("reading the reply to %s %s: %w", r.method, req.URL, err)
	}
	return 0, nil
}

// exchange sends a request and reads the reply to its end.
func (c *Client) exchange(req *http.Request) (code int, header http.Header, content []byte, err error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, nil, err //nolint:wrapcheck // it names the method, the URL and what happened
	}
	defer resp.Body.Close() //nolint:errcheck // it was read to its end, or is given up
	if content, err = io.ReadAll(resp.Body); err != nil {
		return 0, nil, nil, fmt.Errorf("reading the reply to %s %s: %w", req.Method, req.URL, err)
	}
	return resp.StatusCode, resp.Header, content, nil
}

// refused makes the error of a reply that is none of success.
func (r *request) refused(code int, header http.Header, content []byte) (later time.Duration, err error) {
	seconds := 0
	if code == http.StatusTooManyRequests || code >= http.StatusInternalServerError {
		later = backoff.Asked(header, time.Now())
		seconds = int(later / time.Second)
	}
	var status metav1.Status
	if json.Unmarshal(content, &status) == nil && status.Kind == "Status" && status.Status != metav1.StatusSuccess {
		if status.Code == 0 {
			status.Code = int32(code) //nolint:gosec // it has three digits
		}
		return later, &apierrors.StatusError{ErrStatus: status}
	}
	return later, apierrors.NewGenericServerResponse(code, r.verb, r.resource.schema(), r.name, excerpt(content), seconds, true)
}

// excerpt is as much of a reply of whoever answered in the server's place as
// fits into an error.
func excerpt(content []byte) string {
	const most = 500
	if len(content) > most {
		content = content[:most]
	}
	return string(bytes.ToValidUTF8(bytes.TrimSpace(content), nil))
}

// StatusCode is that of the server's answer, 0 if err is not one.
func StatusCode(err error) int {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return int(status.Status().Code)
	}
	return 0
}
