package yarn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/backoff"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// flexBody asks for a number of instances, all in all.
type flexBody struct {
	Name   string `json:"name"`
	Number int    `json:"number_of_containers"`
}

// updating is the reply to a flex. The first number is what the definition had.
var updating = regexp.MustCompile(`size from (\d+) to (\d+)`)

// put asks for a number and returns the one that the definition had before, -1 if
// the reply does not say.
func (a *Actuator) put(ctx context.Context, number int) (had int, err error) {
	q := call{
		path: a.servicePath() + "/components/" + url.PathEscape(a.o.Component),
		body: flexBody{a.o.Component, number},
	}
	r, err := a.client.ask(ctx, q)
	if err != nil {
		return -1, err
	}
	if r.status != http.StatusOK && r.status != http.StatusAccepted {
		return -1, r.failure(q)
	}
	if m := updating.FindStringSubmatch(r.text); m != nil {
		if had, err := strconv.Atoi(m[1]); err == nil {
			return had, nil
		}
	}
	return -1, nil
}

// confirm asks for the number that is kept up already, of a component that is
// STABLE. That changes nothing but the definition, if it had another number, and
// then it is not ours to go on: unless that number is the one that we are about to
// ask for, was ours, or was accepted by an operator.
func (a *Actuator) confirm(ctx context.Context, s *service, c *component, want int, f actuators.Fence) error {
	had, err := a.put(ctx, c.Wanted)
	if err != nil {
		if f, ok := errors.AsType[*failure](err); ok && f.kind == lost {
			a.book.asks(s.ID, c.Wanted, c.Wanted)
			a.book.loses(a.now())
		}
		return a.unchanged(fmt.Sprintf("asking %s for the %s that it has", a, scaling.Counted(c.Wanted, "instance")), err)
	}
	ours := a.book.owes(c.Wanted, a.now()) || a.book.wrote(s.ID, had, a.now())
	a.book.settles(s.ID, c.Wanted)
	if had < 0 || had == c.Wanted || had == want || ours || f.AcceptPresent {
		return nil
	}
	return &actuators.OtherWriterError{
		Writer: "whoever wrote the definition of service " + a.o.Service,
		Detail: fmt.Sprintf("it said %s of component %s, and %d %s kept up: a flex that was refused or not carried out, or a decommission of an instance that was gone. "+
			"The next start of the service's ApplicationMaster would have gone by it. The definition says %d again, and no instance was touched; one writer only: look who wrote it, then resume the scope",
			scaling.Counted(had, "instance"), a.o.Component, c.Wanted, scaling.Plural(c.Wanted, "is", "are"), c.Wanted),
	}
}

// unchanged is the error of a request that could not have changed the number of
// instances, whatever became of it.
func (a *Actuator) unchanged(doing string, err error) error {
	f, ok := errors.AsType[*failure](err)
	switch {
	case !ok:
	case f.kind == lost && f.cause != nil:
		return fmt.Errorf("%s: %w: %w", doing, actuators.ErrUnknownOutcome, err)
	case f.kind == denied, f.kind == gone:
		err = f.verdict()
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// flex asks for a number and finds out what became of it when the answer is not
// plain.
func (a *Actuator) flex(ctx context.Context, s *service, c *component, number int) error {
	doing := fmt.Sprintf("flexing %s from %d to %s", a, c.Wanted, scaling.Counted(number, "instance"))
	a.book.asks(s.ID, c.Wanted, number)
	done := func(now *component) bool { return now.Wanted == number }
	had, err := a.put(ctx, number)
	if err != nil {
		return a.reconcile(ctx, doing, s, c, err, done)
	}
	if had != number {
		a.corrects(ctx, had, c.Wanted)
	}
	if shown, err := a.shows(ctx, done); !shown {
		a.book.loses(a.now())
		return fmt.Errorf("%s: %w: %w", doing, actuators.ErrUnknownOutcome, err)
	}
	a.book.settles(s.ID, number)
	return nil
}

// shows waits until the service shows what was accepted: an answer only says that
// the ApplicationMaster was told.
func (a *Actuator) shows(ctx context.Context, done func(*component) bool) (bool, error) {
	for deadline := a.now().Add(shownWithin); ; {
		_, now, err := a.read(ctx)
		if err == nil && done(now) {
			return true, nil
		}
		if a.now().After(deadline) {
			return false, cmp.Or(err, errors.New("it was accepted, and the service shows no sign of it"))
		}
		if wait := backoff.Wait(ctx, showEvery); wait != nil {
			return false, errors.Join(wait, err)
		}
	}
}

// reconcile says what became of a request that was not answered plainly: nothing
// if it was surely not taken, and else what the service shows. Where it was not
// carried out, the definition is brought back to what is kept up, so that the next
// start of the ApplicationMaster changes nothing.
func (a *Actuator) reconcile(ctx context.Context, doing string, s *service, c *component, cause error, done func(*component) bool) error {
	f, ok := errors.AsType[*failure](cause)
	if !ok {
		return fmt.Errorf("%s: %w", doing, cause)
	}
	switch f.kind {
	case lost:
		a.book.loses(a.now())
		return fmt.Errorf("%s: %w: %w", doing, actuators.ErrUnknownOutcome, f)
	case stored:
	default:
		a.book.settles(s.ID, c.Wanted)
		return fmt.Errorf("%s: %w", doing, f.verdict())
	}
	for deadline := a.now().Add(stableWithin); ; {
		_, now, err := a.read(ctx)
		switch {
		case err == nil && done(now):
			a.book.settles(s.ID, now.Wanted)
			return nil
		case err == nil && now.State == stable:
			if err := a.settle(ctx); err != nil {
				return fmt.Errorf("%s: %w: %w, and the definition could not be set right: %w", doing, actuators.ErrUnknownOutcome, f, err)
			}
			return fmt.Errorf("%s: %w", doing, f)
		case err == nil && a.now().After(deadline): // a later reading sets it right
			return fmt.Errorf("%s: %w, and the definition could not be set right yet: %w", doing, f, a.unstable(now))
		case err == nil:
			err = a.unstable(now)
		}
		if backoff.Wait(ctx, settleEvery) != nil {
			return fmt.Errorf("%s: %w: %w, and then the service could not be read: %w", doing, actuators.ErrUnknownOutcome, f, err)
		}
	}
}

// unstable says why the number that is kept up is not asked for now. While
// instances start, the ApplicationMaster takes such a request for the end of that,
// and then overlooks that they have started: they have a process and never become
// READY.
func (a *Actuator) unstable(c *component) error {
	return fmt.Errorf("%s is %s, and its present number is asked for only while it is %s", a, c.State, stable)
}

// corrects says that a request of ours has overwritten a number in the definition
// that was not kept up.
func (a *Actuator) corrects(ctx context.Context, had, number int) {
	if had >= 0 && had != number {
		a.logger.WarnContext(ctx, "the service's definition had another number than the one that is kept up, and was set right", "had", had, "number", number)
	}
}

// settle writes the number that is kept up to the definition, after a request of
// ours that may have left another one there.
func (a *Actuator) settle(ctx context.Context) error {
	s, c, err := a.read(ctx)
	if err != nil {
		return err
	}
	if c.State != stable {
		return a.unstable(c)
	}
	had, err := a.put(ctx, c.Wanted)
	if err != nil {
		return a.unchanged(fmt.Sprintf("setting the definition of %s right", a), err)
	}
	a.corrects(ctx, had, c.Wanted)
	a.book.settles(s.ID, c.Wanted)
	return nil
}

// settleLater is settle outside a change, once nobody else changes the service. A
// component that is not STABLE waits for a later reading.
func (a *Actuator) settleLater(ctx context.Context) error {
	unlock, err := a.lock(ctx)
	if err != nil {
		return fmt.Errorf("setting the definition of %s right: %w", a, err)
	}
	defer unlock()
	_, c, err := a.read(ctx)
	if err != nil || c.State != stable || !a.book.owes(c.Wanted, a.now()) {
		return err
	}
	return a.settle(ctx)
}
