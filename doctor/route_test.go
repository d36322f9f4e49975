package doctor

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tree of Alertmanager's documentation, and what it says becomes of alerts.
func TestRoutes(t *testing.T) {
	r, err := parseRoutes(`route:
  receiver: default
  routes:
    - receiver: database
      match_re: {service: mysql|cassandra}
    - receiver: frontend
      matchers: ['team = "frontend"', 'env != "test"']
      continue: true
      routes:
        - {receiver: pager, matchers: ['severity = page, region =~ "eu.*"']}
        - {matchers: ['severity = "info"']}
    - receiver: hooks
      match: {team: frontend}
receivers:
  - {name: default}
  - name: hooks
    webhook_configs: [{url: http://a/webhook/alertmanager}, {url_file: /run/url}, {url: <secret>}]
`)
	require.NoError(t, err)
	for _, tc := range []struct {
		alert map[string]string
		want  []string
	}{
		{map[string]string{}, []string{"default"}},
		{map[string]string{"service": "mysql"}, []string{"database"}},
		{map[string]string{"service": "mysqld"}, []string{"default"}},
		{map[string]string{"team": "frontend"}, []string{"frontend", "hooks"}},
		{map[string]string{"team": "frontend", "env": "test"}, []string{"hooks"}},
		{map[string]string{"team": "frontend", "severity": "page", "region": "eu-1"}, []string{"pager", "hooks"}},
		{map[string]string{"team": "frontend", "severity": "info"}, []string{"frontend", "hooks"}},
	} {
		require.Equal(t, tc.want, r.receivers(tc.alert), "%v", tc.alert)
	}
	require.Equal(t, []string{"http://a/webhook/alertmanager", hiddenURL, hiddenURL}, r.webhooks("hooks"))
	require.Empty(t, r.webhooks("nobody"))
}

func TestBadRoutes(t *testing.T) {
	for _, text := range []string{"", "[", "receivers: []", "route: {match_re: {a: '('}}", "route: {routes: [{matchers: ['a b']}]}", "route: {matchers: ['a=~\"(\"']}"} {
		_, err := parseRoutes(text)
		require.Error(t, err, "%q", text)
	}
}

// The configuration that is shipped comes back.
func TestShippedRoutesComeBack(t *testing.T) {
	text, err := os.ReadFile("../alerts/alertmanager.yml")
	require.NoError(t, err)
	r, err := parseRoutes(string(text))
	require.NoError(t, err)
	require.Equal(t, []string{"scaler", "team"}, r.receivers(map[string]string{
		"alertname": "ZetaScaleOutRecommended", "recommendation": "1", "severity": "warning",
	}))
}

func FuzzRoutes(f *testing.F) {
	f.Add("route: {receiver: a, routes: [{matchers: ['a=\"b\"'], continue: true}]}")
	f.Add("route: {routes: [null]}")
	f.Fuzz(func(_ *testing.T, text string) {
		if r, err := parseRoutes(text); err == nil {
			r.receivers(map[string]string{"a": "b"})
		}
	})
}
