package api

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
)

// words has a shell take a command line apart.
func words(t require.TestingT, line string) []string {
	out, err := exec.Command("sh", "-c", "set -- "+line+`; printf '%s\037' "$@"`).CombinedOutput() //nolint:noctx,gosec // that is what is tested
	require.NoError(t, err, string(out))
	return strings.Split(strings.TrimSuffix(string(out), "\x1f"), "\x1f")
}

// Whatever a query has in it, a shell sees the words that were meant and runs
// nothing else.
func TestCurlLinesAreSafe(t *testing.T) {
	at := time.Date(2026, 3, 14, 9, 26, 30, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		query := rapid.StringOf(rapid.SampledFrom([]rune("ab'\"$`\\;|&(){}\n #!~*?=é"))).Draw(t, "query")
		got := words(t, curlLine("http://prom:9090", evaluator.Query{Expr: query, Offset: time.Minute}, at))
		require.Equal(t, []string{
			"curl", "-sG", "http://prom:9090/api/v1/query", "--data-urlencode", "query=" + query,
			"--data-urlencode", "time=2026-03-14T09:25:30Z",
		}, got)
	})
}

func TestCurlLinesHaveNoPassword(t *testing.T) {
	line := curlLine("https://ann:s3cret@prom/base/?x=1", evaluator.Query{Expr: "up"}, time.Unix(0, 0))
	require.NotContains(t, line, "s3cret")
	require.Contains(t, line, "https://ann@prom/base/api/v1/query")
	require.Contains(t, curlLine("://odd'", evaluator.Query{Expr: "up"}, time.Unix(0, 0)), `'://odd'\''/api/v1/query'`)
}
