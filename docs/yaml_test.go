package docs

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/app/kinds"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/document"
)

// Every configuration on a page can be copied as it is. Files that it names
// by an absolute path are the reader's.
func TestEveryConfigurationIsAccepted(t *testing.T) {
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	section := regexp.MustCompile(`(?m)\A(?:#.*\n)*(web|log|prometheus|embedded|clusters|probe|rule_sets|scopes|scope_defaults|jobs|state|leadership|alerting|events):`)
	named := regexp.MustCompile(`_file: ([^/\s},][^\s},]*)`)
	found := 0
	for _, page := range pages(t) {
		b, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range block.FindAllSubmatch(b, -1) {
			if !section.Match(m[1]) {
				continue
			}
			found++
			dir := t.TempDir()
			for _, f := range named.FindAllSubmatch(m[1], -1) {
				name := filepath.Join(dir, filepath.FromSlash(string(f[1])))
				require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
				require.NoError(t, os.WriteFile(name, []byte("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n"), 0o600))
			}
			name := filepath.Join(dir, "zeta-scaler.yml")
			require.NoError(t, os.WriteFile(name, m[1], 0o600))
			_, err := config.Load(config.Options{Kinds: kinds.All(), File: name, FileRequired: true})
			requireOnlyMissingFiles(t, page, err)
		}
	}
	require.Greater(t, found, 8)
}

func requireOnlyMissingFiles(t *testing.T, page string, err error) {
	t.Helper()
	var list *document.ErrorList
	if !errors.As(err, &list) {
		require.NoError(t, err, page)
		return
	}
	for _, d := range list.Diagnostics {
		require.Equal(t, "file", d.Check, "%s: %s", page, document.Render(list.Diagnostics))
	}
}
