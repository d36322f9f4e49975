package signature

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRecipesOfThePage runs what the documentation tells receivers to do.
func TestRecipesOfThePage(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "actuators.md"))
	require.NoError(t, err)
	_, page, found := strings.Cut(string(b), "\n## Signatures\n")
	require.True(t, found)
	block := func(t *testing.T, language string) string {
		_, rest, found := strings.Cut(page, "```"+language+"\n")
		require.True(t, found)
		code, _, _ := strings.Cut(rest, "```")
		return code
	}
	run := func(t *testing.T, program, text string) string {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Skipf("there is no %s", program)
		}
		cmd := exec.CommandContext(t.Context(), path, "-")
		if program == "sh" {
			cmd.Args = []string{"sh"}
		}
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	key, body := "a shared key", `{"verb":"scale"}`
	header := Sign([]byte(key), []byte(body), at)
	require.Contains(t, page, Header+": "+header+"\n")
	_, sum, _ := strings.Cut(header, ",v1=")

	t.Run("openssl", func(t *testing.T) {
		if _, err := exec.LookPath("openssl"); err != nil {
			t.Skip("there is no openssl")
		}
		require.Contains(t, run(t, "sh", block(t, "sh")), sum)
	})
	t.Run("python", func(t *testing.T) {
		got := run(t, "python3", block(t, "python")+`
key, body, at = b"a shared key", b'{"verb":"scale"}', 1767225600
header = "`+header+`"
print(verify(key, header, body, at), verify(key, header, body, at + 300), verify(key, header, body, at + 301),
      verify(key, header, body + b" ", at), verify(b"other", header, body, at),
      verify(key, header.replace(",", ",v1=00,v2=x,"), body, at))
`)
		require.Equal(t, "True True False False False True\n", got)
	})
}
