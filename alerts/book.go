package alerts

import (
	"maps"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// retention is for how long a resolved alert is sent again, as in Prometheus:
// an Alertmanager that was away, or that lost it in a restart, still hears of
// it.
const retention = 15 * time.Minute

// alert is one alert that has fired.
//
//	finding lasts `after`          finding is gone              retention is over
//	────────────────────► firing ─────────────────► resolved ──────────────────► forgotten
//	                         ▲                          │
//	                         └──── finding is back ─────┘  (a new alert: startsAt moves)
type alert struct {
	labels   map[string]string
	identity string
	// annotations are those that the store keeps, once it was sent.
	annotations map[string]string
	startsAt    time.Time
	// resolvedAt is zero while the alert is active.
	resolvedAt time.Time
	// sentAt is the tick at which the alert was last sent, zero if it is due.
	sentAt time.Time
}

func (a *alert) active() bool { return a.resolvedAt.IsZero() }

// page is everything that is known about the alerts of one scope.
type page struct {
	scope scaling.Scope
	// latest is the evaluation that the alerts were last judged by, nil for a
	// scope that was read from the store and not evaluated since.
	latest *scaling.Evaluation
	// since has the first tick of every finding that has to last.
	since  map[string]time.Time
	alerts []*alert
	// gone is true for a scope that is judged no more: once its alerts are
	// forgotten, so is the page.
	gone bool
	// version is that of the stored record, 0 if there is none.
	version uint64
}

// observe takes over one evaluation. It returns the alerts that are due and
// whether something has to be stored. Time is the evaluation's tick.
func (p *page) observe(ev *scaling.Evaluation, resendDelay time.Duration) (due []*alert, changed bool) {
	p.scope, p.latest, p.gone = ev.Scope, ev, false
	wanted := p.wanted(ev)
	for _, a := range p.alerts {
		_, want := wanted[a.identity]
		delete(wanted, a.identity)
		switch {
		case want && !a.active():
			*a = alert{labels: a.labels, identity: a.identity, startsAt: ev.Tick}
			changed = true
		case !want && a.active():
			a.resolve(ev.Tick)
			changed = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		p.alerts = append(p.alerts, &alert{labels: wanted[id], identity: id, startsAt: ev.Tick})
		changed = true
	}
	due, forgot := p.due(ev.Tick, resendDelay)
	return due, changed || forgot
}

// wanted are the labels of the alerts that should be active, by identity.
func (p *page) wanted(ev *scaling.Evaluation) map[string]map[string]string {
	wanted := map[string]map[string]string{}
	since := map[string]time.Time{}
	for _, f := range findings(ev) {
		if f.after > 0 {
			first, seen := p.since[f.name]
			if !seen || first.After(ev.Tick) {
				first = ev.Tick
			}
			since[f.name] = first
			if ev.Tick.Sub(first) < f.after && !p.fires(f.name) {
				continue
			}
		}
		if f.goesOn && !p.fires(f.name) {
			continue
		}
		labels := labelsOf(&f, ev)
		wanted[identity(labels)] = labels
	}
	p.since = since
	// A short loss of the worker count keeps the generation, and with it what
	// was asked for (spec 1.9).
	if ev.Recommendation.Row == scaling.RowWorkersUnknown {
		for _, a := range p.alerts {
			if id := a.labels[labelRecommendation]; a.active() && id != "" && id == ev.Recommendation.RecommendationID {
				wanted[a.identity] = a.labels
			}
		}
	}
	return wanted
}

// fires reports whether an alert of that name is active, whatever its severity.
func (p *page) fires(name string) bool {
	return slices.ContainsFunc(p.alerts, func(a *alert) bool { return a.active() && a.labels[labelName] == name })
}

// due takes the alerts that have to be sent at that time and forgets those that
// have been resolved for long enough.
func (p *page) due(at time.Time, resendDelay time.Duration) (due []*alert, forgot bool) {
	p.alerts = slices.DeleteFunc(p.alerts, func(a *alert) bool {
		old := !a.active() && !a.sentAt.IsZero() && at.Sub(a.resolvedAt) >= retention
		forgot = forgot || old
		return old
	})
	for _, a := range p.alerts {
		// A clock that went back must not silence anybody.
		if a.sentAt.IsZero() || a.sentAt.After(at) || at.Sub(a.sentAt) >= resendDelay {
			a.sentAt = at
			due = append(due, a)
		}
	}
	return due, forgot
}

// abandon resolves what is active of a scope that is judged no more.
func (p *page) abandon(now time.Time) (changed bool) {
	p.since, p.gone = nil, true
	for _, a := range p.alerts {
		if a.active() {
			a.resolve(now)
			changed = true
		}
	}
	return changed
}

// resolve ends an alert. Alertmanager refuses one that ends before it starts,
// which a clock that went back would make of it.
func (a *alert) resolve(at time.Time) {
	if at.Before(a.startsAt) {
		at = a.startsAt
	}
	a.resolvedAt, a.sentAt = at, time.Time{}
}

// record is what the store keeps.
func (p *page) record(epoch uint64) state.AlertRecord {
	r := state.AlertRecord{Scope: p.scope, Epoch: epoch}
	for _, a := range p.alerts {
		r.Alerts = append(r.Alerts, state.FiredAlert{
			Labels: a.labels, Annotations: a.annotations, StartsAt: a.startsAt, ResolvedAt: a.resolvedAt,
		})
	}
	return r
}

// pageOf is the reverse of record, without what may be forgotten by now.
func pageOf(r *state.AlertRecord, version uint64, now time.Time) *page {
	p := &page{scope: r.Scope, version: version}
	for _, f := range r.Alerts {
		if !f.ResolvedAt.IsZero() && now.Sub(f.ResolvedAt) >= retention {
			continue
		}
		p.alerts = append(p.alerts, &alert{
			labels: f.Labels, identity: identity(f.Labels), annotations: f.Annotations,
			startsAt: f.StartsAt, resolvedAt: f.ResolvedAt,
		})
	}
	return p
}
