package api

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNothingTurnsTheDirectionOfWriting(t *testing.T) {
	for in, want := range map[string]string{
		"<p>prod\u202egnirts 2 → 4</p>":                        `<p>prod\u202egnirts 2 → 4</p>`,
		"\u2066a\u2069\u200e\u200f\u061c":                      `\u2066a\u2069\u200e\u200f\u061c`,
		"<form data-scope=\"a\u202eb\"><b>a\u202eb</b></form>": "<form data-scope=\"a\u202eb\"><b>a\\u202eb</b></form>",
		"<p>\u05e9\u05dc\u05d5\u05dd \u00e9 \xff</p>":          "<p>\u05e9\u05dc\u05d5\u05dd \u00e9 \xff</p>",
	} {
		require.Equal(t, want, string(straight([]byte(in))))
	}
	name := "prod\u202e\u2066"
	o := options(t)
	board := o.Board.(*fakeBoard)
	board.evaluations = append(board.evaluations, scaleOut(name))
	require.Contains(t, mainOf(t, o, "/"), `prod\u202e\u2066`)
	for _, n := range pageOf(t, o, "/?scope=prod%E2%80%AE%E2%81%A6") {
		if attribute(n, "id") == "pause" {
			require.Equal(t, name, attribute(n, "data-scope"), "the key is what it is")
		}
	}
}
