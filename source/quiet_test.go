package source

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

// The log of what is scraped names hosts, and nothing of an address that may be a
// secret.
func TestLogsOfScrapesAreQuiet(t *testing.T) {
	var b bytes.Buffer
	plain := slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	log := slog.New(quiet{plain}).With("target", "http://u:hunter1@m1:8080/hunter2?x=hunter3")
	log.WithGroup("g").Info("asked https://m2/hunter4", "err", errors.New(`Get "http://m3:1/hunter5?k=hunter6": dial tcp: refused`), "n", 3, "url", "http://m4:9090")
	require.Equal(t, `level=INFO msg="asked https://m2/…" target=http://m1:8080/… g.err="Get \"http://m3:1/…\": dial tcp: refused" g.n=3 g.url=http://m4:9090`+"\n", b.String())
}
