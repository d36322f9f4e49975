package docs

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recipes are the rows of the tables in CONTRIBUTING.md: where, what, and
// which test fails without it, by the recipe's heading.
func recipes(t *testing.T) map[string][][]string {
	t.Helper()
	page, err := os.ReadFile("../CONTRIBUTING.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(page), "\n## Recipes\n")
	require.True(t, found, "CONTRIBUTING.md has no recipes")
	text, _, _ = strings.Cut(text, "\n## ")
	out := map[string][][]string{}
	name := ""
	for line := range strings.SplitSeq(text, "\n") {
		if heading, is := strings.CutPrefix(line, "### "); is {
			name = heading
		}
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| `") {
			require.Len(t, cells, 3, line)
			out[name] = append(out[name], cells)
		}
	}
	return out
}

// TestRecipesAreTrue: each file of a recipe is there, and each test that is
// said to fail without it.
func TestRecipesAreTrue(t *testing.T) {
	all := recipes(t)
	quoted := regexp.MustCompile("`([^`]+)`")
	names := testNames(t)
	for name, rows := range all {
		tests := 0
		for _, cells := range rows {
			for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
				files, err := filepath.Glob(filepath.Join("..", m[1]))
				require.NoError(t, err)
				require.NotEmpty(t, files, "recipe %q: %s is not there", name, m[1])
			}
			for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
				tests++
				require.True(t, names[m[1]], "recipe %q: there is no %s", name, m[1])
			}
		}
		require.Positive(t, tests, "recipe %q: nothing checks it", name)
	}
	require.Len(t, all, 5)
}

// kindFolders are the folders of the actuators and stores that the
// configuration can choose.
func kindFolders(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../app/kinds/kinds.go", nil, parser.ImportsOnly)
	require.NoError(t, err)
	var out []string
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		folder := strings.TrimPrefix(imported, modulePath)
		if strings.HasPrefix(folder, "actuators/") || strings.HasPrefix(folder, "state/") {
			out = append(out, folder)
		}
	}
	require.NotEmpty(t, out)
	return out
}

// sources is the text of a folder's Go files, tests included.
func sources(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
	require.NoError(t, err)
	var text strings.Builder
	for _, name := range files {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		text.Write(b)
	}
	return text.String()
}

// Every actuator and every store passes the suite of its kind.
func TestEveryKindIsConformant(t *testing.T) {
	for _, folder := range kindFolders(t) {
		text := sources(t, folder)
		suite := "actuatortest.RunConformance("
		if strings.HasPrefix(folder, "state/") {
			suite = "statetest.RunConformance("
		}
		_, _, called := strings.Cut(text, suite)
		require.True(t, called, "no test of %s calls %s…)", folder, suite)
	}
}

// Every actuator and every store is on the page about its kind.
func TestEveryKindIsDescribed(t *testing.T) {
	for _, folder := range kindFolders(t) {
		name := "actuators.md"
		if strings.HasPrefix(folder, "state/") {
			name = "state.md"
		}
		page, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Contains(t, string(page), "`"+filepath.Base(folder)+"`", "docs/%s does not describe %s", name, folder)
	}
}
