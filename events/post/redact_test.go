package post

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/events/signature"
)

// A server that answers with the request must not bring our secrets into the
// log.
func TestEchoedSecretsAreTakenOut(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(key, []byte("signing key"), 0o600))
	for name, change := range map[string]func(*promconfig.HTTPClientConfig){
		"basic": func(c *promconfig.HTTPClientConfig) {
			c.BasicAuth = &promconfig.BasicAuth{Username: "ann", Password: "pass word"}
		},
		"bearer": func(c *promconfig.HTTPClientConfig) {
			c.Authorization = &promconfig.Authorization{Type: "Bearer", Credentials: "tok3n-of-ours"}
		},
		"header": func(c *promconfig.HTTPClientConfig) {
			c.HTTPHeaders = &promconfig.Headers{Headers: map[string]promconfig.Header{"X-Api-Key": {Secrets: []promconfig.Secret{"api-key-of-ours"}}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var signed string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				signed = r.Header.Get(signature.Header)
				_, password, _ := r.BasicAuth()
				w.WriteHeader(http.StatusForbidden)
				fmt.Fprint(w, "no: ", password, " ", r.Header.Get("Authorization"), " ", r.Header.Get("X-Api-Key"), " ", signed, " ", r.Header.Get("Idempotency-Key"))
			}))
			defer server.Close()
			c := newClient(t, server.URL, func(o *Options) {
				change(&o.HTTPClientConfig)
				o.SecretFile = key
			})
			reply, err := c.Post(t.Context(), message())
			require.NoError(t, err)
			require.NotEmpty(t, signed)
			for _, secret := range []string{"pass word", base64.StdEncoding.EncodeToString([]byte("ann:pass word")), "tok3n", "api-key", signed} {
				require.NotContains(t, reply.String(), secret)
			}
			require.Contains(t, reply.String(), "<secret>")
			require.Contains(t, reply.String(), "1-2-prod", "what is no secret helps to find the fault")
		})
	}
}

// A server that says what it was asked for must not tell the path, which is the
// secret of many a webhook.
func TestEchoedPathsAreTakenOut(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, "Cannot POST %s: no hook named %s; escaped %s", r.URL.Path, strings.TrimPrefix(r.URL.Path, "/hooks/T01/"), r.URL.EscapedPath())
	}))
	defer server.Close()
	c := newClient(t, server.URL+"/hooks/T01/the-token%20of-our-webhook", nil)
	reply, err := c.Post(t.Context(), message())
	require.NoError(t, err)
	require.Contains(t, reply.String(), "Cannot POST <secret>: no hook named <secret>; escaped <secret>")
}
