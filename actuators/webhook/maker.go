package webhook

import (
	"time"

	promconfig "github.com/prometheus/common/config"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/events/post"
)

// SetDefaults implements document.Defaulter.
func (o *Options) SetDefaults() {
	o.Timeout, o.HTTPClientConfig = post.DefaultTimeout, promconfig.DefaultHTTPClientConfig
}

// WritesTo implements actuators.Maker.
func (o *Options) WritesTo() string { return o.Target }

// CallTimeout implements actuators.Maker.
func (o *Options) CallTimeout() time.Duration { return o.Timeout }

// Releases implements actuators.Releaser.
func (o *Options) Releases() bool { return len(o.Workers) > 0 }

// Make implements actuators.Maker.
func (o *Options) Make(e actuators.Env) (actuators.Actuator, error) {
	with := *o
	with.Labels, with.Logger = e.Labels, e.Logger
	a, err := New(with)
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Check reports names and a template that cannot be used.
func (o *Options) Check(fail func(key, format string, args ...any)) {
	actuators.Listed(o.Workers).Check(fail)
	if o.TemplateFile == "" {
		return
	}
	if _, err := loadBody(o.TemplateFile, o.Labels, o.Workers); err != nil {
		fail("template_file", "names a file that cannot be used: %v", err)
	}
}
