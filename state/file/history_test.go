package file

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/state"
)

func TestAFilterIsPreparedOnce(t *testing.T) {
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "state.db")})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	text, _ := selectHistory(state.Filter{Scope: "a", Limit: 10})
	first, err := s.statement(t.Context(), text)
	require.NoError(t, err)
	again, err := s.statement(t.Context(), text)
	require.NoError(t, err)
	require.Same(t, first, again)
}
