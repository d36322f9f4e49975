package trouble

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// logged returns what a logger has got since the last call, without times.
func logged() (*slog.Logger, func() string) {
	var b bytes.Buffer
	h := slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	return slog.New(h), func() string {
		defer b.Reset()
		return strings.TrimSpace(b.String())
	}
}

func TestOneLinePerChange(t *testing.T) {
	logger, lines := logged()
	s := New(logger, slog.LevelError, "it broke", "it works again")
	s.Note(nil)
	require.Empty(t, lines(), "all is well at first")
	s.Note(errors.New("first"), "at", 1)
	require.Equal(t, `level=ERROR msg="it broke" at=1 err=first`, lines())
	require.True(t, s.Present())
	s.Note(errors.New("second"), "at", 2)
	require.Empty(t, lines())
	s.Note(nil, "at", 3)
	require.Equal(t, `level=INFO msg="it works again" at=3`, lines())
	require.False(t, s.Present())
	s.Note(nil, "at", 4)
	require.Empty(t, lines())
}

func TestKindsOfTrouble(t *testing.T) {
	logger, lines := logged()
	s := New(logger, slog.LevelWarn, "odd", "")
	require.True(t, s.Set("a", "kind", "a"))
	require.False(t, s.Set("a", "kind", "a"))
	require.Equal(t, `level=WARN msg=odd kind=a`, lines())
	require.True(t, s.Set("b", "kind", "b"))
	require.Equal(t, `level=WARN msg=odd kind=b`, lines())
	require.True(t, s.Set(""))
	require.Empty(t, lines(), "no text, no line")
	s.NoteIf(true)
	require.Equal(t, `level=WARN msg=odd`, lines())
}

func TestTroubleOfThings(t *testing.T) {
	logger, lines := logged()
	s := New(logger, slog.LevelWarn, "unreadable", "readable again")
	s.NoteOf("records", nil, nil)
	require.Empty(t, lines())
	for _, names := range [][]string{{""}, {"a"}, {"a", "b"}, {"a b"}} {
		s.NoteOf("records", names, errors.New("torn"))
		require.NotEmpty(t, lines(), names)
		s.NoteOf("records", names, errors.New("torn elsewhere"))
		require.Empty(t, lines(), names)
	}
	s.NoteOf("records", []string{"a", "b"}, errors.New("torn"))
	require.Equal(t, `level=WARN msg=unreadable records="[a b]" err=torn`, lines())
	s.NoteOf("records", nil, nil)
	require.Equal(t, `level=INFO msg="readable again"`, lines())
}

// Arguments that are shared by callers are not written over.
func TestArgumentsStay(t *testing.T) {
	logger, lines := logged()
	args := make([]any, 2, 8)
	args[0], args[1] = "a", 1
	New(logger, slog.LevelWarn, "x", "").Note(errors.New("e"), args...)
	require.Equal(t, `level=WARN msg=x a=1 err=e`, lines())
	require.Nil(t, args[:3][2])
}
