package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/stretchr/testify/require"
)

// folder holds the checked-in dashboards.
const folder = ".."

func TestCheckedInDashboardsAreWhatTheGeneratorWrites(t *testing.T) {
	files, err := render()
	require.NoError(t, err)
	checkedIn, err := filepath.Glob(filepath.Join(folder, "*.json"))
	require.NoError(t, err)
	require.Len(t, checkedIn, len(files))
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "%s is not what the generator writes: make generate", name)
	}
}

// strict validates against the SDK's schema. Version 0.0.22 returns an error that holds no errors when all is well.
func strict(text []byte) error {
	var d dashboard.Dashboard
	err := d.UnmarshalJSONStrict(text)
	var found cog.BuildErrors
	if errors.As(err, &found) && len(found) == 0 {
		return nil
	}
	return err
}

func TestDashboardsFitTheSchema(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	files, err := render()
	require.NoError(t, err)
	uids := map[string]string{}
	for name, text := range files {
		require.NoError(t, strict(text), name)
		misspelt := strings.Replace(string(text), `"legendFormat"`, `"legendFromat"`, 1)
		require.Error(t, strict([]byte(misspelt)), "the check notices a misspelt key")
		var d dashboard.Dashboard
		require.NoError(t, json.Unmarshal(text, &d), name)
		require.NoError(t, d.Validate(), name)
		require.NotNil(t, d.Uid)
		require.Empty(t, uids[*d.Uid], "two dashboards with the uid %s", *d.Uid)
		uids[*d.Uid] = name
		require.NotEmpty(t, d.Panels, name)
		for _, p := range d.Panels {
			if p.RowPanel == nil {
				checkPanel(t, name, p.Panel)
			}
		}
	}
}

// checkPanel finds what the SDK does not: unknown kinds, panels off the grid, targets without a name or data source.
func checkPanel(t *testing.T, file string, p *dashboard.Panel) {
	t.Helper()
	require.NotNil(t, p.Title, file)
	where := file + ": " + *p.Title
	_, known := cog.ConfigForPanelcfgVariant(p.Type)
	require.True(t, known, "%s: panel type %s", where, p.Type)
	require.NotNil(t, p.Description, where)
	require.Greater(t, len(*p.Description), 20, where)
	require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, uint32(full), where)
	require.NotNil(t, p.FieldConfig, where)
	require.NotNil(t, p.FieldConfig.Defaults.Unit, where)
	require.Contains(t, []string{count, ratio, seconds, bytes, rate, requests}, *p.FieldConfig.Defaults.Unit, where)
	require.NotEmpty(t, p.Targets, where)
	names := map[string]bool{}
	for _, target := range p.Targets {
		q, ok := target.(prometheus.Dataquery)
		if !ok {
			pointer, isPointer := target.(*prometheus.Dataquery)
			require.True(t, isPointer, "%s: a target is %T", where, target)
			q = *pointer
		}
		require.NotEmpty(t, q.Expr, where)
		require.NotNil(t, q.Datasource, where)
		require.Equal(t, "${datasource}", *q.Datasource.Uid, where)
		require.NotNil(t, q.RefId, where)
		require.False(t, names[*q.RefId], "%s: two targets %s", where, *q.RefId)
		names[*q.RefId] = true
		require.NotContains(t, q.Expr, "\n", where)
	}
}

// Every metric of ours in a query is one that the documentation knows.
func TestQueriesNameDocumentedMetrics(t *testing.T) {
	var known strings.Builder
	pages, err := filepath.Glob(filepath.Join(folder, "..", "docs", "*.md"))
	require.NoError(t, err)
	for _, page := range pages {
		if filepath.Base(page) == "dashboards.md" {
			continue // it may repeat a query
		}
		b, err := os.ReadFile(page)
		require.NoError(t, err)
		known.Write(b)
	}
	// From the packages that count them until their pages are written.
	for _, file := range []string{"actuators/instruments.go", "webhook/instruments.go"} {
		b, err := os.ReadFile(filepath.Join(folder, "..", file))
		require.NoError(t, err)
		known.Write(b)
		// The webhook's metrics are put together from parts.
		for _, m := range regexp.MustCompile(`Name: "([a-z_]+)"|opts\("([a-z_]+)"`).FindAllStringSubmatch(string(b), -1) {
			known.WriteString(" zeta_scaler_webhook_" + m[1] + m[2] + " ")
		}
	}
	ours := regexp.MustCompile(`\b(?:seatunnel_autoscaler|seatunnel_zeta|zeta_scaler)_[a-z_]+`)
	files, err := render()
	require.NoError(t, err)
	for name, text := range files {
		for _, metric := range ours.FindAllString(string(text), -1) {
			require.Contains(t, known.String(), strings.TrimSuffix(metric, "_bucket"), name)
		}
	}
}
