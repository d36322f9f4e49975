package yarn

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// serviceType is the type of applications that run a service. Zeta's own
// application mode has another, SeaTunnel: its capacity is fixed, and its job
// fails with any worker.
const serviceType = "yarn-service"

// application is what the ResourceManager says about an application.
type application struct {
	ID    string `json:"id"`
	User  string `json:"user"`
	Queue string `json:"queue"`
	Type  string `json:"applicationType"`
}

func (a *Actuator) servicePath() string {
	return a.o.servicesPath() + "/services/" + url.PathEscape(a.o.Service)
}

// read reads the service and the component.
func (a *Actuator) read(ctx context.Context) (*service, *component, error) {
	var s service
	if err := a.client.get(ctx, a.servicePath(), nil, &s); err != nil {
		return nil, nil, a.told("reading service "+a.o.Service, err)
	}
	switch {
	case s.Name != a.o.Service:
		return nil, nil, fmt.Errorf("reading service %s: the reply is about %q: is the URL that of a ResourceManager?", a.o.Service, s.Name)
	case s.State == "STOPPED" || s.State == "SUCCEEDED":
		return nil, nil, a.refused("service %s is %s and has no workers; start it", a.o.Service, s.State)
	case !s.runs():
		return nil, nil, fmt.Errorf("service %s is %s: its ApplicationMaster does not answer yet, so that how many instances it keeps up is not known", a.o.Service, orUnknown(s.State))
	}
	c := s.component(a.o.Component)
	if c == nil {
		return nil, nil, a.refused("service %s has no component %s, only %s; correct component", a.o.Service, a.o.Component, s.names())
	}
	if c.Wanted < 0 {
		return nil, nil, fmt.Errorf("reading %s: its number of containers is %d", a, c.Wanted)
	}
	if err := a.vet(ctx, &s); err != nil {
		return nil, nil, err
	}
	return &s, c, nil
}

// readToWrite is read before a change, which a service that is being upgraded
// would store and not carry out.
func (a *Actuator) readToWrite(ctx context.Context, f actuators.Fence) (*service, *component, error) {
	s, c, err := a.read(ctx)
	if err != nil {
		return nil, nil, err
	}
	if strings.Contains(c.State, "UPGRAD") {
		return nil, nil, fmt.Errorf("changing %s: it is %s; finish the upgrade", a, c.State)
	}
	if other := a.drift(s, c); other != nil && !f.AcceptPresent {
		return nil, nil, other
	}
	return s, c, nil
}

// vet asks the ResourceManager once whose application runs the service, and which
// type it is of. Without an id (a server that leaves it out) nothing is known
// against it.
func (a *Actuator) vet(ctx context.Context, s *service) error {
	a.mu.Lock()
	known := a.vetted == s.ID
	a.mu.Unlock()
	if known || s.ID == "" {
		return nil
	}
	var reply struct {
		App application `json:"app"`
	}
	if err := a.client.get(ctx, rmPath+"/apps/"+url.PathEscape(s.ID), nil, &reply); err != nil {
		return a.told("looking up the application of service "+a.o.Service, err)
	}
	app := reply.App
	switch owner := a.o.owner(); {
	case app.Type != serviceType:
		return a.refused("application %s is of type %q, not %s: an application of Zeta's own has a fixed size and is never scaled", s.ID, app.Type, serviceType)
	case owner != "" && app.User != owner:
		return a.refused("service %s belongs to user %s, and we are %s; correct service or user", a.o.Service, app.User, owner)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.vetted, a.queue = s.ID, app.Queue
	return nil
}

// told says what was done when a reading failed.
func (a *Actuator) told(doing string, err error) error {
	if f, ok := errors.AsType[*failure](err); ok {
		err = f.verdict()
	}
	return fmt.Errorf("%s: %w", doing, err)
}

func orUnknown(state string) string {
	if state == "" {
		return "in no state that we know"
	}
	return state
}

// drift says that somebody else has changed the number since we did; nil if
// nothing speaks for that. What was not written by this process is taken as it
// is, and so is a service that was started anew.
func (a *Actuator) drift(s *service, c *component) *actuators.OtherWriterError {
	if a.book.knows(s.ID, c.Wanted, a.now()) {
		return nil
	}
	return &actuators.OtherWriterError{
		Writer: "whoever flexed " + a.String(),
		Detail: fmt.Sprintf("it keeps up %s, and we asked for %d; one writer only: stop the other, then resume the scope, which accepts the present number",
			scaling.Counted(c.Wanted, "instance"), a.book.last()),
	}
}
