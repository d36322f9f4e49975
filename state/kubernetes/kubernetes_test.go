package kubernetes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/statetest"
)

func openOn(t testing.TB, srv configMaps) *Store {
	t.Helper()
	s, err := open(t.Context(), srv, Options{Namespace: "test"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestConformance(t *testing.T) {
	statetest.RunConformance(t, func(t testing.TB) state.Store { return openOn(t, newServer()) })
}
