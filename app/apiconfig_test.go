package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/app/kinds"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func loadConfig(t *testing.T, text string) *config.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "zeta-scaler.yml")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "password"), []byte("secret"), 0o600))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	cfg, err := config.Load(config.Options{Kinds: kinds.All(), File: file, FileRequired: true})
	require.NoError(t, err)
	return cfg
}

func TestWhatTheAPIShowsOfTheConfiguration(t *testing.T) {
	cfg := loadConfig(t, `
prometheus: {urls: ["http://prom:9090"], http_config: {basic_auth: {username: ann, password_file: password}}}
scopes:
  - match: {cluster: prod}
    bounds: {max_workers: 8}
`)
	var o api.Options
	running := cfg
	configuredAPI(&o, func() *config.Config { return running }, (&service{}).pageURL, nil)
	require.Equal(t, "http://prom:9090", o.PrometheusURL())
	require.Len(t, o.Settings(), len(cfg.Settings()))

	prod := o.Configured("prod")
	require.True(t, prod.Listed)
	require.Equal(t, 8, prod.Bounds.Max)
	require.Equal(t, api.FromFile, prod.MaxFrom.Origin)
	require.Contains(t, prod.MaxFrom.Source, "zeta-scaler.yml:5:")
	require.Equal(t, scaling.Advisory, prod.Mode)
	require.Equal(t, api.FromDefault, prod.ModeFrom.Origin)
	require.False(t, o.Configured("other").Listed)

	require.NoError(t, o.CheckRuntime("prod", scaling.Bounds{Min: 1, Max: 8}))
	require.ErrorContains(t, o.CheckRuntime("prod", scaling.Bounds{Min: 9, Max: 8}), "greater than max_workers 8")

	rs := cfg.RuleSet("zeta-auto")
	ref := scaling.RuleSetRef{Name: rs.Name, Version: rs.Version, Digest: rs.Digest}
	require.Equal(t, rs.Workers.Current.Text, o.Queries(ref)["workers.current"].Expr)
	ref.Digest = "sha256:of other rules with the same name"
	require.Empty(t, o.Queries(ref))

	// A reload counts at once.
	running = loadConfig(t, "embedded: {}\nweb: {external_url: \"http://scaler:9880\"}\n")
	require.Equal(t, "http://scaler:9880", o.PrometheusURL(), "the service answers queries itself")
	require.False(t, o.Configured("prod").Listed)
}
