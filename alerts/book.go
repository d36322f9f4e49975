package alerts

import (
	"maps"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/contact"
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

// scopeAlerts is everything that is known about the alerts of one scope.
type scopeAlerts struct {
	scope scaling.Scope
	// latest is the evaluation that the alerts were last found in, nil for a
	// scope that was read from the store and not evaluated since.
	latest *scaling.Evaluation
	// cluster is how a cluster answered last; nil for a scope.
	cluster *contact.Status
	// since has the first tick of every finding that has to last.
	since  map[string]time.Time
	alerts []*alert
	// gone is true for a scope that is evaluated no more: once its alerts are
	// forgotten, so is the scope.
	gone bool
}

// observe takes over one evaluation. It returns the alerts that are due and
// whether something has to be stored. Time is the evaluation's tick.
func (s *scopeAlerts) observe(ev *scaling.Evaluation, resendDelay time.Duration) (due []*alert, changed bool) {
	s.scope, s.latest, s.gone = ev.Scope, ev, false
	wanted := s.wanted(ev)
	for _, a := range s.alerts {
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
		s.alerts = append(s.alerts, &alert{labels: wanted[id], identity: id, startsAt: ev.Tick})
		changed = true
	}
	due, corrected := s.due(ev.Tick, resendDelay)
	return due, changed || corrected
}

// wanted are the labels of the alerts that should be active, by identity.
func (s *scopeAlerts) wanted(ev *scaling.Evaluation) map[string]map[string]string {
	wanted := map[string]map[string]string{}
	since := map[string]time.Time{}
	for _, f := range findings(ev) {
		if f.after > 0 {
			first, seen := s.since[f.name]
			if !seen || first.After(ev.Tick) {
				first = ev.Tick
			}
			since[f.name] = first
			if ev.Tick.Sub(first) < f.after && !s.fires(f.name) {
				continue
			}
		}
		if f.goesOn && !s.fires(f.name) {
			continue
		}
		labels := labelsOf(&f, ev)
		wanted[identity(labels)] = labels
	}
	s.since = since
	s.keepUnknown(ev, wanted)
	s.keepPage(ActionFailed, wanted)
	// A short loss of the worker count keeps the generation, and with it what
	// was asked for (spec 1.9).
	if ev.Recommendation.Row == scaling.RowWorkersUnknown {
		for _, a := range s.alerts {
			if id := a.labels[labelRecommendation]; a.active() && id != "" && id == ev.Recommendation.RecommendationID {
				wanted[a.identity] = a.labels
			}
		}
	}
	return wanted
}

// keepUnknown keeps what nobody can tell the end of: while the worker count is
// unknown, an alert about a lack is neither over nor less urgent than it was.
func (s *scopeAlerts) keepUnknown(ev *scaling.Evaluation, wanted map[string]map[string]string) {
	if ev.Recommendation.CurrentWorkers != nil {
		return
	}
	for _, a := range s.alerts {
		if !a.active() {
			continue
		}
		switch name := a.labels[labelName]; name {
		case AtMaxWorkers, UnsatisfiableDemand, ScalingIneffective:
			wanted[a.identity] = a.labels
		case MetricsInvalid:
			s.keepPage(name, wanted)
		}
	}
}

// keepPage keeps an alert that lasts as urgent as it was: the severity is a label, and
// another one would be another alert. It may become more urgent, which is news.
func (s *scopeAlerts) keepPage(name string, wanted map[string]map[string]string) {
	for _, a := range s.alerts {
		if !a.active() || a.labels[labelName] != name || a.labels[labelSeverity] != Page {
			continue
		}
		for id, labels := range wanted {
			if labels[labelName] == name && labels[labelSeverity] != Page {
				delete(wanted, id)
				wanted[a.identity] = a.labels
			}
		}
	}
}

// fires reports whether an alert of that name is active, whatever its severity.
func (s *scopeAlerts) fires(name string) bool {
	return slices.ContainsFunc(s.alerts, func(a *alert) bool { return a.active() && a.labels[labelName] == name })
}

// due takes the alerts that have to be sent at that time, puts right what lies
// ahead of it, and forgets what has been resolved for long enough. It reports
// whether something has to be stored.
func (s *scopeAlerts) due(at time.Time, resendDelay time.Duration) (due []*alert, changed bool) {
	// Alertmanager refuses what has begun later than now, with all that came with
	// it, and takes what ends later for active.
	for _, a := range s.alerts {
		if state.Happened(at, &a.startsAt, &a.resolvedAt) {
			a.sentAt, changed = time.Time{}, true
		}
	}
	s.alerts = slices.DeleteFunc(s.alerts, func(a *alert) bool {
		old := !a.active() && !a.sentAt.IsZero() && at.Sub(a.resolvedAt) >= retention
		changed = changed || old
		return old
	})
	for _, a := range s.alerts {
		// A clock that went back must not silence anybody.
		if a.sentAt.IsZero() || a.sentAt.After(at) || at.Sub(a.sentAt) >= resendDelay {
			a.sentAt = at
			due = append(due, a)
		}
	}
	return due, changed
}

// abandon resolves what is active of a scope that is evaluated no more.
func (s *scopeAlerts) abandon(now time.Time) (changed bool) {
	s.since, s.gone = nil, true
	for _, a := range s.alerts {
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
	state.Happened(at, &a.startsAt)
	a.resolvedAt, a.sentAt = at, time.Time{}
}

// record is what the store keeps.
func (s *scopeAlerts) record(f state.Fence) state.AlertRecord {
	r := state.AlertRecord{Scope: s.scope, Epoch: uint64(f)}
	for _, a := range s.alerts {
		r.Alerts = append(r.Alerts, state.FiredAlert{
			Labels: a.labels, Annotations: a.annotations, StartsAt: a.startsAt, ResolvedAt: a.resolvedAt,
		})
	}
	return r
}

// restored is the reverse of record, without what may be forgotten by now.
func restored(r *state.AlertRecord, now time.Time) *scopeAlerts {
	s := &scopeAlerts{scope: r.Scope}
	for _, f := range r.Alerts {
		f.Correct(now)
		if !f.ResolvedAt.IsZero() && now.Sub(f.ResolvedAt) >= retention {
			continue
		}
		s.alerts = append(s.alerts, &alert{
			labels: f.Labels, identity: identity(f.Labels), annotations: f.Annotations,
			startsAt: f.StartsAt, resolvedAt: f.ResolvedAt,
		})
	}
	return s
}
