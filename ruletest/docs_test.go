package ruletest

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shown is a marker with the block that it fills.
var shown = regexp.MustCompile("(?s)<!-- shows ([a-z./-]+) -->\n```([a-z]+)\n(.*?)```")

// The reference shows files that are really tested; -update writes it.
func TestDocumentedExamplesAreTheTestedOnes(t *testing.T) {
	const page = "../docs/rule-tests.md"
	doc, err := os.ReadFile(page)
	require.NoError(t, err)
	blocks := 0
	filled := shown.ReplaceAllStringFunc(string(doc), func(block string) string {
		m := shown.FindStringSubmatch(block)
		content, err := os.ReadFile("testdata/" + m[1])
		require.NoError(t, err)
		blocks++
		return "<!-- shows " + m[1] + " -->\n```" + m[2] + "\n" + firstFailure(string(content)) + "```"
	})
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(filled), 0o644))
		return
	}
	require.Equal(t, 3, blocks)
	require.Equal(t, filled, string(doc))
}

// firstFailure cuts a report after its first failure.
func firstFailure(text string) string {
	cut, _, _ := strings.Cut(text, "    line 21")
	return cut
}
