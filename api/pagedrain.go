package api

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// drainsShown is how many drains of a scope that are over are listed.
const drainsShown = 5

// drainsView are a scope's drains, newest first.
type drainsView struct {
	Problem string
	Drains  []drainView
}

type drainView struct {
	ID, Worker, Address, Actuator string
	State                         scaling.DrainState
	Open                          bool
	// For is what asked for it.
	For string
	// Kind is the style of Note, which says how it stands, Todo what a person can
	// do about it.
	Kind, Note, Todo string
	Jobs             []drainJobView
	Harm             string
	Transitions      []transitionView
}

type drainJobView struct {
	ID, Name, Mode string
	Step           scaling.DrainStep
	Downtime       string
	Error          string
}

// drainsView has a scope's drains, and the badges that the latest gives the scope.
func (s *server) drainsView(ctx context.Context, scope string, now time.Time) (v drainsView, badges []badge) {
	if s.Store == nil {
		return v, nil
	}
	page, err := s.drains(ctx, scope, drainsShown)
	if err != nil {
		s.Logger.Error("reading drains for the page failed", "scope", scope, "err", err)
		return drainsView{Problem: unreadable}, nil
	}
	if len(page.Drains) > 0 {
		if b, ok := drainBadge(&page.Drains[0]); ok {
			badges = []badge{b}
		}
	}
	for i := range page.Drains {
		v.Drains = append(v.Drains, drainViewOf(&page.Drains[i], now))
	}
	return v, badges
}

func drainViewOf(d *scaling.Drain, now time.Time) drainView {
	v := drainView{
		ID: d.ID, Worker: cmp.Or(d.Worker, "a worker that is not chosen yet"), Address: d.Address, Actuator: d.Actuator,
		State: d.State, Open: !d.State.Over(), For: askedFor(d), Harm: strings.Join(d.Harm, ", "),
	}
	v.Kind, v.Note, v.Todo = drainNote(d, now)
	for _, j := range d.Jobs {
		v.Jobs = append(v.Jobs, drainJobView{
			ID: j.ID, Name: j.Name, Mode: strings.ToLower(j.Mode), Step: j.Step, Downtime: downtime(&j, now), Error: j.Error,
		})
	}
	for _, t := range d.Transitions {
		v.Transitions = append(v.Transitions, transitionView{State: string(t.State), At: scaling.At(t.At), Reason: t.Reason})
	}
	return v
}

// askedFor says who or what a drain is for.
func askedFor(d *scaling.Drain) string {
	switch {
	case d.RecommendationID != "":
		return "for recommendation " + d.RecommendationID
	case d.By == "" && d.Reason == "":
		return "by hand"
	}
	text := "by " + cmp.Or(d.By, "hand")
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return text
}

// drainNote says how a drain stands that needs more than its state, and what to
// do about it.
func drainNote(d *scaling.Drain, now time.Time) (kind, note, todo string) {
	switch {
	case d.State == scaling.DrainFailed:
		return "alarm", cmp.Or(d.Error, d.GivenUp, "It failed."),
			"A job that was stopped does not run yet. It is restored again and again; its savepoint and its config are kept, and no worker is removed meanwhile. The alert ZetaJobRestoreFailed has the command that does it by hand."
	case d.GivenUp != "" && !d.State.Over():
		return "open", "It goes back: " + d.GivenUp, "What was stopped is restored, and the worker stays."
	case d.State == scaling.DrainActive && d.Failed:
		return "person", "The worker stays: " + cmp.Or(d.GivenUp, d.Error),
			"Every job that was stopped runs again. It is tried again after a back-off, as long as the recommendation stands."
	case d.State == scaling.DrainActive:
		return "plain", "The worker stays: " + cmp.Or(d.GivenUp, d.Error, "it was called off"), ""
	case d.Error != "":
		return "person", d.Error, ""
	case !d.Deadline.IsZero() && d.Deadline.After(now) && !d.State.Over():
		return "plain", "Given up at " + scaling.At(d.Deadline) + " if jobs in batch mode still run there.", ""
	}
	return "", "", ""
}

// downtime is for how long a job did not run, so far if it does not.
func downtime(j *scaling.DrainJob, now time.Time) string {
	if d := j.Downtime(); d > 0 {
		return tenths(d)
	}
	if !j.StopAt.IsZero() && j.Step != scaling.JobFinished {
		return tenths(max(0, now.Sub(j.StopAt))) + " so far"
	}
	return "none"
}

func tenths(d time.Duration) string {
	if d >= time.Minute {
		return span(d.Seconds())
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}

// drainFailureView says in a scope's first card what went wrong with a drain; nil
// for none.
func (st *standing) drainFailureView(ev *scaling.Evaluation, now time.Time) *failureView {
	d := st.drainFailed(ev, now)
	if d == nil {
		return nil
	}
	worker := cmp.Or(d.Worker, "a worker")
	v := &failureView{Error: cmp.Or(d.Error, d.GivenUp), StepsURL: "#drains", RunbookURL: "runbook#zetadrainfailed"}
	if at := d.EnteredAt(); !at.IsZero() {
		v.At, v.Age = scaling.At(at), span(max(0, now.Sub(at).Seconds()))
	}
	stopped := d.Stopped(now)
	switch {
	case len(stopped) > 0:
		v.What = fmt.Sprintf("%s of %s that %s stopped for a drain %s not run", scaling.Counted(len(stopped), "job"), worker,
			scaling.Plural(len(stopped), "was", "were"), scaling.Plural(len(stopped), "does", "do"))
		v.Error = cmp.Or(stopped[0].Error, v.Error, "it is "+string(stopped[0].Step))
	default:
		v.What = fmt.Sprintf("A drain has failed: to remove %s by %s", worker, d.Actuator)
	}
	if len(stopped) > 0 || d.State == scaling.DrainFailed {
		v.RunbookURL = "runbook#zetajobrestorefailed"
		v.Next = "What was stopped is restored again and again by itself, and no worker is removed meanwhile. Mend what the error says; the runbook has the command that restores a job by hand."
		return v
	}
	switch {
	case d.RecommendationID == "":
		v.Next = "The worker stays, and every job that was stopped runs again. Mend what the error says, then ask for the drain again."
	case ev.Recommendation.Action != scaling.ScaleInCandidate && !st.paused(ev, now):
		v.Next = "The worker stays, and every job that was stopped runs again. It is not called for any more, so nothing is tried again."
	default:
		v.Next = "The worker stays, and every job that was stopped runs again. Mend what the error says: it is tried again by itself while it is still called for. Pause the scope to stop that."
		if until := st.drains[ev.Scope.Key].BackoffUntil; until.After(now) {
			v.RetryAt, v.RetryIn = scaling.At(until), left(until, now)
		}
	}
	return v
}

// drainBadge makes a scope stand out whose worker is on its way out, or whose
// drain went wrong.
func drainBadge(d *scaling.Drain) (badge, bool) {
	switch {
	case d == nil, d.State == scaling.DrainDecommissioned, d.State == scaling.DrainActive && !d.Failed:
		return badge{}, false
	case d.State == scaling.DrainFailed:
		return badge{"alarm", "drain failed: " + d.Worker}, true
	case d.State == scaling.DrainActive:
		return badge{"person", "drain went back: " + d.Worker}, true
	}
	words := strings.ToLower(string(d.State))
	if d.State == scaling.DrainPending {
		words = "drain pending"
	}
	return badge{"open", strings.TrimSuffix(words+": "+d.Worker, ": ")}, true
}
