package simulate

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/simulate/workload"
)

func TestProcessorsAreSharedAmongWhatIsPlayedAtOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	for name, test := range map[string]struct {
		parallel, ruleSets, workloads, want int
	}{
		"one alone":            {8, 1, 1, 8},
		"no more than are run": {8, 1, 2, 4},
		"one after the other":  {1, 5, 5, 8},
		"three at once":        {3, 2, 2, 2},
		"one for each":         {8, 5, 5, 1},
		"more than processors": {20, 5, 5, 1},
		"models only":          {8, 0, 3, 8},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Parallel: test.parallel, RuleSets: make([]*rules.RuleSet, test.ruleSets), Workloads: make([]*workload.Workload, test.workloads)}
			require.Equal(t, test.want, o.queriesAtOnce())
		})
	}
}
