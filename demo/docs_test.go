package demo

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// transcript is a marker with the block that it fills.
var transcript = regexp.MustCompile("(?s)<!-- transcript ([a-z0-9.-]+) -->\n```text\n(.*?)```")

// The page shows what the demo really prints; -update writes it.
func TestDocumentedTranscriptsAreReal(t *testing.T) {
	const page = "../docs/demo.md"
	doc, err := os.ReadFile(page)
	require.NoError(t, err)
	shown := map[string]bool{}
	filled := transcript.ReplaceAllStringFunc(string(doc), func(block string) string {
		name := transcript.FindStringSubmatch(block)[1]
		printed, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		shown[name] = true
		return "<!-- transcript " + name + " -->\n```text\n" + string(printed) + "```"
	})
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(filled), 0o644))
		return
	}
	require.Equal(t, filled, string(doc))
	for _, s := range Scenarios() {
		require.True(t, shown[s.Name+".txt"] || shown[s.Name+"-follow.txt"], "scenario %s is not shown", s.Name)
		require.Contains(t, string(doc), "### "+s.Name+"\n")
	}
}
