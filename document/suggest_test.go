package document_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/document"
)

func TestMeant(t *testing.T) {
	scopes := []string{"prod/etl", "prod/ml", "test", "staging"}
	for _, c := range []struct {
		text string
		most int
		want []string
	}{
		{"prod", 3, []string{"prod/etl", "prod/ml"}},
		{"prod", 1, []string{"prod/etl"}},
		{"PROD/ET", 3, []string{"prod/etl"}},
		{"tets", 3, []string{"test"}},
		{"nothing like it", 3, nil},
		{"", 3, nil},
	} {
		got := document.Meant(c.text, scopes, c.most)
		require.Subset(t, scopes, got)
		require.LessOrEqual(t, len(got), c.most)
		for i, want := range c.want {
			require.Equal(t, want, got[i], c.text)
		}
		require.Equal(t, c.want == nil, got == nil, "%s: %v", c.text, got)
	}
}
