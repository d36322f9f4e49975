package kinds_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	actuator "github.com/zeta-scaler/zeta-scaler/actuators/kubernetes"
	"github.com/zeta-scaler/zeta-scaler/app/kinds"
	events "github.com/zeta-scaler/zeta-scaler/events/kubernetes"
	store "github.com/zeta-scaler/zeta-scaler/state/kubernetes"
)

// All that ask the API server share one budget, and a configuration that is read
// again is still the same: a reload compares the options.
func TestOneBudgetOfRequests(t *testing.T) {
	all := kinds.All()
	options := func(key string) any {
		for _, k := range all[key] {
			if k.Name == "kubernetes" {
				return k.New()
			}
		}
		return nil
	}
	budget := options("actuator").(*actuator.Options).Budget
	require.NotNil(t, budget)
	require.Same(t, budget, options("actuator").(*actuator.Options).Budget)
	require.Same(t, budget, options("state").(*store.Options).Budget)
	require.Same(t, budget, options("events").(*events.Section).Budget)
}
