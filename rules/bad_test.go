package rules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// TestBadFiles reads every testdata/CHECK[--variant].bad.yaml: good.yaml with
// one fault, which that check and no other finds.
func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.bad.yaml")
	require.NoError(t, err)
	covered := map[string]bool{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".bad.yaml")
		check, _, _ := strings.Cut(name, "--")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			ds := findings(t, filepath.Base(file), data)
			for _, d := range ds {
				require.Equal(t, check, d.Check, document.Render(ds))
			}
			require.NotEmpty(t, ds)
			golden(t, name+".bad.txt", []byte(document.Render(ds)))
		})
		covered[check] = true
	}
	for _, c := range Checks() {
		if !strings.HasPrefix(c.Name, "server-") {
			require.True(t, covered[c.Name], "no testdata/%s.bad.yaml", c.Name)
		}
	}
}

// findings are the errors of a file, or its warnings if it has none.
func findings(t *testing.T, name string, data []byte) []document.Diagnostic {
	t.Helper()
	rs, err := Parse(name, data)
	if err == nil {
		for _, d := range rs.Warnings {
			require.Equal(t, document.SeverityWarning, d.Severity)
		}
		return rs.Warnings
	}
	require.Nil(t, rs, "nothing of a bad file is used")
	var list *document.ErrorList
	require.ErrorAs(t, err, &list)
	for _, d := range list.Diagnostics {
		require.Equal(t, document.SeverityError, d.Severity)
	}
	return list.Diagnostics
}

func TestGoodFile(t *testing.T) {
	rs, err := ParseFile("testdata/good.yaml")
	require.NoError(t, err)
	require.Empty(t, rs.Warnings, document.Render(rs.Warnings))
}
