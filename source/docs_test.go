package source_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/source"
)

const docs = "../docs/sources.md"

// TestDocsExamplesLoad takes what the page tells operators to write.
func TestDocsExamplesLoad(t *testing.T) {
	page, err := os.ReadFile(docs)
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1)
	require.NotEmpty(t, blocks)
	remotes, embedded := 0, 0
	for _, b := range blocks {
		var file struct {
			Prometheus *struct {
				URLs        []string          `yaml:"urls"`
				Timeout     string            `yaml:"timeout"`
				MaxResponse string            `yaml:"max_response"`
				Headers     map[string]string `yaml:"headers"`
				QueryParams map[string]string `yaml:"query_params"`
				HTTPConfig  yaml.Node         `yaml:"http_config"`
			} `yaml:"prometheus"`
			Embedded *struct {
				Path      string    `yaml:"path"`
				Retention string    `yaml:"retention"`
				Configs   yaml.Node `yaml:"scrape_configs"`
			} `yaml:"embedded"`
		}
		d := yaml.NewDecoder(strings.NewReader(string(b[1])))
		d.KnownFields(true)
		require.NoError(t, d.Decode(&file), "%s", b[1])
		switch {
		case file.Prometheus != nil:
			remotes++
			c := config.DefaultHTTPClientConfig
			if !file.Prometheus.HTTPConfig.IsZero() {
				require.NoError(t, file.Prometheus.HTTPConfig.Decode(&c))
			}
			c.TLSConfig = config.TLSConfig{} // the files are the operator's
			newRemote(t, source.RemoteOptions{URLs: file.Prometheus.URLs, HTTPClientConfig: &c})
		case file.Embedded != nil:
			embedded++
			text, err := yaml.Marshal(&file.Embedded.Configs)
			require.NoError(t, err)
			e, err := source.OpenEmbedded(source.EmbeddedOptions{Path: t.TempDir(), Scrape: source.ScrapeOptions{Configs: string(text)}})
			require.NoError(t, err)
			require.NoError(t, e.Close())
		}
	}
	require.Equal(t, 4, remotes)
	require.Equal(t, 1, embedded)
}

// TestDocsNameEveryReason keeps the page's table and the counter together.
func TestDocsNameEveryReason(t *testing.T) {
	page, err := os.ReadFile(docs)
	require.NoError(t, err)
	reg := prometheus.NewRegistry()
	newRemote(t, source.RemoteOptions{URLs: []string{"http://a"}, Registerer: reg})
	families, err := reg.Gather()
	require.NoError(t, err)
	reasons := map[string]bool{}
	for _, f := range families {
		require.Contains(t, string(page)+"zeta_scaler_query_duration_seconds", f.GetName())
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "reason" {
					reasons[l.GetValue()] = true
				}
			}
		}
	}
	require.Len(t, reasons, 12)
	for r := range reasons {
		require.Contains(t, string(page), "`"+r+"`")
	}
}
