package control

import (
	"slices"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/zeta"
)

// Holds reports whether the job is one that Hold has submitted for the worker: as
// far as Zeta tells, it is so in all that makes it one. The name alone is anybody's.
func (j Job) Holds(worker string) bool {
	if j.Name != zeta.HoldPrefix+worker || j.Mode == Batch {
		return false
	}
	for option, ours := range map[string]string{"job.retry.times": "0", "checkpoint.interval": "3600000"} {
		if value, told := j.Env[option]; told && value != ours {
			return false
		}
	}
	other := func(plugins []string, ours string) bool {
		return slices.ContainsFunc(plugins, func(p string) bool { return !strings.EqualFold(p, ours) })
	}
	return !other(j.Sources, "FakeSource") && !other(j.Sinks, "Console")
}
