package kube_test

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/kube"
)

// kubeconfig writes one with the given cluster and user, in YAML's flow style.
func kubeconfig(t *testing.T, cluster, user string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {%s}}]
users: [{name: u, user: {%s}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
`, cluster, user)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func write(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, []byte(text), 0o700))
}

// credentials answers all requests and keeps what they said who they are.
type credentials struct{ last string }

func (c *credentials) RoundTrip(r *http.Request) (*http.Response, error) {
	c.last = r.Header.Get("Authorization")
	w := httptest.NewRecorder()
	_, _ = w.WriteString("{}")
	return w.Result(), nil
}

func ask(t *testing.T, c *kube.Client) error {
	t.Helper()
	_, err := kube.In[configMap](c, kube.ConfigMaps, "st").Get(t.Context(), "x")
	return err
}

// Kubernetes puts a new token into a pod's file before the old one ends.
func TestATokenFileIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token, got := filepath.Join(t.TempDir(), "token"), &credentials{}
		write(t, token, "first\n")
		c, err := kube.Open(kube.Options{
			Kubeconfig: kubeconfig(t, `server: "https://kube.test"`, fmt.Sprintf("tokenFile: %q", token)),
			Transport:  func(http.RoundTripper) http.RoundTripper { return got },
		})
		require.NoError(t, err)
		require.NoError(t, ask(t, c))
		require.Equal(t, "Bearer first", got.last)
		write(t, token, "second\n")
		time.Sleep(2 * time.Minute)
		require.NoError(t, ask(t, c))
		require.Equal(t, "Bearer second", got.last)
	})
}

// A plugin is run for a token, and again when the server refuses that.
func TestAnExecPluginIsAskedForATokenAgain(t *testing.T) {
	folder := t.TempDir()
	token, plugin := filepath.Join(folder, "token"), filepath.Join(folder, "plugin")
	write(t, token, "first")
	write(t, plugin, fmt.Sprintf(`#!/bin/sh
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%%s"}}' "$(cat %q)"
`, token))
	good, last := "Bearer first", ""
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if last = r.Header.Get("Authorization"); last != good {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(server.Close)
	authority := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	c, err := kube.Open(kube.Options{Kubeconfig: kubeconfig(t,
		fmt.Sprintf("server: %q, certificate-authority-data: %s", server.URL, authority),
		fmt.Sprintf("exec: {apiVersion: client.authentication.k8s.io/v1, command: %q, interactiveMode: Never}", plugin))})
	require.NoError(t, err)
	require.NoError(t, ask(t, c))
	require.Equal(t, good, last)

	write(t, token, "second")
	good = "Bearer second"
	require.Error(t, ask(t, c), "the plugin is run once the server has refused its token")
	require.NoError(t, ask(t, c))
	require.Equal(t, good, last)
}

func TestACertificateOfAnotherAuthorityIsRefused(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	c, err := kube.Open(kube.Options{Kubeconfig: kubeconfig(t, fmt.Sprintf("server: %q", server.URL), "")})
	require.NoError(t, err)
	require.ErrorContains(t, ask(t, c), "certificate signed by unknown authority")
}

func TestAProxyIsUsed(t *testing.T) {
	var asked string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.RequestURI
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(proxy.Close)
	c, err := kube.Open(kube.Options{Kubeconfig: kubeconfig(t, fmt.Sprintf(`server: "http://kube.test", proxy-url: %q`, proxy.URL), "")})
	require.NoError(t, err)
	require.NoError(t, ask(t, c))
	require.Equal(t, "http://kube.test/api/v1/namespaces/st/configmaps/x", asked)
}

func TestWhatCannotBeOpened(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, err := kube.Open(kube.Options{})
	require.ErrorContains(t, err, "not in a pod: set kubeconfig")
	_, err = kube.Open(kube.Options{Kubeconfig: "testdata/none"})
	require.ErrorContains(t, err, "reading kubeconfig testdata/none")
	_, err = kube.Open(kube.Options{Kubeconfig: kubeconfig(t, `server: "https://kube.test"`, "auth-provider: {name: oidc}")})
	require.ErrorContains(t, err, `no Auth Provider found for name "oidc"`)
}
