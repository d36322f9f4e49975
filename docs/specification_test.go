package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sections are the numbers of the specification's headings.
func sections(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("specification/*.md")
	require.NoError(t, err)
	heading := regexp.MustCompile(`(?m)^#+ (\d+(?:\.\d+)?) `)
	out := map[string]bool{}
	for _, name := range files {
		page, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range heading.FindAllStringSubmatch(string(page), -1) {
			require.False(t, out[m[1]], "section %s is there twice", m[1])
			out[m[1]] = true
		}
	}
	require.NotEmpty(t, out)
	return out
}

// Comments cite the specification as "spec 1.4" or "spec 4.2, 1.8".
func TestCitedSectionsExist(t *testing.T) {
	known := sections(t)
	citation := regexp.MustCompile(`\bspec (\d+(?:\.\d+)?(?:,\s(?://\s)?\d+\.\d+)*)`)
	number := regexp.MustCompile(`\d+(?:\.\d+)?`)
	found := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipFolder(path, d)
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range citation.FindAllStringSubmatch(string(source), -1) {
			for _, n := range number.FindAllString(m[1], -1) {
				found++
				require.True(t, known[n], "%s cites spec %s, which docs/specification does not have", path, n)
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Positive(t, found)
}

// constants are the texts of the constants of package scaling whose names
// begin with a prefix, by name.
func constants(t *testing.T, prefix string) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../scaling/*.go")
	require.NoError(t, err)
	out := map[string]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != len(spec.Names) {
				return true
			}
			for i, id := range spec.Names {
				if value, text := spec.Values[i].(*ast.BasicLit); text && value.Kind == token.STRING && strings.HasPrefix(id.Name, prefix) {
					out[id.Name], err = strconv.Unquote(value.Value)
					require.NoError(t, err)
				}
			}
			return true
		})
	}
	require.NotEmpty(t, out, prefix)
	return out
}

// The words that users meet in API, metrics and messages are in the
// specification: whoever adds one says there what it means.
func TestSpecificationHasEveryWord(t *testing.T) {
	for prefix, name := range map[string]string{
		"Blocker":   "specification/1-evaluation.md",
		"Condition": "specification/4-actuation.md",
		"Verdict":   "specification/4-actuation.md",
		"Action":    "specification/4-actuation.md",
		"Event":     "specification/4-actuation.md",
	} {
		page, err := os.ReadFile(name)
		require.NoError(t, err)
		for constant, word := range constants(t, prefix) {
			require.True(t, quoted(string(page), word), "scaling.%s, `%s`, is not in docs/%s", constant, word, name)
		}
	}
}

// quoted reports whether a word stands in a page as code, alone or among others.
func quoted(page, word string) bool {
	return regexp.MustCompile("`(?:[^`\n]* )?" + regexp.QuoteMeta(word) + "(?: [^`\n]*)?`").MatchString(page)
}
