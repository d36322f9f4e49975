package zeta

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// TestDocsNameEveryMetric compares the table of the documentation with the
// collector: name, labels, nothing more and nothing less.
func TestDocsNameEveryMetric(t *testing.T) {
	doc, err := os.ReadFile("../docs/exporter.md")
	require.NoError(t, err)
	documented := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `seatunnel_zeta_([a-z_]+)(?:\\{([a-z_,]+)\\})?` \\|").FindAllStringSubmatch(string(doc), -1) {
		documented[m[1]] = m[2]
	}
	ch := make(chan *prometheus.Desc, 100)
	newTestCollector(t, &replay{}).Describe(ch)
	close(ch)
	described := map[string]string{}
	parts := regexp.MustCompile(`fqName: "seatunnel_zeta_([a-z_]+)".*variableLabels: \{([a-z_,]*)\}`)
	for desc := range ch {
		m := parts.FindStringSubmatch(desc.String())
		require.NotNil(t, m, desc.String())
		described[m[1]] = m[2]
	}
	require.Equal(t, described, documented)
}

// TestGoldenFilesShowEveryMetric makes sure that none is described and never
// sent.
func TestGoldenFilesShowEveryMetric(t *testing.T) {
	ch := make(chan *prometheus.Desc, 100)
	newTestCollector(t, &replay{}).Describe(ch)
	close(ch)
	entries, err := os.ReadDir("testdata/golden")
	require.NoError(t, err)
	var all strings.Builder
	for _, entry := range entries {
		text, err := os.ReadFile("testdata/golden/" + entry.Name())
		require.NoError(t, err)
		all.Write(text)
	}
	name := regexp.MustCompile(`fqName: "([a-z_]+)"`)
	for desc := range ch {
		metric := name.FindStringSubmatch(desc.String())[1]
		require.True(t, strings.Contains(all.String(), "\n"+metric+"{"), "no file of testdata/golden shows %s", metric) //nolint:testifylint // they are too long to print
	}
}
