package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/zeta-scaler/zeta-scaler/backoff"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/trouble"
)

const (
	// headPatience is how long a tick's evaluations wait for the answer, and at most
	// a quarter of an interval.
	headPatience = time.Second
	// headRest is for how long nobody asks after a failure, twice as long after each
	// of several in a row up to headRestMost.
	headRest, headRestMost = time.Minute, 30 * time.Minute
)

// heads names the first job of the queue in the evaluations of scopes that jobs
// wait in, on their way to those who are told of a tick: people want to know
// which job it is. That is evidence and no input. The decisions were taken and
// stored before, and without an answer in time they go on without a name.
//
// There is one query for all scopes of a rule set, at most once a tick, and only
// while jobs wait in one of them.
type heads struct {
	source   evaluator.Source
	patience time.Duration
	next     []evaluator.Publisher
	trouble  *trouble.State

	mu sync.Mutex
	// answers are the newest ones, by the names of rule sets.
	answers  map[string]headAnswer
	failures int
	// rests is the tick up to which nobody asks.
	rests time.Time
}

// headAnswer is what was found at a tick, by scope.
type headAnswer struct {
	tick  time.Time
	found map[string]*scaling.QueueHead
}

func newHeads(s evaluator.Source, patience time.Duration, logger *slog.Logger, next []evaluator.Publisher) *heads {
	return &heads{
		source: s, patience: patience, next: next, answers: map[string]headAnswer{},
		trouble: trouble.New(logger, slog.LevelWarn, "the first jobs of queues cannot be read, decisions go on without their names", "the first jobs of queues are read again"),
	}
}

// Publish implements evaluator.Publisher.
func (h *heads) Publish(ctx context.Context, evaluations []scaling.Evaluation, gone []scaling.Scope) {
	h.name(ctx, evaluations)
	for _, p := range h.next {
		p.Publish(ctx, evaluations, gone)
	}
}

// name adds what is found. The evaluations are of one tick of one rule set, and
// nobody else has them yet.
func (h *heads) name(ctx context.Context, evaluations []scaling.Evaluation) {
	var found map[string]*scaling.QueueHead
	asked := false
	for i := range evaluations {
		ev := &evaluations[i]
		if !jobsWait(ev) {
			continue
		}
		if !asked {
			found, asked = h.at(ctx, ev), true
		}
		ev.FirstInQueue = found[scopeValues(ev.Scope.Labels)]
	}
}

// jobsWait reports whether a condition of the scheduler's class holds.
func jobsWait(ev *scaling.Evaluation) bool {
	if ev.Provisional {
		return false
	}
	for i := range ev.Inputs {
		if in := &ev.Inputs[i]; in.Class == scaling.Blocking && in.Applies && slices.ContainsFunc(in.Windows, holdsOut) {
			return true
		}
	}
	return false
}

func holdsOut(w scaling.Window) bool {
	return w.Direction == scaling.Out && w.Truth == scaling.True.String()
}

// at is what was found at the tick of an evaluation, by scopeValues. A tick of
// many scopes is published in pieces, and asked for once.
func (h *heads) at(ctx context.Context, ev *scaling.Evaluation) map[string]*scaling.QueueHead {
	ruleSet := ev.Recommendation.RuleSet.Name
	h.mu.Lock()
	last, asked := h.answers[ruleSet]
	rests := h.resting(ev.Tick)
	h.mu.Unlock()
	if asked && last.tick.Equal(ev.Tick) {
		return last.found
	}
	if rests {
		return nil
	}
	found, err := h.ask(ctx, ev)
	if ctx.Err() != nil {
		return nil // the term ends
	}
	h.keep(ruleSet, ev.Tick, found, err)
	return found
}

// ask reads the first jobs of all queues at the instant at which the tick's
// expressions were asked for. It calls the question off when it takes too long: a
// time-out would count against Prometheus, and have another replica be asked.
func (h *heads) ask(ctx context.Context, ev *scaling.Evaluation) (map[string]*scaling.QueueHead, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	patience := min(h.patience, time.Duration(ev.Interval*float64(time.Second))/4)
	late := fmt.Errorf("no answer within %s", patience)
	timer := time.AfterFunc(patience, func() { cancel(late) })
	defer cancel(nil)
	defer timer.Stop()
	v, err := h.source.Instant(ctx, headsQuery, ev.AskedAt)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, late) {
		return nil, late
	}
	switch {
	case err != nil:
		return nil, err
	case len(v.Warnings) > 0:
		return nil, errors.New("the answer may be incomplete: " + v.Warnings[0])
	case len(v.Samples) > maxHeadSamples:
		return nil, fmt.Errorf("the answer has %d series, at most %d are read", len(v.Samples), maxHeadSamples)
	}
	names := make([]string, len(ev.Scope.Labels))
	for i, l := range ev.Scope.Labels {
		names[i] = l.Name
	}
	return headsByScope(v.Samples, names, ev.AskedAt), nil
}

// resting reports whether nobody asks at a tick. A clock that was set back does not
// make it rest for longer. The lock is held.
func (h *heads) resting(tick time.Time) bool {
	return tick.Before(h.rests) && h.rests.Sub(tick) <= headRestMost
}

// keep remembers the answer of a tick, also that there was none.
func (h *heads) keep(ruleSet string, tick time.Time, found map[string]*scaling.QueueHead, err error) {
	h.mu.Lock()
	for name, a := range h.answers {
		if tick.Sub(a.tick) > headRestMost {
			delete(h.answers, name) // of a rule set that is not there any more
		}
	}
	h.answers[ruleSet] = headAnswer{tick, found}
	switch {
	case err == nil:
		h.failures, h.rests = 0, time.Time{}
	case !h.resting(tick): // else another rule set has failed at the same time
		h.failures++
		h.rests = tick.Add(backoff.Doubled(headRest, h.failures, headRestMost))
	}
	h.mu.Unlock()
	h.trouble.Note(err)
}
