package metrics_test

import (
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/events"
	"github.com/zeta-scaler/zeta-scaler/metrics"
)

// What the evaluator asks of those that it tells.
var (
	_ evaluator.Publisher   = (*metrics.Collector)(nil)
	_ evaluator.Publisher   = (*events.Dispatcher)(nil)
	_ evaluator.Instruments = (*metrics.Loop)(nil)
)
