package app

import (
	"fmt"
	"os"
	"time"

	"github.com/zeta-scaler/zeta-scaler/events"
)

// eventHandlers are those that the configuration names, and how long one event
// may take.
func (s *service) eventHandlers() (map[string]events.Handler, time.Duration, error) {
	host, _ := os.Hostname() // only a name for people
	env := events.Env{Instance: host, Actuator: s.actuatorOf, Store: s.cfg.Store(), Logger: s.logger}
	for i := range s.cfg.Scopes {
		_, a := s.cfg.Actuator(&s.cfg.Scopes[i])
		env.Actuators = append(env.Actuators, a)
	}
	out, patience := map[string]events.Handler{}, events.DefaultTimeout
	for name, maker := range s.cfg.Handlers() {
		h, err := maker.Make(env)
		if err != nil {
			return nil, 0, fmt.Errorf("events: %s: %w", name, err)
		}
		out[name], patience = h, max(patience, maker.Patience())
	}
	return out, patience, nil
}

// actuatorOf is what the running configuration says about the actuator of a
// scope.
func (s *service) actuatorOf(scope string) any {
	cfg := s.running.Load()
	sc := cfg.Listed(scope)
	if sc == nil {
		return nil
	}
	_, a := cfg.Actuator(sc)
	return a
}
