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
	return s, s.play(ctx, tell, o.ScrapeInterval, func(time.Duration) {}, func(*sim.Look) {})
}

// playModel plays a workload under the model of another controller, which is asked at
// its own pace: between two scrapes its view of the jobs is that of the last one.
func playModel(ctx context.Context, o *Options, w *workload.Workload, m Model, tell func(time.Duration)) (*stage, error) {
	c := &w.Conditions
	s, err := newStage(o, w, c.MinWorkers)
	if err != nil {
		return nil, err
	}
	view := View{SlotsPerWorker: c.SlotsPerWorker, Min: c.MinWorkers, Max: c.MaxWorkers}
	if c.DynamicSlots {
		view.SlotsPerWorker = 0
	}
	seen := false
	ask := func(at time.Duration) {
		if !seen {
			return
		}
		view.Now = at
		view.know(s.cluster.Look())
		want := min(max(m.Want(view), view.Min), view.Max)
		s.add(want - view.Workers - view.Booting)
		s.remove(view.Workers+view.Booting-want, o.KillBusy)
	}
	every := max(m.Every().Truncate(time.Second), time.Second)
	return s, s.play(ctx, tell, every, ask, func(l *sim.Look) {
		if !s.lost() {
			view.see(l)
			seen = true
		}
	})
}

// know takes in what a controller knows without a scrape: workers are its own.
func (v *View) know(l sim.Look) { v.Workers, v.Booting, v.Idle = l.Workers, l.Booting, l.Idle }

// see takes in what a scrape says.
func (v *View) see(l *sim.Look) {
	v.SlotsUsed, v.CPU, v.RejectedTotal = l.SlotsUsed, l.CPU, l.Rejected
	v.JobsWaiting, v.SlotsWaiting, v.HeadLacking, v.OldestWait = l.Waiting, l.SlotsWaiting, l.HeadLacking, l.OldestWait
}

// play lets time pass until the workload is over; scraped is called at each scrape,
// and ask every so often, after the scrape of the same moment.
func (s *stage) play(ctx context.Context, tell func(time.Duration), every time.Duration, ask func(time.Duration), scraped func(*sim.Look)) error {
	var scrape, due time.Duration
	for ctx.Err() == nil {
		at := min(scrape, due)
		if err := s.Advance(start().Add(at)); err != nil {
			return err
		}
		if at == scrape {
			l := s.look(start().Add(at))
			if s.over {
				return nil
			}
			scraped(&l)
			s.tellHourly(at, tell)
			scrape += s.o.ScrapeInterval
		}
		if at == due {
			ask(at)
			due += every
		}
	}
	return ctx.Err()
}
