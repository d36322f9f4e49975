package drain

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// parallelRequests is how many requests of one drain are under way at once.
const parallelRequests = 8

// asker carries out one effect by the configuration that its step went by.
type asker struct {
	c *ScopeConfig
	m *instruments
	e effect
	// parallel is how many requests are under way at once.
	parallel int
}

func (x *Drainer) asker(c *ScopeConfig, e effect) *asker {
	return &asker{c: c, m: x.m, e: e, parallel: x.parallel}
}

// perform carries out an effect and returns its answer, which is the next input.
func (x *Drainer) perform(ctx context.Context, o *outcome) (input, error) {
	in := input{about: o.effect}
	c := o.view.cfg
	if !c.equipped() {
		// The scope has left the configuration before this process began: nobody
		// knows where its cluster is.
		return input{}, fmt.Errorf("the drain of scope %s, which the configuration does not list with a drain, cannot go on: list it again, or restore its jobs by hand", o.view.scope)
	}
	if err := x.records.Leads(); err != nil {
		return in, err
	}
	a := x.asker(c, o.effect)
	switch o.effect.kind {
	case choose:
		in.kind, in.seen = chosen, a.choose(ctx, o.view.can.Chooses)
	case survey:
		in.kind, in.seen = surveyed, a.survey(ctx)
	case follow:
		in.kind, in.seen = followed, a.follow(ctx)
	default:
		in.kind, in.errs = asked, a.ask(ctx)
		return in, nil
	}
	return in, ctx.Err()
}

// call makes one request in its time, and counts it.
func (a *asker) call(ctx context.Context, verb string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, a.c.CallTimeout)
	defer cancel()
	err := f(ctx)
	a.m.called(verb, err)
	return err
}

func (a *asker) target() actuators.Target {
	return actuators.Target{Scope: a.c.Scope, Name: a.c.Target}
}

// group runs requests at once, and waits for all of them; what goes wrong with
// one is noted by itself.
func (a *asker) group(fs ...func()) {
	if a.parallel == 1 {
		for _, f := range fs {
			f()
		}
		return
	}
	var eg errgroup.Group
	eg.SetLimit(a.parallel)
	for _, f := range fs {
		eg.Go(func() error {
			f()
			return nil
		})
	}
	_ = eg.Wait() // they return none
}

// platform reads whom the platform has.
func (a *asker) platform(ctx context.Context, r *reading) {
	r.workersErr = a.call(ctx, "workers", func(ctx context.Context) (err error) {
		r.workers, err = a.c.Actuator.Workers(ctx, a.target())
		return err
	})
}

// observe reads what the platform was asked for, and by whom.
func (a *asker) observe(ctx context.Context, r *reading) {
	if !a.c.Actuator.Capabilities().Observes {
		r.targetErr = actuators.ErrUnsupported
		return
	}
	r.targetErr = a.call(ctx, "observe", func(ctx context.Context) (err error) {
		r.target, err = a.c.Actuator.Observe(ctx, a.target())
		return err
	})
}

// choose reads whom the platform has and, where one may be chosen, how busy they
// are.
func (a *asker) choose(ctx context.Context, mayChoose bool) reading {
	var r reading
	a.platform(ctx, &r)
	if !mayChoose || r.workersErr != nil {
		return r
	}
	used := make([]int, len(r.workers))
	fs := make([]func(), len(r.workers))
	for i, w := range r.workers {
		fs[i] = func() {
			used[i] = -1
			_ = a.call(ctx, "worker", func(ctx context.Context) error { // unknown: not preferred
				s, err := a.c.Engine.Worker(ctx, w.Name)
				if err == nil && s.Workers == 1 {
					used[i] = s.Used
				}
				return err
			})
		}
	}
	a.group(fs...)
	r.used = map[string]int{}
	for i, w := range r.workers {
		if used[i] >= 0 {
			r.used[w.Name] = used[i]
		}
	}
	return r
}

// slots reads the master's book on the worker.
func (a *asker) slots(ctx context.Context, r *reading) {
	r.slotsErr = a.call(ctx, "worker", func(ctx context.Context) (err error) {
		r.slots, err = a.c.Engine.Worker(ctx, a.e.worker.Name)
		return err
	})
}

// placed reads what runs on the worker.
func (a *asker) placed(ctx context.Context, r *reading) {
	r.placedErr = a.call(ctx, "placed", func(ctx context.Context) (err error) {
		r.placed, err = a.c.Engine.Placed(ctx, a.e.worker.Address)
		return err
	})
}

func (a *asker) cluster(ctx context.Context, r *reading) {
	r.clusterErr = a.call(ctx, "cluster", func(ctx context.Context) (err error) {
		r.cluster, err = a.c.Engine.Cluster(ctx)
		return err
	})
}

// survey looks at the whole cluster and at the worker. What runs there is read
// before the slots are: a job that has just come has slots and no name then, and
// not the other way round.
func (a *asker) survey(ctx context.Context) reading {
	var r reading
	a.group(
		func() { a.platform(ctx, &r) },
		func() { a.observe(ctx, &r) },
		func() { a.cluster(ctx, &r) },
		func() { a.placed(ctx, &r) },
		func() { r.each = a.jobs(ctx, a.holding()) },
	)
	a.group(
		func() {
			r.runningErr = a.call(ctx, "jobs", func(ctx context.Context) (err error) {
				r.running, err = a.c.Engine.Jobs(ctx)
				return err
			})
		},
		func() { a.slots(ctx, &r) },
	)
	r.configs = a.configs(ctx, &r)
	r.bound = a.bound(ctx, &r)
	return r
}

// bound reads where else the jobs of the worker can run that are bound to some
// workers.
func (a *asker) bound(ctx context.Context, r *reading) map[string]room {
	out, asked := map[string]room{}, map[string]room{}
	for i := range r.running {
		j := &r.running[i]
		there := slices.ContainsFunc(r.placed, func(g control.TaskGroup) bool { return g.Job == j.ID })
		if !there || j.ID == a.e.holding || j.Holds(a.e.worker.Name) || modeOf(j) == control.Batch {
			continue
		}
		tags, err := j.Tags()
		if len(tags) == 0 && err == nil {
			continue
		}
		b := room{err: err}
		if err == nil {
			b.tags = fmt.Sprint(tags) // in the order of the keys
			if seen, again := asked[b.tags]; again {
				out[j.ID] = seen
				continue
			}
			b.err = a.call(ctx, "tagged", func(ctx context.Context) (err error) {
				b.slots, err = a.c.Engine.Tagged(ctx, tags, a.e.worker.Name)
				return err
			})
			asked[b.tags] = b
		}
		out[j.ID] = b
	}
	return out
}

// configs asks for the config of every streaming job on the worker.
func (a *asker) configs(ctx context.Context, r *reading) map[string]registered {
	out := map[string]registered{}
	for i := range r.running {
		j := &r.running[i]
		there := slices.ContainsFunc(r.placed, func(g control.TaskGroup) bool { return g.Job == j.ID })
		if !there || modeOf(j) != control.Streaming || j.ID == a.e.holding {
			continue
		}
		c, err := a.c.Configs.Config(ctx, *j)
		if same := namesakes(r.running, j); err == nil && c.Named && same > 1 {
			err = fmt.Errorf("%d running jobs have its name, and %s could be of each: name it by the job's id, %s", same, cmp.Or(c.Where, "what is registered"), j.ID)
		}
		out[j.ID] = registered{c.Digest, err}
	}
	return out
}

// namesakes counts the jobs that have the name of one, that one included.
func namesakes(running []control.Job, of *control.Job) int {
	n := 0
	for i := range running {
		if running[i].Name == of.Name {
			n++
		}
	}
	return n
}

// follow looks at the worker and at the jobs that are on their way.
func (a *asker) follow(ctx context.Context) reading {
	var r reading
	fs := []func(){
		func() { a.slots(ctx, &r) },
		func() { r.each = a.jobs(ctx, append(slices.Clone(a.e.each), a.holding()...)) },
	}
	if a.e.holding != "" {
		fs = append(fs, func() { a.placed(ctx, &r) })
	}
	if a.e.gone {
		fs = append(fs, func() { a.platform(ctx, &r) }, func() { a.cluster(ctx, &r) })
		if a.e.recorded {
			fs = append(fs, func() { a.observe(ctx, &r) })
		}
	}
	a.group(fs...)
	return r
}

func (a *asker) holding() []string {
	if a.e.holding == "" {
		return nil
	}
	return []string{a.e.holding}
}

// jobs asks about jobs one by one.
func (a *asker) jobs(ctx context.Context, ids []string) map[string]answer {
	got := make([]answer, len(ids))
	fs := make([]func(), len(ids))
	for i, id := range ids {
		fs[i] = func() {
			got[i].err = a.call(ctx, "job", func(ctx context.Context) (err error) {
				got[i].job, err = a.c.Engine.Job(ctx, id)
				return err
			})
		}
	}
	a.group(fs...)
	out := map[string]answer{}
	for i, id := range ids {
		out[id] = got[i]
	}
	return out
}

// ask makes requests that change something.
func (a *asker) ask(ctx context.Context) map[string]error {
	e := a.e
	one := func(id string) error {
		switch e.kind {
		case stop:
			return a.call(ctx, "stop", func(ctx context.Context) error { return a.c.Engine.StopWithSavepoint(ctx, id) })
		case restore:
			return a.restore(ctx, id)
		default:
			return a.call(ctx, "unhold", func(ctx context.Context) error { return a.c.Engine.Cancel(ctx, id) })
		}
	}
	switch e.kind {
	case hold:
		return map[string]error{"": a.call(ctx, "hold", func(ctx context.Context) error {
			return a.c.Engine.Hold(ctx, e.holding, e.worker.Name, e.slots)
		})}
	case claim:
		return map[string]error{"": a.call(ctx, "claim", func(ctx context.Context) error {
			return a.c.Actuator.(actuators.Claimer).Claim(ctx, a.target(), e.fence)
		})}
	case release:
		return map[string]error{"": a.call(ctx, "release", func(ctx context.Context) error {
			return a.c.Actuator.Release(ctx, a.target(), []actuators.Worker{e.worker}, e.fence)
		})}
	}
	errs := make([]error, len(e.jobs))
	fs := make([]func(), len(e.jobs))
	for i, id := range e.jobs {
		fs[i] = func() { errs[i] = one(id) }
	}
	a.group(fs...)
	out := maps.Collect(func(yield func(string, error) bool) {
		for i, id := range e.jobs {
			if !yield(id, errs[i]) {
				return
			}
		}
	})
	return out
}

// restore submits a job again with the config that it was stopped with: Zeta would
// take any other one without a word.
func (a *asker) restore(ctx context.Context, id string) error {
	name, was := a.e.names[id], a.e.configs[id]
	c, err := a.c.Configs.Config(ctx, control.Job{ID: id, Name: name})
	if err != nil {
		return fmt.Errorf("its config: %w", err)
	}
	if was != "" && c.Digest != was {
		return fmt.Errorf("its config: %s was changed after the job was stopped (it is %s and was %s); put the old text back, and the job is restored from it",
			cmp.Or(c.Where, "what is registered"), cmp.Or(c.Digest, "not known"), was)
	}
	return a.call(ctx, "restore", func(ctx context.Context) error { return a.c.Engine.Restore(ctx, id, name, c) })
}
