package yarn

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators/actuatortest"
)

// standIn is a ResourceManager that answers everything alike, as one that is not
// active does.
type standIn struct {
	url string

	mu    sync.Mutex
	asked []string
}

func newStandIn(t *testing.T, answer http.HandlerFunc) *standIn {
	t.Helper()
	s := new(standIn)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *standIn) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.asked
	s.asked = nil
	return out
}

func redirects(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain;charset=utf-8")
		if to != "" {
			w.Header().Set("Location", to+r.URL.Path+"?"+r.URL.RawQuery)
		} else {
			w.Header().Set("Refresh", "5;url=http://"+r.Host+r.URL.Path)
		}
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
}

func text(status int, media, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// Whatever a manager that is not active answers, the active one is asked, once
// each, and then first.
func TestTheActiveManagerIsFound(t *testing.T) {
	for name, answer := range map[string]func(active string) http.HandlerFunc{
		"a redirect to the active one": redirects,
		"a redirect to itself": func(string) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) { redirects("http://"+r.Host)(w, r) }
		},
		"a redirect elsewhere": func(string) http.HandlerFunc { return redirects("http://login.example/sso") },
		"it knows no active":   func(string) http.HandlerFunc { return redirects("") },
		"none is active": func(string) http.HandlerFunc {
			return text(http.StatusOK, "text/plain", "There is no active RM right now.\nHA Zookeeper Connection State: CONNECTED")
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 2)
			other := newStandIn(t, answer(c.url))
			a := c.actuator(t, func(o *Options) { o.URLs = []string{other.url, c.url} })
			require.NoError(t, a.Scale(t.Context(), target, 3, fence(2)))
			require.Equal(t, []string{"GET /app/v1/services/zeta"}, other.requests(), "it is not asked again")
			c.agrees(t, 3)
		})
	}
}

func TestNoManagerIsActive(t *testing.T) {
	first, second := newStandIn(t, redirects("")), newStandIn(t, text(http.StatusOK, "text/plain", noActive+" right now."))
	a := (&cluster{}).actuator(t, func(o *Options) { o.URLs = []string{first.url, second.url, "http://127.0.0.1:1"} })
	_, err := a.Observe(t.Context(), target)
	require.Equal(t, "plain", actuatortest.Kind(err))
	require.ErrorContains(t, err, "GET /app/v1/services/zeta at 127.0.0.1:1: ")
	require.ErrorContains(t, err, "it knows no active ResourceManager")
	require.ErrorContains(t, err, "There is no active RM right now")
	require.Len(t, first.requests(), 1)
	require.Len(t, second.requests(), 1)
}

// A failover between reading and writing: what a standby was asked was not done.
func TestAFailoverInBetween(t *testing.T) {
	c := newCluster(t, 2)
	other := newStandIn(t, redirects(c.url))
	a := c.actuator(t, func(o *Options) { o.URLs = []string{c.url, other.url} })
	_, err := a.Observe(t.Context(), target)
	require.NoError(t, err)
	c.change(func() { c.before = once(isPut, redirects(other.url)) })
	err = a.Scale(t.Context(), target, 3, fence(2))
	require.Equal(t, "plain", actuatortest.Kind(err), "%v", err)
	c.agrees(t, 2)
	require.NoError(t, a.Scale(t.Context(), target, 3, fence(2)))
	c.agrees(t, 3)
}

// A write that may have arrived is never sent to another manager.
func TestALostWriteIsNotSentTwice(t *testing.T) {
	c := newCluster(t, 2)
	other := newStandIn(t, redirects(c.url))
	a := c.actuator(t, func(o *Options) { o.URLs = []string{c.url, other.url}; o.Timeout = 200 * time.Millisecond })
	c.change(func() {
		c.before = once(flexesTo(3), func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done(); panic(http.ErrAbortHandler) })
	})
	err := a.Scale(t.Context(), target, 3, fence(2))
	require.Equal(t, "unknown", actuatortest.Kind(err), "%v", err)
	require.ErrorContains(t, err, "no reply within 200ms")
	require.Empty(t, other.requests())
}

// Replies that are none of a ResourceManager's, or of another version.
func TestOddReplies(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer http.HandlerFunc
		kind   string
		say    string
	}{
		{"a login page", text(200, "text/html", "<html><title>Sign in</title></html>"), "plain", "it is text/html, expected JSON: Sign in"},
		{"no JSON", text(200, "application/json", "{"), "plain", "its reply cannot be understood: "},
		{"an array", text(200, "application/json", "[]"), "plain", "its reply cannot be understood: "},
		{"about something else", text(200, "application/json", `{"name":"other"}`), "plain", `the reply is about "other"`},
		{"an empty object", text(200, "application/json", `{}`), "plain", `the reply is about ""`},
		{"no such page", text(404, "text/html", "<title>Error 404 Not Found</title>"), "refused", "yarn.webapp.api-service.enable"},
		{"who are you", text(401, "text/html;charset=iso-8859-1", "<title>Error 401 Authentication required</title>"), "refused", "say who we are"},
		{"a page of Jetty as JSON", text(401, "application/json", `{"servlet":"API-Service","message":"Authentication required","status":"401"}`), "refused", "401 Unauthorized: Authentication required; say"},
		{"an error that says nothing", text(500, "application/json", `{"status":"500"}`), "plain", `500 Internal Server Error: {"status":"500"}`},
		{"nobody", text(400, "application/json", `{"exception":"IllegalArgumentException","message":"Null user"}`), "refused", "IllegalArgumentException: Null user; set user"},
		{"a remote exception", text(403, "application/json", `{"RemoteException":{"exception":"ForbiddenException","message":"no"}}`), "refused", "ForbiddenException: no"},
		{"the ApplicationMaster has just ended", text(404, "application/json", `{"diagnostics":"port out of range:-1"}`), "plain", "wait for the next attempt"},
		{"an XML page", text(503, "application/xml", `<RemoteException><exception>WebApplicationException</exception></RemoteException>`), "refused", "does not understand"},
		{"a negative number", text(200, "application/json", `{"name":"zeta","state":"STABLE","components":{"name":"worker","number_of_containers":-1}}`), "plain", "its number of containers is -1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStandIn(t, tc.answer)
			a := (&cluster{url: s.url}).actuator(t, nil)
			_, err := a.Observe(t.Context(), target)
			require.Equal(t, tc.kind, actuatortest.Kind(err), "%v", err)
			require.ErrorContains(t, err, tc.say)
			require.ErrorContains(t, err, "service zeta")
		})
	}
}

// A gateway wants headers of its own; the user goes along.
func TestHeadersAndUser(t *testing.T) {
	var got http.Header
	var query string
	s := newStandIn(t, func(w http.ResponseWriter, r *http.Request) {
		got, query = r.Header.Clone(), r.URL.RawQuery
		text(http.StatusInternalServerError, "text/plain", "your token is "+r.Header.Get("X-Token"))(w, r)
	})
	a := (&cluster{url: s.url + "/gateway/default/yarn/"}).actuator(t, func(o *Options) {
		o.HTTPClientConfig.HTTPHeaders = &promconfig.Headers{Headers: map[string]promconfig.Header{"X-Token": {Secrets: []promconfig.Secret{"very-secret"}}}}
		o.ServicesPath = "services/v1/"
	})
	_, err := a.Observe(t.Context(), target)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "very-secret")
	require.Equal(t, "very-secret", got.Get("X-Token"))
	require.Equal(t, "user.name=svc", query)
	require.Equal(t, []string{"GET /gateway/default/yarn/services/v1/services/zeta"}, s.requests())
}

func TestOptions(t *testing.T) {
	var o Options
	o.SetDefaults()
	require.Equal(t, "/app/v1", o.servicesPath())
	require.True(t, o.Withdraw)
	require.Equal(t, 4*DefaultTimeout+stableWithin, o.CallTimeout())
	require.Greater(t, (&Options{Timeout: time.Second}).CallTimeout(), max(stableWithin, shownWithin), "the least time-out, too, leaves what a call waits for")
	err := o.Validate()
	require.ErrorContains(t, err, "urls: required")
	require.ErrorContains(t, err, "service: required")
	require.ErrorContains(t, err, "component: required")
	_, err = New(Options{URLs: []string{"http://rm", "http://rm"}, Service: "Zeta_1", Component: "work er", User: "a&b", ServicesPath: "/v1?x", Timeout: -1})
	for _, say := range []string{
		`service is "Zeta_1", expected a name`, `component is "work er"`, `user is "a&b"`, "services_path is", "urls names http://rm twice", "timeout -1ns: must not be negative",
	} {
		require.ErrorContains(t, err, say)
	}
	o.URLs, o.Service, o.Component = []string{"ftp://x"}, "zeta", "worker"
	_, err = New(o)
	require.ErrorContains(t, err, "urls: ")
	require.Equal(t, "yarn/zeta/worker", o.WritesTo())
}

// Replies may hold anything.
func FuzzReply(f *testing.F) {
	f.Add(`{"name":"zeta","state":"STABLE","components":[{"name":"worker","number_of_containers":3,"containers":[{"component_instance_name":"worker-9","state":"READY"}],"decommissioned_instances":"worker-1"}]}`)
	f.Add(`{"name":"zeta","state":"STABLE","components":{"name":"worker","number_of_containers":2,"containers":[{"component_name":"-"}]}}`)
	f.Fuzz(func(t *testing.T, body string) {
		var s service
		if json.Unmarshal([]byte(body), &s) != nil || !s.runs() {
			return
		}
		for i := range s.Components {
			c := &s.Components[i]
			if n, running := c.least(), len(c.running()); c.Wanted >= 0 && (n < min(running, c.Wanted) || n > max(c.Wanted, 0)) {
				t.Fatalf("%d wanted, %d running, at least %d", c.Wanted, running, n)
			}
			require.LessOrEqual(t, c.ready(), len(c.Containers))
			_ = strings.Join([]string{s.names(), c.Name}, "")
		}
	})
}
