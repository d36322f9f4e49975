package scaling

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestQueueHeadInWords(t *testing.T) {
	for want, h := range map[string]QueueHead{
		"job 117": {JobID: "117"},
		"job 117 needs 4 slots, lacks 2, waits 3m": {JobID: "117", RequiredSlots: new(4), LackingSlots: new(2), WaitedSeconds: new(180.0)},
		"job 117 needs 1 slot, lacks 1, waits 12s": {JobID: "117", RequiredSlots: new(1), LackingSlots: new(1), WaitedSeconds: new(12.7)},
		"job 117 lacks 1 slot":                     {JobID: "117", LackingSlots: new(1)},
		"job 117 needs 2 slots, waits 1h30m":       {JobID: "117", RequiredSlots: new(2), WaitedSeconds: new(5400.0)},
		"job 117 waits 0s":                         {JobID: "117", WaitedSeconds: new(0.2)},
	} {
		require.Equal(t, want, h.String())
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 45 * time.Second: "45s", 5 * time.Minute: "5m", time.Hour: "1h", 90 * time.Minute: "1h30m",
		time.Hour + time.Second: "1h0m1s", 10 * time.Minute: "10m", 20 * time.Hour: "20h",
	} {
		require.Equal(t, want, Span(d))
	}
}
