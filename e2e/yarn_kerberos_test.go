//go:build e2e && unix

package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/actuators/actuatortest"
	yarnactuator "github.com/zeta-scaler/zeta-scaler/actuators/yarn"
	"github.com/zeta-scaler/zeta-scaler/actuators/yarn/spnego"
	"github.com/zeta-scaler/zeta-scaler/e2e/yarn"
)

// A ResourceManager whose web server wants SPNEGO, and a KDC.
func TestYARNWithKerberos(t *testing.T) {
	t.Parallel()
	kdc := yarn.StartKDC(t, lab)
	server, keys, bobs := kdc.Keytab(t, "HTTP/localhost"), kdc.Keytab(t, "svc"), kdc.Keytab(t, "bob")
	c := yarn.Start(t, lab, yarn.Options{
		Managers: 1,
		Conf: map[string]string{
			"hadoop.http.authentication.type":               "kerberos",
			"hadoop.http.authentication.kerberos.principal": "HTTP/localhost@" + yarn.Realm,
			"hadoop.http.authentication.kerberos.keytab":    server,
		},
		JVM: []string{"-Djava.security.krb5.conf=" + kdc.Config},
	})
	c.URL = strings.Replace(c.URL, "127.0.0.1", "localhost", 1)
	ours := spnego.Options{Principal: "svc@" + yarn.Realm, KeytabFile: keys, ConfigFile: kdc.Config}
	proof, err := spnego.New(ours)
	require.NoError(t, err)
	c.Authorize = proof.Authorize
	c.Create(t, yarn.Definition{Instances: 1})
	s := newYARNSite(t, c)
	as := func(o spnego.Options) func(*yarnactuator.Options) {
		return func(a *yarnactuator.Options) { a.User, a.Kerberos = "", o }
	}

	a := s.actuator(t, as(ours))
	require.NoError(t, a.Scale(t.Context(), yarnTarget, 2, yarnFence(1)))
	s.Stable(t, 2)
	cached := s.actuator(t, as(spnego.Options{CacheFile: kdc.Cache(t, "svc", keys), ConfigFile: kdc.Config}))
	require.NoError(t, cached.Scale(t.Context(), yarnTarget, 3, yarnFence(2)))
	s.agrees(t, 3)

	for name, tc := range map[string]struct {
		as  spnego.Options
		say string
	}{
		"nobody":        {spnego.Options{}, "answered 401 Unauthorized: Authentication required; say who we are"},
		"somebody else": {spnego.Options{Principal: "bob@" + yarn.Realm, KeytabFile: bobs, ConfigFile: kdc.Config}, "service zeta belongs to user svc, and we are bob"},
	} {
		_, err := s.actuator(t, as(tc.as)).Observe(t.Context(), yarnTarget)
		require.ErrorContains(t, err, tc.say, name)
		require.ErrorIs(t, err, actuators.ErrRefused, name)
		t.Logf("%s: %v", name, err)
	}
	stranger := ours
	stranger.Service = "HTTP/nobody"
	_, err = s.actuator(t, as(stranger)).Observe(t.Context(), yarnTarget)
	require.Equal(t, "plain", actuatortest.Kind(err))
	require.ErrorContains(t, err, "kerberos: asking for a ticket for HTTP/nobody: ")
	t.Logf("%v", err)

	kdc.Process.Kill()
	st, err := a.Observe(t.Context(), yarnTarget)
	require.NoError(t, err, "the ticket is still good")
	require.Equal(t, 3, st.Desired)
	_, err = s.actuator(t, as(ours)).Observe(t.Context(), yarnTarget)
	require.Equal(t, "plain", actuatortest.Kind(err))
	require.NotErrorIs(t, err, actuators.ErrRefused)
	t.Logf("%v", err)
}
