package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/dependencies.md lists what go.mod requires directly, with versions, and
// nothing else.
func TestEveryDirectDependencyIsDocumented(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join("..", "go.mod"))
	require.NoError(t, err)
	required := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)$`).FindAllStringSubmatch(string(mod), -1) {
		required[m[1]] = m[2]
	}
	require.Contains(t, required, "github.com/prometheus/prometheus", "go.mod was read")

	page, err := os.ReadFile(filepath.Join("..", "docs", "dependencies.md"))
	require.NoError(t, err)
	documented := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\S+)` \\| (v\\S+) \\|").FindAllStringSubmatch(string(page), -1) {
		documented[m[1]] = m[2]
	}
	require.Equal(t, required, documented)
}

// Prometheus in the end-to-end tests is the one that the service embeds.
func TestPrometheusOfTheTestsIsTheEmbeddedOne(t *testing.T) {
	version := regexp.MustCompile(`github\.com/prometheus/prometheus (v\S+)`)
	var found []string
	for _, file := range []string{filepath.Join("..", "go.mod"), filepath.Join("prom", "go.mod")} {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		m := version.FindSubmatch(b)
		require.NotNil(t, m, file)
		found = append(found, string(m[1]))
	}
	require.Equal(t, found[0], found[1])
}
