package peers

import (
	"time"

	"github.com/zeta-scaler/zeta-scaler/simulate"
)

// Defaults of a ScaledObject: https://keda.sh/docs/latest/reference/scaledobject-spec/
// ("ScaledObject specification").
const (
	kedaPolling  = 30 * time.Second  // pollingInterval
	kedaCooldown = 300 * time.Second // cooldownPeriod
)

// keda is KEDA with one trigger. From 0 to 1 and back it scales itself: up when
// the trigger is active, down when it has not been for the cooldown. From 1 to
// the maximum an HPA scales, on the value that was last polled: that is
// useCachedMetrics, which is not the default; without it, it is hpa-queue from 1 on.
type keda struct {
	hpa *hpa
	// polled is what was seen at the last polling.
	polled     simulate.View
	polledAt   time.Duration
	lastActive time.Duration
	begun      bool
}

func newKEDA() *keda {
	k := &keda{}
	k.hpa = newHPA("keda-queue", func(simulate.View) float64 { return demanded(k.polled) })
	return k
}

func (k *keda) Name() string         { return k.hpa.name }
func (k *keda) Every() time.Duration { return hpaSync }

func (k *keda) Want(v simulate.View) int {
	if !k.begun || v.Now-k.polledAt >= kedaPolling {
		k.begun, k.polled, k.polledAt = true, v, v.Now
		if k.active() {
			k.lastActive = v.Now
		}
	}
	switch current := asked(v); {
	case current == 0 && k.active():
		return max(1, v.Min)
	case current == 0:
		return v.Min
	case v.Min == 0 && !k.active() && v.Now-k.lastActive >= kedaCooldown:
		return 0
	}
	return k.hpa.Want(v)
}

// active reports whether the trigger's value is above its activation value, 0.
func (k *keda) active() bool { return demanded(k.polled) > 0 }
