package source

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
)

// behindHost matches a URL with its user and with what is behind its host.
var behindHost = regexp.MustCompile(`([a-z][a-z0-9+.-]*://)([^/\s"'?#@]*@)?([^/\s"'?#@\\]+)([^\s"'\\]*)`)

// quiet takes out of a log what may be a secret in the addresses of jobs: user, path
// and query. Whoever reads a log knows a target by its host.
type quiet struct{ slog.Handler }

// Handle implements slog.Handler.
func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, withoutPaths(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(quietAttr(a))
		return true
	})
	return q.Handler.Handle(ctx, out)
}

// WithAttrs implements slog.Handler.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		out[i] = quietAttr(a)
	}
	return quiet{q.Handler.WithAttrs(out)}
}

// WithGroup implements slog.Handler.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }

func quietAttr(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, withoutPaths(v.String()))
	case slog.KindAny:
		was := fmt.Sprint(v.Any())
		if text := withoutPaths(was); text != was {
			return slog.String(a.Key, text)
		}
	}
	return a
}

func withoutPaths(text string) string {
	return behindHost.ReplaceAllStringFunc(text, func(found string) string {
		m := behindHost.FindStringSubmatch(found)
		if rest := m[4]; m[2] == "" && (rest == "" || rest == "/") {
			return found
		}
		return m[1] + m[3] + "/…"
	})
}
