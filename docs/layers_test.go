package docs

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const modulePath = "github.com/zeta-scaler/zeta-scaler/"

// layer is one row of the table in architecture.md.
type layer struct {
	number int
	// also are packages that this one may import although they are of its own
	// layer.
	also []string
}

// layers reads the table of architecture.md: the package's folder at the top
// of the repository, and where it stands.
func layers(t *testing.T) map[string]layer {
	t.Helper()
	page, err := os.ReadFile("architecture.md")
	require.NoError(t, err)
	row := regexp.MustCompile("(?m)^\\| (\\d) \\| `([\\w/-]+)` \\| [^|]+ \\| ([^|]*) ?\\|$")
	name := regexp.MustCompile("`([\\w/-]+)`")
	out := map[string]layer{}
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		number, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		l := layer{number: number}
		for _, also := range name.FindAllStringSubmatch(m[3], -1) {
			l.also = append(l.also, also[1])
		}
		folder, _, _ := strings.Cut(m[2], "/")
		out[folder] = l
	}
	require.NotEmpty(t, out, "architecture.md has no table of layers")
	return out
}

// refusal says why a file of one folder may not import another, or "".
func refusal(table map[string]layer, from, to string) string {
	if from == to {
		return ""
	}
	mine, known := table[from]
	if !known {
		return from + "/ is in no layer: give it a row in the table of docs/architecture.md"
	}
	other, known := table[to]
	switch {
	case !known:
		return to + "/ is in no layer: give it a row in the table of docs/architecture.md"
	case other.number < mine.number, slices.Contains(mine.also, to):
		return ""
	case other.number == mine.number:
		return from + " and " + to + " are both of layer " + strconv.Itoa(mine.number) +
			": what both need sinks to a layer below, or the table of docs/architecture.md names the import"
	}
	return from + " is of layer " + strconv.Itoa(mine.number) + " and " + to + " of layer " + strconv.Itoa(other.number) +
		": imports run downwards only; declare an interface in " + from + ", or move what both need below it"
}

// A package imports only packages of lower layers, and what lies in its own
// folder. Tests are free: a cycle is refused by Go itself.
func TestImportsRunDownwards(t *testing.T) {
	table := layers(t)
	used := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipFolder(path, d)
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), "../")
		from, _, nested := strings.Cut(name, "/")
		require.True(t, nested, "%s: code lies in a folder", name)
		require.Contains(t, table, from, "%s: %s", name, refusal(table, from, ""))
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			if rest, ours := strings.CutPrefix(imported, modulePath); ours {
				to, _, _ := strings.Cut(rest, "/")
				require.Empty(t, refusal(table, from, to), "%s imports %s", name, rest)
				used[from+" imports "+to] = true
			}
		}
		return nil
	})
	require.NoError(t, err)
	for from, mine := range table {
		for _, to := range mine.also {
			require.True(t, used[from+" imports "+to], "%s does not import %s any more: take it out of the table of docs/architecture.md", from, to)
		}
	}
}

// skipFolder leaves out what is no code of this module: hidden folders, what
// make builds, testdata, and modules of their own.
func skipFolder(path string, d fs.DirEntry) error {
	if path == ".." {
		return nil
	}
	if strings.HasPrefix(d.Name(), ".") || d.Name() == "bin" || d.Name() == "testdata" {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

func TestRefusal(t *testing.T) {
	table := map[string]layer{
		"words": {number: 0},
		"left":  {number: 1},
		"right": {number: 1, also: []string{"left"}},
		"top":   {number: 2},
	}
	for _, c := range []struct{ from, to, want string }{
		{"top", "words", ""},
		{"left", "left", ""},
		{"right", "left", ""},
		{"left", "right", "both of layer 1"},
		{"left", "top", "imports run downwards only"},
		{"new", "words", "new/ is in no layer"},
		{"top", "new", "new/ is in no layer"},
	} {
		got := refusal(table, c.from, c.to)
		if c.want == "" {
			require.Empty(t, got, "%s imports %s", c.from, c.to)
			continue
		}
		require.Contains(t, got, c.want, "%s imports %s", c.from, c.to)
	}
}
