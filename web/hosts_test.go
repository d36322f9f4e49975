package web

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKnownHosts(t *testing.T) {
	h := newHosts([]string{"Scaler.Example.com", "*.corp.example"}, "ops.example.net:9880")
	for host, want := range map[string]bool{
		"": true, "localhost:9880": true, "127.0.0.1:9880": true, "[::1]:9880": true, "[fe80::1%25eth0]": true, "10.1.2.3": true,
		"zeta-scaler:9880": true, "zeta-scaler.ns.svc": true, "zeta-scaler.ns.svc.cluster.local:80": true, "host.local.": true,
		"scaler.example.com": true, "SCALER.example.com.:443": true, "a.b.corp.example": true, "ops.example.net": true,
		"evil.example": false, "corp.example": false, "evilcorp.example": false, "scaler.example.com.evil.example": false,
		"localhost.evil.example": false, "127.0.0.1.evil.example:9880": false, "svc.evil.example": false,
	} {
		require.Equal(t, want, h.know(host), host)
	}
	require.True(t, newHosts([]string{"*"}, "").know("evil.example"))
}

// A page of somebody else's whose name is made to lead here reads nothing,
// unless it has a credential, which no browser has for it.
func TestANameThatIsNotOursReadsNothing(t *testing.T) {
	s := listen(t, Options{OpenReads: true, BearerTokensFile: write(t, "tokens", "t0ken\n"), Hosts: []string{"scaler.example.com"}})
	ask := func(method, host, path, token string) int {
		r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		r.Host = host
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		s.protect(echo).ServeHTTP(w, r)
		return w.Code
	}
	require.Equal(t, http.StatusOK, ask("GET", "scaler.example.com", "/", ""))
	require.Equal(t, http.StatusMisdirectedRequest, ask("GET", "evil.example:9880", "/", ""))
	require.Equal(t, http.StatusMisdirectedRequest, ask("GET", "evil.example:9880", "/metrics", "wrong"))
	require.Equal(t, http.StatusOK, ask("GET", "evil.example:9880", "/metrics", "t0ken"), "whoever has a credential may use any name")
	require.Equal(t, http.StatusOK, ask("GET", "evil.example:9880", "/-/healthy", ""), "probes have neither")
	require.Equal(t, http.StatusUnauthorized, ask("POST", "evil.example", "/", "wrong"))

	open := listen(t, Options{OpenReads: true, EnableLifecycle: true})
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/-/reload", nil)
	r.Host = "evil.example"
	_, status, _ := open.refuse(r)
	require.Equal(t, http.StatusMisdirectedRequest, status, "a page could reload us")
	r.Host = "localhost:9880"
	_, status, _ = open.refuse(r)
	require.Zero(t, status)
}
