package kube_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zeta-scaler/zeta-scaler/kube"
	"github.com/zeta-scaler/zeta-scaler/kube/kubetest"
)

type configMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data"`
}

func named(name string, data map[string]string) *configMap {
	return &configMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"is": name}}, Data: data}
}

func TestObjectsAreWrittenConditionally(t *testing.T) {
	s := kubetest.New()
	objects := kube.In[configMap](s.Client(t, nil), kube.ConfigMaps, "test")
	_, err := objects.Get(t.Context(), "a")
	require.True(t, apierrors.IsNotFound(err))

	first, err := objects.Create(t.Context(), named("a", map[string]string{"k": "1"}))
	require.NoError(t, err)
	require.NotEmpty(t, first.ResourceVersion)
	_, err = objects.Create(t.Context(), named("a", nil))
	require.True(t, apierrors.IsAlreadyExists(err))
	_, err = objects.Create(t.Context(), named("b", nil))
	require.NoError(t, err)

	second, err := objects.Patch(t.Context(), "a", map[string]any{
		"metadata": map[string]any{"resourceVersion": first.ResourceVersion}, "data": map[string]any{"l": "2"},
	})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"k": "1", "l": "2"}, second.Data)
	_, err = objects.Update(t.Context(), "a", first)
	require.True(t, apierrors.IsConflict(err), "it was changed since it was read")
	second.Data = map[string]string{"m": "3"}
	_, err = objects.Update(t.Context(), "a", second)
	require.NoError(t, err)
	third, err := objects.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"m": "3"}, third.Data)

	list, err := objects.List(t.Context(), kube.Select{Labels: "is=a"})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	err = objects.Delete(t.Context(), "a", &metav1.Preconditions{ResourceVersion: &first.ResourceVersion})
	require.True(t, apierrors.IsConflict(err))
	require.NoError(t, objects.Delete(t.Context(), "a", &metav1.Preconditions{ResourceVersion: &third.ResourceVersion}))
	require.NoError(t, objects.Delete(t.Context(), "b", nil))
	list, err = objects.List(t.Context(), kube.Select{})
	require.NoError(t, err)
	require.Empty(t, list.Items)
}

// seen is what a server was asked.
type seen struct{ method, uri, contentType, accept, agent string }

// serve answers all requests with a handler and returns a client.
func serve(t *testing.T, o kube.Options, h http.HandlerFunc) *kube.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	o.Kubeconfig = kubetest.Kubeconfig(t, server.URL+"/behind/a/proxy")
	c, err := kube.Open(o)
	require.NoError(t, err)
	return c
}

func TestRequests(t *testing.T) {
	var got []seen
	c := serve(t, kube.Options{}, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, seen{r.Method, r.RequestURI, r.Header.Get("Content-Type"), r.Header.Get("Accept"), r.UserAgent()})
		_, _ = w.Write([]byte(`{}`))
	})
	require.Equal(t, "test", c.Namespace())
	leases := kube.In[configMap](c, kube.Leases, "st")
	_, err := leases.Update(t.Context(), "a.b", &configMap{})
	require.NoError(t, err)
	_, err = kube.In[configMap](c, kube.ConfigMaps, "st").List(t.Context(), kube.Select{Labels: "a=b", Limit: 2, Continue: "x/y"})
	require.NoError(t, err)
	_, err = leases.Patch(t.Context(), "a", struct{}{})
	require.NoError(t, err)
	const js, agent = "application/json", "zeta-scaler"
	require.Equal(t, []seen{
		{"PUT", "/behind/a/proxy/apis/coordination.k8s.io/v1/namespaces/st/leases/a.b?fieldManager=zeta-scaler", js, js, agent},
		{"GET", "/behind/a/proxy/api/v1/namespaces/st/configmaps?continue=x%2Fy&labelSelector=a%3Db&limit=2", "", js, agent},
		{"PATCH", "/behind/a/proxy/apis/coordination.k8s.io/v1/namespaces/st/leases/a?fieldManager=zeta-scaler", "application/merge-patch+json", js, agent},
	}, got)
	require.Equal(t, "apps/v1", kube.Deployments.APIVersion())
	require.Equal(t, "v1", kube.ConfigMaps.APIVersion())
}

func TestNoNameIsAnotherPath(t *testing.T) {
	c := serve(t, kube.Options{}, func(http.ResponseWriter, *http.Request) { t.Error("asked") })
	for _, name := range []string{"", ".", "..", "a/b", "a%2Fb"} {
		require.Error(t, kube.In[configMap](c, kube.ConfigMaps, "st").Delete(t.Context(), name, nil), "%q", name)
	}
	_, err := kube.In[configMap](c, kube.ConfigMaps, "").List(t.Context(), kube.Select{})
	require.ErrorContains(t, err, "a namespace and a name are needed")
	_, err = kube.In[configMap](c, kube.ConfigMaps, "../..").List(t.Context(), kube.Select{})
	require.ErrorContains(t, err, `name "../.." may not contain '/'`)
}

func TestWhatAReplyMeans(t *testing.T) {
	for _, tc := range []struct {
		name string
		code int
		body string
		is   func(error) bool
		say  string
	}{
		{
			"the server's own words", 403, `{"kind":"Status","status":"Failure","reason":"Forbidden","message":"you may not","code":403}`,
			apierrors.IsForbidden, "you may not",
		},
		{"a status without a code", 404, `{"kind":"Status","status":"Failure","message":"gone"}`, apierrors.IsNotFound, "gone"},
		{"a proxy's words", 502, "<h1>bad gateway</h1>", apierrors.IsInternalError, "bad gateway"},
		{"another proxy's", 401, "who are you", apierrors.IsUnauthorized, "the server has asked for the client to provide credentials"},
		{"nothing", 503, "", apierrors.IsServiceUnavailable, "get configmaps x"},
		{"a redirect", 304, "", func(err error) bool { return err != nil }, "configmaps x"},
		{"no JSON", 200, "hello", func(err error) bool { return err != nil }, "reading the reply to GET http"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := serve(t, kube.Options{}, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.code)
				_, _ = w.Write([]byte(tc.body))
			})
			_, err := kube.In[configMap](c, kube.ConfigMaps, "st").Get(t.Context(), "x")
			require.True(t, tc.is(err), "%v", err)
			require.ErrorContains(t, err, tc.say)
			if tc.code != http.StatusOK {
				require.Equal(t, tc.code, kube.StatusCode(err))
			}
		})
	}
}

func TestALongReplyOfSomebodyElseIsCut(t *testing.T) {
	c := serve(t, kube.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte(strings.Repeat("ä", 10_000)))
	})
	_, err := kube.In[configMap](c, kube.ConfigMaps, "st").Get(t.Context(), "x")
	require.Error(t, err)
	require.Less(t, len(err.Error()), 1000)
}

// answers is a connection whose n-th request gets the n-th status code.
type answers struct {
	codes []int
	after string
	at    []time.Time
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	n := min(len(a.at), len(a.codes)-1)
	a.at = append(a.at, time.Now())
	w := httptest.NewRecorder()
	if a.codes[n] != http.StatusOK {
		w.Header().Set("Retry-After", a.after)
	}
	w.WriteHeader(a.codes[n])
	_, _ = w.WriteString("{}")
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

func TestABusyServerIsAskedAgainWhenItSays(t *testing.T) {
	for _, tc := range []struct {
		name  string
		codes []int
		after string
		at    []time.Duration
		fails bool
	}{
		{"at once", []int{200}, "1", []time.Duration{0}, false},
		{"too many requests", []int{429, 503, 200}, "2", []time.Duration{0, 2 * time.Second, 4 * time.Second}, false},
		{"for ever", []int{429}, "4", []time.Duration{0, 4 * time.Second, 8 * time.Second}, true},
		{"too late", []int{429, 200}, "11", []time.Duration{0}, true},
		{"it does not say when", []int{429, 200}, "", []time.Duration{0}, true},
		{"it says no number", []int{429, 200}, "Fri, 31 Dec 1999 23:59:59 GMT", []time.Duration{0}, true},
		{"it is no question of time", []int{403, 200}, "1", []time.Duration{0}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &answers{codes: tc.codes, after: tc.after}
				c, err := kube.Open(kube.Options{
					Kubeconfig: kubetest.Kubeconfig(t, "http://kube.test"), Transport: func(http.RoundTripper) http.RoundTripper { return a },
				})
				require.NoError(t, err)
				start := time.Now()
				_, err = kube.In[configMap](c, kube.ConfigMaps, "st").Patch(t.Context(), "x", struct{}{})
				require.Equal(t, tc.fails, err != nil, "%v", err)
				at := []time.Duration{}
				for _, moment := range a.at {
					at = append(at, moment.Sub(start))
				}
				require.Equal(t, tc.at, at)
			})
		})
	}
}

func TestAHangingServerIsGivenUp(t *testing.T) {
	c := serve(t, kube.Options{Timeout: 50 * time.Millisecond}, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	_, err := kube.In[configMap](c, kube.ConfigMaps, "st").Get(t.Context(), "x")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "no answer within 50ms")
	require.ErrorContains(t, err, "/api/v1/namespaces/st/configmaps/x")
}

func TestABudgetIsShared(t *testing.T) {
	const all = 40
	arrived := make(chan struct{}, all)
	leave := make(chan struct{})
	budget := kube.NewBudget()
	answer := func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-leave
		_, _ = w.Write([]byte("{}"))
	}
	clients := []*kube.Client{serve(t, kube.Options{Budget: budget}, answer), serve(t, kube.Options{Budget: budget}, answer)}
	done := make(chan error, all)
	for i := range all {
		go func() {
			_, err := kube.In[configMap](clients[i%2], kube.ConfigMaps, "st").Get(t.Context(), "x"+strconv.Itoa(i))
			done <- err
		}()
	}
	for range 8 {
		<-arrived
	}
	select {
	case <-arrived:
		t.Fatal("nine requests at once")
	case <-time.After(50 * time.Millisecond):
	}
	close(leave)
	for range all {
		require.NoError(t, <-done)
	}
	require.Len(t, arrived, all-8)
}
