// Package yarn resizes a Zeta cluster whose workers are the instances of one
// component of a YARN service. More workers are a flex of the component; fewer are
// a decommission of instances by name, and never a flex, which would take the
// highest number whatever runs there.
//
// The services API writes every request to the service's definition before it
// looks whether it can be carried out, and answers before it is. So the number in
// the definition can differ from the one that is kept up, and the next start of
// the service's ApplicationMaster goes by the definition: it drops workers, or
// fails for ever. Hence every change begins with asking for the number that is
// kept up already, which changes nothing and tells what the definition has; and
// after every answer that is not plain the service is read, and the two are made
// the same again. Both only while the component is STABLE: while instances start,
// the same request makes the ApplicationMaster lose them. See docs/yarn.md.
package yarn

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

const (
	// pollEvery is how often a service that converges is read. Another request per
	// reading tells why it does not.
	pollEvery = time.Second
	// settleEvery is how often the service is read within one call, while an
	// outcome is found out.
	settleEvery = 500 * time.Millisecond
	// stableWithin is how long a call waits for a component to be STABLE, to set its
	// definition right; after a restart of the ApplicationMaster that takes 2 s.
	stableWithin = 10 * time.Second
	// shownWithin is how long a service may take to show what it has accepted; it
	// takes a tenth of a second. showEvery is how often it is read meanwhile.
	shownWithin = 5 * time.Second
	showEvery   = 100 * time.Millisecond
)

// Actuator changes one component of one service.
type Actuator struct {
	o      Options
	client *client
	logger *slog.Logger
	now    func() time.Time

	capacity capacity

	mu sync.Mutex
	// vetted is the application that was found to be ours, queue is the one that
	// it runs in.
	vetted, queue string

	book book
}

// New makes an actuator. It calls nothing.
func New(o Options) (*Actuator, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("yarn actuator: %w", err)
	}
	c, err := newClient(&o)
	if err != nil {
		return nil, fmt.Errorf("yarn actuator: %w", err)
	}
	if o.Locks == nil {
		o.Locks = new(Locks)
	}
	return &Actuator{o: o, client: c, logger: o.Logger.With("target", o.WritesTo()), now: time.Now}, nil
}

// Capabilities say that services can be read, and any instance be removed.
func (a *Actuator) Capabilities() actuators.Capabilities {
	return actuators.Capabilities{Observes: true, Releases: true, Chooses: true, Lists: true, Poll: pollEvery, Withdraws: a.o.Withdraw}
}

// String names the component, as in "component worker of service zeta".
func (a *Actuator) String() string {
	return fmt.Sprintf("component %s of service %s", a.o.Component, a.o.Service)
}

// Observe reads the component. While the service's ApplicationMaster starts there
// are no numbers, which is an error: nobody has lost a worker by that.
func (a *Actuator) Observe(ctx context.Context, _ actuators.Target) (actuators.State, error) {
	s, c, err := a.read(ctx)
	if err != nil {
		return actuators.State{}, err
	}
	if c.State == stable && a.book.owes(c.Wanted, a.now()) {
		if err := a.settleLater(ctx); err != nil {
			return actuators.State{}, err
		}
	}
	out := actuators.State{Desired: c.Wanted, Ready: c.ready()}
	if other := a.drift(s, c); other != nil {
		out.OtherWriter = other.Writer
	}
	if out.Ready < out.Desired {
		out.Detail = a.shortage(ctx, c)
	} else {
		a.capacity.enough()
	}
	return out, nil
}

// Workers are the instances that have a process, in the order in which a flex
// would remove them. Without worker_port the address is the host alone.
func (a *Actuator) Workers(ctx context.Context, _ actuators.Target) ([]actuators.Worker, error) {
	_, c, err := a.read(ctx)
	if err != nil {
		return nil, err
	}
	out := []actuators.Worker{}
	for _, k := range c.running() {
		w := actuators.Worker{Name: k.name(), Address: k.IP}
		if id := k.id(); a.o.WorkerPort > 0 && id >= 0 && k.IP != "" {
			w.Address = net.JoinHostPort(k.IP, strconv.Itoa(a.o.WorkerPort+id))
		}
		out = append(out, w)
	}
	return out, nil
}

// Scale flexes the component to want instances. One that is STABLE is asked for the
// number that it has first; one that is not is flexed at once.
func (a *Actuator) Scale(ctx context.Context, _ actuators.Target, want int, f actuators.Fence) error {
	if want < 0 || want > math.MaxInt32 {
		return a.refused("scaling %s: %d is no number of instances", a, want)
	}
	unlock, err := a.lock(ctx)
	if err != nil {
		return fmt.Errorf("scaling %s: %w", a, err)
	}
	defer unlock()
	s, c, err := a.readToWrite(ctx, f)
	if err != nil {
		return err
	}
	switch {
	case want < c.Wanted:
		return a.refused("scaling %s: it has %s and would be lowered to %d", a, scaling.Counted(c.Wanted, "instance"), want)
	case f.From != nil && *f.From > c.Wanted:
		return a.refused("scaling %s: it has %s, and Zeta had %s when %d %s asked for: it holds only a part of them", a, scaling.Counted(c.Wanted, "instance"), scaling.Counted(*f.From, "worker"), want, scaling.Plural(want, "was", "were"))
	case want == c.Wanted && (c.State != stable || !a.book.owes(want, a.now())):
		return nil
	}
	if c.State == stable {
		if err := a.confirm(ctx, s, c, want, f); err != nil {
			return err
		}
	}
	if want == c.Wanted {
		return nil
	}
	if err := a.flex(ctx, s, c, want); err != nil {
		return err
	}
	a.logger.InfoContext(ctx, "the component was flexed", "from", c.Wanted, "to", want, "action_id", f.ActionID)
	return nil
}

// Withdraw takes back what of the component's number has not come: it lowers it as
// far as no instance that has a process is removed.
func (a *Actuator) Withdraw(ctx context.Context, _ actuators.Target, f actuators.Fence) (left int, err error) {
	unlock, err := a.lock(ctx)
	if err != nil {
		return 0, fmt.Errorf("taking back the flex of %s: %w", a, err)
	}
	defer unlock()
	s, c, err := a.readToWrite(ctx, f)
	if err != nil {
		return 0, err
	}
	left = c.least()
	if f.From != nil {
		left = max(left, min(*f.From, c.Wanted))
	}
	if left >= c.Wanted {
		return c.Wanted, nil
	}
	if err := a.flex(ctx, s, c, left); err != nil {
		return c.Wanted, err
	}
	a.logger.WarnContext(ctx, "instances that did not come were taken back", "from", c.Wanted, "to", left, "action_id", f.ActionID)
	return left, nil
}

// lock waits for our turn to change the service.
func (a *Actuator) lock(ctx context.Context) (unlock func(), err error) {
	return a.o.Locks.lock(ctx, a.o.Service)
}

// refused makes an error that ends the action.
func (a *Actuator) refused(format string, args ...any) error {
	return fmt.Errorf("%w: %w", actuators.ErrRefused, fmt.Errorf(format, args...))
}
