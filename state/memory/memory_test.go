package memory_test

import (
	"testing"

	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
	"github.com/zeta-scaler/zeta-scaler/state/statetest"
)

func TestConformance(t *testing.T) {
	statetest.RunConformance(t, func(t testing.TB) state.Store {
		s := memory.New()
		t.Cleanup(func() { _ = s.Close() })
		return s
	})
}
