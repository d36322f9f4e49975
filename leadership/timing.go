package leadership

import (
	"fmt"
	"time"
)

// Timing says how long a lease lasts. Each duration is shorter than the one
// before it.
type Timing struct {
	// LeaseDuration is how long the others wait after the last renewal that they
	// saw.
	LeaseDuration time.Duration `yaml:"lease_duration" check:"least=1s"`
	// RenewDeadline is how long after its last renewal a leader still acts.
	RenewDeadline time.Duration `yaml:"renew_deadline" check:"least=1s"`
	// RetryPeriod is how long a leader waits between tries, and up to 2.2 times as
	// long while it does not lead.
	RetryPeriod time.Duration `yaml:"retry_period" check:"least=100ms"`
}

// SetDefaults implements document.Defaulter.
func (t *Timing) SetDefaults() {
	t.LeaseDuration, t.RenewDeadline, t.RetryPeriod = 15*time.Second, 10*time.Second, 2*time.Second
}

// jitter spreads the tries of those who do not lead over 1 to 1 + jitter retry
// periods, so that they do not all come at once.
const jitter = 1.2

// Check says which of the durations do not go together.
func (t *Timing) Check(fail func(key, format string, args ...any)) {
	if t.RenewDeadline >= t.LeaseDuration {
		fail("renew_deadline", "%s is not shorter than lease_duration %s: the old leader could still act while the next one does",
			t.RenewDeadline, t.LeaseDuration)
	}
	if 12*t.RetryPeriod >= 10*t.RenewDeadline {
		fail("retry_period", "%s is too long for renew_deadline %s: expected less than five sixths of it", t.RetryPeriod, t.RenewDeadline)
	}
}

// Complete puts defaults in the place of zeros, and says what is wrong with the
// rest.
func (t *Timing) Complete() error {
	var byDefault Timing
	byDefault.SetDefaults()
	for _, d := range []struct{ value, or *time.Duration }{
		{&t.LeaseDuration, &byDefault.LeaseDuration},
		{&t.RenewDeadline, &byDefault.RenewDeadline},
		{&t.RetryPeriod, &byDefault.RetryPeriod},
	} {
		if *d.value == 0 {
			*d.value = *d.or
		}
	}
	switch {
	case t.LeaseDuration <= t.RenewDeadline:
		return fmt.Errorf("lease duration is %s, expected more than the renew deadline of %s", t.LeaseDuration, t.RenewDeadline)
	case t.RetryPeriod <= 0 || float64(t.RenewDeadline) <= jitter*float64(t.RetryPeriod):
		return fmt.Errorf("renew deadline is %s, expected more than %g times the retry period of %s", t.RenewDeadline, jitter, t.RetryPeriod)
	}
	return nil
}
