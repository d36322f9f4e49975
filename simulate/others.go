package simulate

import (
	"context"
	"time"

	"github.com/zeta-scaler/zeta-scaler/demo/sim"
	"github.com/zeta-scaler/zeta-scaler/simulate/workload"
)

// playStatic plays a workload on a cluster that nobody scales.
func playStatic(ctx context.Context, o *Options, w *workload.Workload, workers int, tell func(time.Duration)) (*stage, error) {
	s, err := newStage(o, w, workers)
	if err != nil {
		return nil, err
	}
	return s, s.play(ctx, tell, func(time.Duration, sim.Look) {})
}

// playModel plays a workload under the model of another controller.
func playModel(ctx context.Context, o *Options, w *workload.Workload, m Model, tell func(time.Duration)) (*stage, error) {
	c := &w.Conditions
	s, err := newStage(o, w, c.MinWorkers)
	if err != nil {
		return nil, err
	}
	every := max(m.Every().Truncate(time.Second), time.Second)
	var due time.Duration
	view := View{SlotsPerWorker: c.SlotsPerWorker, Min: c.MinWorkers, Max: c.MaxWorkers}
	if c.DynamicSlots {
		view.SlotsPerWorker = 0
	}
	seen := false
	return s, s.play(ctx, tell, func(at time.Duration, l sim.Look) {
		if !s.lost() {
			view.see(&l)
			seen = true
		}
		if at < due || !seen {
			return
		}
		for due <= at {
			due += every
		}
		view.Now, view.Booting = at, l.Booting
		want := min(max(m.Want(view), view.Min), view.Max)
		s.add(want - l.Workers - l.Booting)
		s.remove(l.Workers+l.Booting-want, o.KillBusy)
	})
}

// see takes in what a scrape says.
func (v *View) see(l *sim.Look) {
	v.Workers, v.SlotsUsed = l.Workers, l.SlotsUsed
	v.JobsWaiting, v.SlotsWaiting, v.HeadLacking, v.OldestWait = l.Waiting, l.SlotsWaiting, l.HeadLacking, l.OldestWait
	v.Idle, v.CPU, v.RejectedTotal = l.Idle, l.CPU, l.Rejected
}

// play lets time pass, scrape by scrape, until the workload is over; then is
// called at each.
func (s *stage) play(ctx context.Context, tell func(time.Duration), then func(time.Duration, sim.Look)) error {
	for t := start(); ; t = t.Add(s.o.ScrapeInterval) {
		if err := s.Advance(t); err != nil {
			return err
		}
		l := s.look(t)
		if s.over {
			return nil
		}
		then(since(t), l)
		if since(t)%time.Hour == 0 {
			tell(since(t))
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
}
