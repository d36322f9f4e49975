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

// The pages show what the demo really prints; -update writes them.
func TestDocumentedTranscriptsAreReal(t *testing.T) {
	shown, doc := transcripts(t, "../docs/demo.md")
	for _, s := range Scenarios() {
		require.True(t, shown[s.Name+".txt"] || shown[s.Name+"-follow.txt"], "scenario %s is not shown", s.Name)
		require.Contains(t, doc, "### "+s.Name+"\n")
	}
	shown, _ = transcripts(t, "../README.md")
	require.Len(t, shown, 1)
}

// transcripts compares the transcripts of a page with the golden files.
func transcripts(t *testing.T, page string) (shown map[string]bool, text string) {
	t.Helper()
	doc, err := os.ReadFile(page)
	require.NoError(t, err)
	shown = map[string]bool{}
	filled := transcript.ReplaceAllStringFunc(string(doc), func(block string) string {
		name := transcript.FindStringSubmatch(block)[1]
		printed, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		shown[name] = true
		return "<!-- transcript " + name + " -->\n```text\n" + string(printed) + "```"
	})
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(filled), 0o644))
		return shown, filled
	}
	require.Equal(t, filled, string(doc))
	return shown, filled
}
