package document

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPosIn finds a mark in scalars of every YAML style.
func TestPosIn(t *testing.T) {
	tests := []struct{ name, yaml string }{
		{"plain", "e: sum by (a) (MARK{x=\"y\"})"},
		{"plain over lines", "e: sum by (a)\n   (\n     MARK)"},
		{"single quotes", "e: 'up{x=\"it''s\"} or MARK'"},
		{"double quotes", `e: "up{x=\"y\", z=~\"a|b\"} or MARK"`},
		{"double quotes over lines", "e: \"up or\n   MARK\""},
		{"double quotes with a line break", `e: "up or\nMARK"`},
		{"literal", "e: |\n  up\n    or\n      MARK\n"},
		{"literal with indentation", "e: |2-\n    up\n  or MARK\n"},
		{"literal after blank lines", "e: |\n\n\n  up or MARK"},
		{"folded", "e: >-\n  up\n  or\n\n  MARK\n  or up"},
		{"nested", "a:\n  - e: {expr: up or MARK}"},
		{"after wide characters", "e: up{x=\"äöü€😀\"} or MARK"},
		{"carriage returns", "e: |\r\n  up or\r\n  MARK\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, n := Parse("", []byte(tt.yaml), ParseOptions{MaxBytes: 1 << 10, MaxDepth: 9})
			require.Empty(t, r.Errors)
			for len(n.Content) > 0 {
				n = n.Content[len(n.Content)-1]
			}
			p := r.PosIn(n, strings.Index(n.Value, "MARK"))
			line, ok := r.Text().Line(p.Line)
			require.True(t, ok)
			require.True(t, strings.HasPrefix(string([]rune(line)[p.Column-1:]), "MARK"), "%s: %q at %d", p, line, p.Column)
		})
	}
}

func TestSnippetOfALongLine(t *testing.T) {
	long := strings.Repeat("a", 500) + "\tX\x1b" + strings.Repeat("b", 500)
	got := newText([]byte(long)).Snippet(Position{Line: 1, Column: 502})
	lines := strings.Split(got, "\n")
	require.Len(t, lines, 2)
	require.NotContains(t, got, "\x1b", "nothing of a file reaches a terminal as a command")
	require.Less(t, len(lines[0]), 150)
	require.Equal(t, 'X', []rune(lines[0])[strings.Index(lines[1], "^")])
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"for", "fro", 1}, {"above", "abve", 1}, {"kitten", "sitting", 3}, {"a", "", 1}} {
		require.Equal(t, tt.want, Distance(tt.a, tt.b), "%s %s", tt.a, tt.b)
		require.Equal(t, tt.want, Distance(tt.b, tt.a), "%s %s", tt.b, tt.a)
	}
}
