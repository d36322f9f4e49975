// Package docs checks the documentation against the code.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// testNames lists every test function of the repository.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	decl := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	err := filepath.WalkDir("..", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".git") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range decl.FindAllSubmatch(b, -1) {
			names[string(m[1])] = true
		}
		return nil
	})
	require.NoError(t, err)
	return names
}

func TestAcceptanceNamesRealTests(t *testing.T) {
	b, err := os.ReadFile("acceptance.md")
	require.NoError(t, err)
	names := testNames(t)
	for _, m := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(b), -1) {
		require.True(t, names[m[1]], "acceptance.md names %s, which does not exist", m[1])
	}
}

// pages are the Markdown files that a reader meets.
func pages(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"../*.md", "*.md", "adr/*.md"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		out = append(out, files...)
	}
	require.NotEmpty(t, out)
	return out
}

func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range pages(t) {
		b, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			if target == "" {
				target = filepath.Base(page)
			}
			path := filepath.Join(filepath.Dir(page), target)
			content, err := os.ReadFile(path)
			if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
				continue
			}
			require.NoError(t, err, "%s links to %s", page, m[1])
			if anchor != "" && strings.HasSuffix(path, ".md") {
				require.True(t, hasAnchor(string(content), anchor), "%s links to %s, which has no such heading", page, m[1])
			}
		}
	}
}

// hasAnchor reports whether a page has a heading with the given slug.
func hasAnchor(page, anchor string) bool {
	drop := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for line := range strings.SplitSeq(page, "\n") {
		if !strings.HasPrefix(line, "#") {
			continue
		}
		text := strings.TrimSpace(strings.TrimLeft(line, "#"))
		slug := strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(text), ""), " ", "-")
		if slug == anchor {
			return true
		}
	}
	return strings.Contains(page, `id="`+anchor+`"`) || strings.Contains(page, `name="`+anchor+`"`)
}
