package rules

import (
	"log/slog"
	"os"
	"regexp"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

func TestExportPrometheus(t *testing.T) {
	for _, name := range Packs() {
		t.Run(name, func(t *testing.T) {
			rs, _, err := Pack(name)
			require.NoError(t, err)
			file, notes, err := ExportPrometheus(rs)
			require.NoError(t, err)
			groups, errs := rulefmt.Parse(file, false, model.LegacyValidation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
			require.Empty(t, errs, string(file))
			require.Len(t, groups.Groups, 1)
			for _, word := range []string{"gaps:", "keep_firing_for:", "validity:"} {
				require.Contains(t, string(file), word)
			}
			require.NotEmpty(t, notes)
			golden(t, "export/"+name+".rules.yml", file)
		})
	}
}

// What is put around an expression is no part of a comment at its end.
func TestExportOfCommentedExpressions(t *testing.T) {
	text, err := os.ReadFile("testdata/good.yaml")
	require.NoError(t, err)
	commented := regexp.MustCompile(`(?m)^( *)expr: (.+)$`).ReplaceAll(text, []byte("${1}expr: |-\n$1  $2 # why"))
	require.NotEqual(t, string(text), string(commented))
	rs, err := Parse("good.yaml", commented)
	require.NoError(t, err)
	file, _, err := ExportPrometheus(rs)
	require.NoError(t, err)
	_, errs := rulefmt.Parse(file, false, model.LegacyValidation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	require.Empty(t, errs, string(file))
}
