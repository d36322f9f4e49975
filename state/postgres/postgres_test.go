//go:build unix

package postgres_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	server "github.com/zeta-scaler/zeta-scaler/e2e/postgres"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/postgres"
	"github.com/zeta-scaler/zeta-scaler/state/statetest"
)

// The suite runs on a real server, each test in a schema of its own; it is
// skipped where PostgreSQL is not installed.
func TestConformance(t *testing.T) {
	lab, err := harness.New()
	require.NoError(t, err)
	t.Cleanup(lab.Close)
	s := server.Start(t, lab)
	var schemas atomic.Int64
	statetest.RunConformance(t, func(t testing.TB) state.Store {
		o := postgres.Options{}
		o.SetDefaults()
		o.Hosts, o.Password, o.SSLMode = []string{s.Address}, server.Password, "disable"
		o.Schema = fmt.Sprintf("s%d", schemas.Add(1))
		store, err := postgres.Open(t.Context(), o)
		require.NoError(t, err)
		t.Cleanup(func() { _ = store.Close() })
		return store
	})
}
