package drain

import (
	"context"
	"fmt"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// Plan finds out what a drain would do now that a person asks for, of the worker
// of that name or of the one that would be chosen if it is empty. It looks at
// platform and cluster as a drain does and changes nothing. It fails as Request
// does, but for ErrRefused: the plan says what is in the way.
func (x *Drainer) Plan(ctx context.Context, scopeKey, worker string) (scaling.DrainPlan, error) {
	if err := x.records.Leads(); err != nil {
		return scaling.DrainPlan{}, err
	}
	s := x.scopes.Get(scopeKey)
	if s == nil || s.Config.Load() == nil {
		return scaling.DrainPlan{}, fmt.Errorf("%w: %s", ErrNoScope, scaling.ShownKey(scopeKey))
	}
	row, err := x.records.Get(ctx, s.Key())
	if err != nil {
		return scaling.DrainPlan{}, err
	}
	v := x.view(s)
	if v.stored, err = readStored(ctx, x.o.Store, s.Key()); err != nil {
		return scaling.DrainPlan{}, err
	}
	v.busy = x.busyWith(s)
	p := scaling.DrainPlan{Scope: s.Key(), Worker: worker, Actuator: v.cfg.Kind, Jobs: []scaling.PlannedJob{}}
	if p.Against = v.againstRequest(&row.Value); !v.listed() {
		return p, nil
	}
	x.plan(ctx, v, row.Value, &p)
	return p, ctx.Err()
}

// againstRequest says why a person's request would not be taken up now; empty if
// it would.
func (v *view) againstRequest(r *state.DrainRecord) string {
	switch {
	case v.off() != "":
		return v.off()
	case v.stored.PausedAt(v.now):
		return "the scope is paused"
	case r.Open != nil && (r.Open.State != scaling.DrainPending || r.Open.RecommendationID == ""):
		return fmt.Sprintf("drain %s of worker %s is %s", r.Open.ID, r.Open.Worker, r.Open.State)
	}
	o := &outcome{progress: progress{DrainRecord: state.DrainRecord{Open: &scaling.Drain{}}}, view: v}
	why, _ := o.blocker()
	return why
}

// busyWith says which other scope of the same Zeta cluster drains.
func (x *Drainer) busyWith(s *scope) string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	c := s.Config.Load()
	if other := x.draining[c.Cluster]; other != "" {
		if other != s.Key() {
			return other
		}
		return ""
	}
	return x.orphan(c.Endpoint)
}

// plan goes the way of wait on a drain that is stored nowhere.
func (x *Drainer) plan(ctx context.Context, v *view, r state.DrainRecord, p *scaling.DrainPlan) {
	against := func(why string) {
		if p.Against == "" {
			p.Against = why
		}
	}
	r.Open, r.Last, r.Others = &scaling.Drain{Worker: p.Worker, State: scaling.DrainPending}, nil, nil
	o := &outcome{progress: progress{DrainRecord: r}, view: v}
	a := x.asker(v.cfg, effect{})
	platform := a.choose(ctx, v.can.Chooses)
	if e := o.choose(&platform); e.kind != survey {
		against(o.Last.Error)
		return
	}
	victim := o.attempts.victim
	a.e.worker = victim
	p.Worker, p.Address = victim.Name, victim.Address
	seen := a.survey(ctx)
	f := o.examine(victim, &seen)
	if seen.slotsErr == nil {
		p.Used, p.Slots = seen.slots.Used, seen.slots.Total
	}
	p.Hold = v.cfg.Hold && p.Slots >= 2 && v.tick.slotMode != scaling.DynamicSlots
	p.Jobs = append(p.Jobs, planned(victim.Name, &seen)...)
	switch {
	case f.unknown != nil:
		against("not known: " + f.unknown.Error())
	case f.why != "":
		against(f.why)
	case f.unnamed > 0:
		against(fmt.Sprintf("%s of worker %s %s in use by jobs that cannot be named", scaling.Counted(f.unnamed, "slot"), victim.Name, scaling.Plural(f.unnamed, "is", "are")))
	}
}

// planned says of each job on the worker what would become of it.
func planned(worker string, s *reading) []scaling.PlannedJob {
	var out []scaling.PlannedJob
	for i := range s.running {
		j := &s.running[i]
		if !s.has(j.ID) || j.Holds(worker) {
			continue
		}
		p := scaling.PlannedJob{ID: j.ID, Name: j.Name, Mode: string(modeOf(j)), Fate: scaling.FateStay}
		switch err := s.configs[j.ID].err; {
		case modeOf(j) == control.Batch:
			p.Fate = scaling.FateWait
		case modeOf(j) != control.Streaming:
			p.Error = "its mode is not known"
		case err != nil:
			p.Error = err.Error()
		default:
			p.Fate = scaling.FateMove
		}
		out = append(out, p)
	}
	return out
}

// has reports whether a job has a task group on the worker.
func (r *reading) has(id string) bool {
	for _, g := range r.placed {
		if g.Job == id {
			return true
		}
	}
	return false
}
