package spnego

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/stretchr/testify/require"
)

// With a real KDC it is tested in e2e.
func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name string
		o    Options
		want string
	}{
		{"nobody", Options{}, ""},
		{"a keytab", Options{Principal: "svc@X", KeytabFile: "k"}, ""},
		{"a cache", Options{CacheFile: "c"}, ""},
		{"neither", Options{Principal: "svc@X"}, "kerberos has neither keytab_file nor ticket_cache_file, expected one of them"},
		{"both", Options{Principal: "svc@X", KeytabFile: "k", CacheFile: "c"}, "kerberos has both keytab_file and ticket_cache_file, expected one of them"},
		{"nobody's keytab", Options{KeytabFile: "k"}, `kerberos.principal is "", expected whose keytab it is, such as svc@EXAMPLE.COM`},
		{"no realm", Options{Principal: "svc", KeytabFile: "k"}, `kerberos.principal is "svc", expected whose keytab it is, such as svc@EXAMPLE.COM`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ""
			tc.o.Check(func(key, format string, args ...any) { got += fmt.Sprintf(key+" "+format, args...) })
			require.Equal(t, tc.want, got)
		})
	}
}

func TestUser(t *testing.T) {
	for principal, want := range map[string]string{"": "", "svc@X": "svc", "svc/host@X": "svc", "svc": "svc"} {
		require.Equal(t, want, (&Options{Principal: principal}).User(), principal)
	}
}

func TestMissingFilesAreToldEarly(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "krb5.conf")
	_, err := New(Options{ConfigFile: conf, KeytabFile: "k", Principal: "svc@X"})
	require.ErrorContains(t, err, "kerberos: reading "+conf)
	require.NoError(t, os.WriteFile(conf, []byte("[libdefaults]\n default_realm = X\n"), 0o600))
	missing := filepath.Join(dir, "missing")
	_, err = New(Options{ConfigFile: conf, KeytabFile: missing, Principal: "svc@X"})
	require.ErrorContains(t, err, "kerberos: reading keytab "+missing)
	_, err = New(Options{ConfigFile: conf, CacheFile: missing})
	require.ErrorContains(t, err, "kerberos: reading ticket cache "+missing)
}

// A KDC that does not answer is left when the request's context ends.
func TestAKDCThatHangs(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	dir := t.TempDir()
	conf, keys := filepath.Join(dir, "krb5.conf"), filepath.Join(dir, "keytab")
	require.NoError(t, os.WriteFile(conf, fmt.Appendf(nil, "[libdefaults]\n default_realm = X\n udp_preference_limit = 1\n[realms]\n X = {\n  kdc = %s\n }\n", l.Addr()), 0o600))
	k := keytab.New()
	require.NoError(t, k.AddEntry("svc", "X", "secret", time.Now(), 1, etypeID.AES256_CTS_HMAC_SHA1_96))
	b, err := k.Marshal()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(keys, b, 0o600))
	a, err := New(Options{ConfigFile: conf, KeytabFile: keys, Principal: "svc@X"})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://rm:8088/", http.NoBody)
	require.NoError(t, err)
	err = a.Authorize(ctx, req)
	require.Error(t, err)
	require.ErrorContains(t, err, "kerberos: asking for a ticket for HTTP/rm: ")
	require.Empty(t, req.Header)
}
