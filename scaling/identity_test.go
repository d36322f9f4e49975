package scaling_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// FuzzParseRecommendationID: whatever is taken for an id is written in the one way in which
// ids are written.
func FuzzParseRecommendationID(f *testing.F) {
	for _, s := range []string{"3-12-default", "1-1-a/b-c", "", "-", "0-1-x", "01-1-x", "+1-1-x", "1--x", "18446744073709551616-1-x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, ok := scaling.ParseRecommendationID(s)
		if ok {
			require.Equal(t, s, scaling.RecommendationID(id.Epoch, id.Generation, id.Scope))
		}
	})
}

func TestParseRecommendationID(t *testing.T) {
	id, ok := scaling.ParseRecommendationID(scaling.RecommendationID(7, 12, "team-a/st"))
	require.True(t, ok)
	require.Equal(t, scaling.Identity{7, 12, "team-a/st"}, id)
	for _, bad := range []string{"", "x", "7-12", "7-12-", "0-1-x", "1-0-x", "01-1-x", "+1-1-x", "-1-1-x", "18446744073709551616-1-x", "1-1-\xff"} {
		_, ok := scaling.ParseRecommendationID(bad)
		require.False(t, ok, bad)
	}
}
