package webhook

import (
	"time"

	promconfig "github.com/prometheus/common/config"

	"github.com/zeta-scaler/zeta-scaler/events"
)

// SetDefaults implements document.Defaulter.
func (o *Options) SetDefaults() {
	o.Timeout, o.HTTPClientConfig = DefaultTimeout, promconfig.DefaultHTTPClientConfig
}

// Patience implements events.Maker.
func (o *Options) Patience() time.Duration { return attempts * o.Timeout }

// Make implements events.Maker.
func (o *Options) Make(e events.Env) (events.Handler, error) {
	with := *o
	with.Logger = e.Logger
	h, err := New(with)
	if err != nil {
		return nil, err
	}
	return h, nil
}
