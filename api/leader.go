package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/trouble"
	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

const (
	// leaderKept is for how long it is believed who leads: every read that only the
	// leader can answer asks for it.
	leaderKept = time.Second
	// leaderTimeout bounds what such a read waits for the store.
	leaderTimeout = 3 * time.Second
	// leaderPause is for how long a leader that gave no answer is not asked again,
	// so that not everybody waits for one that hangs.
	leaderPause = 3 * time.Second
)

// leaders knows who leads, as the store has it, and how the leader has answered
// this replica. It is safe for concurrent use.
type leaders struct {
	table *state.Table[state.LeaderRecord]
	// self is the name under which this process leads.
	self  string
	clock func() time.Time
	// asked and read are told once when they begin and when they end.
	asked, read *trouble.State

	mu     sync.Mutex
	record state.LeaderRecord
	err    error
	readAt time.Time
	// answers are those of the leader with that epoch; pausedUntil is when it may
	// be asked again after it gave none.
	epoch       uint64
	answers     *contact.Log
	pausedUntil time.Time
}

func newLeaders(store state.Store, self string, clock func() time.Time, logger *slog.Logger) *leaders {
	return &leaders{
		table: state.Leaders(store), self: self, clock: clock,
		asked: trouble.New(logger, slog.LevelWarn, "the leader gives this replica no answer: reads that only it can answer fail", "the leader answers again"),
		read:  trouble.New(logger, slog.LevelError, "who leads cannot be read", "who leads can be read again"),
	}
}

// now is who leads. While the store does not answer, it is who led before.
func (l *leaders) now(ctx context.Context) (state.LeaderRecord, error) {
	l.mu.Lock()
	if !l.readAt.IsZero() && l.clock().Sub(l.readAt) < leaderKept {
		defer l.mu.Unlock()
		return l.record, l.err
	}
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, leaderTimeout)
	defer cancel()
	row, err := l.table.Get(ctx, state.EpochKey)
	if errors.Is(err, context.Canceled) {
		return row.Value, err // whoever asked is gone
	}
	l.read.Note(err)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readAt, l.err = l.clock(), err
	if err == nil {
		l.record = row.Value
	} else if l.record.Epoch > 0 {
		l.err = nil
	}
	return l.record, l.err
}

// name is that of who leads, empty if nobody knows.
func (l *leaders) name(ctx context.Context) string {
	r, _ := l.now(ctx)
	return r.Holder
}

// target is where the leader is asked; else why says in sentences for people why
// it cannot be.
func (l *leaders) target(ctx context.Context) (u *url.URL, r state.LeaderRecord, why string) {
	r, err := l.now(ctx)
	switch {
	case err != nil:
		return nil, r, "This replica does not lead, and the state store does not say who does."
	case r.Epoch == 0:
		return nil, r, "This replica does not lead, and nobody has yet: one of the replicas will within seconds."
	case r.Holder == l.self:
		return nil, r, fmt.Sprintf("This replica led from %s until a moment ago, and no other one has begun: one will as soon as it gets the lease.", scaling.At(r.Since))
	case r.URL == "":
		return nil, r, fmt.Sprintf("This replica does not lead, and %s has not told where it can be asked: set web.advertise_url of every replica, or ask that one.", who(&r))
	}
	u, err = outgoing.ParseURL(r.URL)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, r, fmt.Sprintf("This replica does not lead, and what %s tells as its address is none: mend its web.advertise_url.", who(&r))
	}
	return u, r, l.paused(&r)
}

// paused says that a leader gave no answer just now, empty if it may be asked.
func (l *leaders) paused(r *state.LeaderRecord) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.epoch != r.Epoch || !l.clock().Before(l.pausedUntil) {
		return ""
	}
	return l.silent(r)
}

// note takes the outcome of asking a leader and returns what people are told of
// an error. Where somebody has spoken, if only to refuse, nobody needs to be kept
// from asking again: it costs no time.
func (l *leaders) note(r *state.LeaderRecord, began time.Time, err error, spoken bool) (why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.epoch != r.Epoch {
		l.epoch, l.answers, l.pausedUntil = r.Epoch, contact.New(r.Holder, r.URL, l.clock), time.Time{}
	}
	if last := l.answers.Status().LastAnswer; err != nil && last != nil && last.After(began) {
		return fmt.Sprintf("This replica does not lead, and %s, at %s, answers others, but not this (%s). Try again.", who(r), r.URL, err)
	}
	l.asked.Note(err, "leader", r.Holder, "url", r.URL)
	l.answers.Note(err)
	if err == nil {
		l.pausedUntil = time.Time{}
		return ""
	}
	if !spoken {
		l.pausedUntil = l.clock().Add(leaderPause)
	}
	return l.silent(r)
}

// silent says of a leader that it gives no answer. The lock is held.
func (l *leaders) silent(r *state.LeaderRecord) string {
	s := l.answers.Status()
	return fmt.Sprintf("This replica does not lead, and %s, at %s, %s. If it is gone, another replica leads soon; "+
		"if it is not, see that this replica gets to that address: web.advertise_url, a firewall or a NetworkPolicy in between.",
		who(r), r.URL, silence(&s))
}

func who(r *state.LeaderRecord) string {
	return fmt.Sprintf("the leader %s (since %s)", r.Holder, scaling.At(r.Since))
}
