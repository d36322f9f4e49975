package rules

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/document"
)

func page(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../docs/" + name)
	require.NoError(t, err)
	return string(b)
}

// TestEveryCheckHasASection: each name has one in docs/lints.md, in the order
// of Checks, and no section is about a check that does not exist.
func TestEveryCheckHasASection(t *testing.T) {
	var sections, names []string
	for _, m := range regexp.MustCompile(`(?m)^## (\S+)$`).FindAllStringSubmatch(page(t, "lints.md"), -1) {
		sections = append(sections, m[1])
	}
	for _, c := range Checks() {
		require.Regexp(t, `^[a-z]+(-[a-z0-9]+)*$`, c.Name)
		names = append(names, c.Name)
	}
	require.Equal(t, names, sections)
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(names))), len(names), "a name twice")
}

// TestRuleSetsInTheDocs: the complete examples are what they claim to be.
func TestRuleSetsInTheDocs(t *testing.T) {
	found := 0
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page(t, "rule-sets.md"), -1) {
		if !strings.HasPrefix(m[1], "format:") {
			continue
		}
		found++
		rs, err := Parse("rule-sets.md", []byte(m[1]))
		require.NoError(t, err)
		for _, w := range rs.Warnings {
			// The names of the first example stand for the reader's own.
			require.Contains(t, rs.Name+w.Check, "my-clusters"+CheckSamples, document.Render(rs.Warnings))
		}
	}
	require.Equal(t, 3, found)
}

// TestEveryKeyIsDocumented walks a file that has all of them.
func TestEveryKeyIsDocumented(t *testing.T) {
	data, err := os.ReadFile("testdata/every-key.yaml")
	require.NoError(t, err)
	report, root := document.Parse("", data, document.ParseOptions{MaxBytes: maxFileBytes, MaxDepth: maxDepth})
	require.Empty(t, report.Errors)
	text := page(t, "rule-sets.md")
	keys := map[string]bool{}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		for i, c := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 0 {
				keys[c.Value] = true
			}
			walk(c)
		}
	}
	walk(root)
	require.Greater(t, len(keys), 40)
	for key := range keys {
		require.Regexp(t, "`(workers\\.)?"+key+"[`:]|\\{"+key+": …|, "+key+": …", text, key)
	}
	for _, name := range append(Packs(), exports()...) {
		require.Contains(t, text, "`"+name+"`")
	}
}
