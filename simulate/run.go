package simulate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/progress"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/simulate/workload"
)

// ErrStopped says that not everything was played. The report of what was comes
// with it.
var ErrStopped = errors.New("the simulation was stopped")

// BoundName is what the bound is called.
const BoundName = "bound"

// Report is what came out of all simulations.
type Report struct {
	Seed                  uint64  `json:"seed"`
	ScrapeIntervalSeconds float64 `json:"scrapeIntervalSeconds"`
	FlapWithinSeconds     float64 `json:"flapWithinSeconds"`
	// CooldownSeconds is null for the service's default.
	CooldownSeconds *float64         `json:"cooldownSeconds"`
	Drain           bool             `json:"drain"`
	KillBusy        bool             `json:"killBusy"`
	Controllers     []Controller     `json:"controllers"`
	Workloads       []WorkloadReport `json:"workloads"`
	// Partial is true if not everything was played, and Stopped says why.
	Partial bool   `json:"partial"`
	Stopped string `json:"stopped,omitempty"`
	// Notes are what a reader has to know.
	Notes []string `json:"notes"`
}

// Controller is one of those that are compared.
type Controller struct {
	Name    string `json:"name"`
	Kind    Kind   `json:"kind"`
	Summary string `json:"summary,omitempty"`
}

// WorkloadReport is what became of one workload.
type WorkloadReport struct {
	Name       string  `json:"name"`
	Summary    string  `json:"summary,omitempty"`
	Class      string  `json:"class"`
	Jobs       int     `json:"jobs"`
	Hours      float64 `json:"hours"`
	MinWorkers int     `json:"minWorkers"`
	MaxWorkers int     `json:"maxWorkers"`
	// SlotsPerWorker is 0 with dynamic slots.
	SlotsPerWorker int `json:"slotsPerWorker"`
	// Workers boot in BootMinSeconds to BootMaxSeconds.
	BootMinSeconds float64 `json:"bootMinSeconds"`
	BootMaxSeconds float64 `json:"bootMaxSeconds"`
	ScrapeLoss     float64 `json:"scrapeLoss"`
	HeapGarbage    float64 `json:"heapGarbage"`
	// Outcomes are in the order of the report's controllers; nil was not played.
	Outcomes []*Outcome `json:"outcomes"`

	tooBig string
	limit  time.Duration
}

// contestant is a controller that plays.
type contestant struct {
	Controller
	play func(ctx context.Context, w *workload.Workload, tell func(time.Duration)) (*Outcome, error)
}

// contestants are all of them, the bound first and the rule sets last.
func (o *Options) contestants() []contestant {
	var all []contestant
	if o.Bound {
		all = append(all, contestant{
			Controller{BoundName, KindBound, "knows the future: workers are there when they are needed, and jobs move at no cost"},
			func(ctx context.Context, w *workload.Workload, _ func(time.Duration)) (*Outcome, error) {
				return computeBound(ctx, o, w)
			},
		})
	}
	for _, n := range o.Static {
		name := fmt.Sprintf("static-%d", n)
		all = append(all, contestant{
			Controller{name, KindStatic, scaling.Counted(n, "worker") + " all the time"},
			func(ctx context.Context, w *workload.Workload, tell func(time.Duration)) (*Outcome, error) {
				return ended(name)(playStatic(ctx, o, w, n, tell))
			},
		})
	}
	for _, p := range o.Peers {
		all = append(all, contestant{
			Controller{p.Name, KindPeer, p.Summary},
			func(ctx context.Context, w *workload.Workload, tell func(time.Duration)) (*Outcome, error) {
				return ended(p.Name)(playModel(ctx, o, w, p.New(), tell))
			},
		})
	}
	names := map[string]int{}
	for _, rs := range o.RuleSets {
		name := nameOf(rs, names)
		all = append(all, contestant{
			Controller{name, KindRuleSet, rs.Description},
			func(ctx context.Context, w *workload.Workload, tell func(time.Duration)) (*Outcome, error) {
				return ended(name)(playRules(ctx, o, w, rs, tell))
			},
		})
	}
	return all
}

// nameOf tells rule sets of the same name apart.
func nameOf(rs *rules.RuleSet, names map[string]int) string {
	names[rs.Name]++
	if n := names[rs.Name]; n > 1 {
		return fmt.Sprintf("%s#%d", rs.Name, n)
	}
	return rs.Name
}

// ended makes an outcome of what was played, also of a part.
func ended(name string) func(*stage, error) (*Outcome, error) {
	return func(s *stage, err error) (*Outcome, error) {
		if s == nil {
			return nil, err
		}
		return s.outcome(name), err
	}
}

// Run plays every workload under every controller. A report comes even with an
// error that wraps ErrStopped, and says then that it is partial.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.prepare(); err != nil {
		return nil, err
	}
	all := o.contestants()
	r := newReport(&o, all)
	meter := newMeter(&o, len(all))
	eg, running := errgroup.WithContext(ctx)
	eg.SetLimit(o.Parallel)
	for i, w := range o.Workloads {
		for k, c := range all {
			eg.Go(func() error {
				if running.Err() != nil {
					return nil
				}
				out, err := c.play(running, w, meter.teller(w, c.Name))
				r.Workloads[i].Outcomes[k] = out
				switch {
				case err == nil:
					meter.done(w, c.Name)
				case running.Err() == nil:
					return fmt.Errorf("workload %s under %s: %w", w.Name, c.Name, err)
				}
				return nil
			})
		}
	}
	err := eg.Wait()
	switch {
	case err != nil:
		r.Stopped = err.Error()
	case ctx.Err() != nil:
		r.Stopped = "it was interrupted"
	default:
		r.note()
		return r, nil
	}
	r.Partial = true
	r.note()
	return r, fmt.Errorf("%w: %s", ErrStopped, r.Stopped)
}

func newReport(o *Options, all []contestant) *Report {
	r := &Report{Seed: o.Seed, ScrapeIntervalSeconds: o.ScrapeInterval.Seconds(), FlapWithinSeconds: o.FlapWithin.Seconds(), Drain: o.Drain, KillBusy: o.KillBusy, Notes: []string{}}
	if o.Cooldown != nil {
		seconds := o.Cooldown.Seconds()
		r.CooldownSeconds = &seconds
	}
	for _, c := range all {
		r.Controllers = append(r.Controllers, c.Controller)
	}
	for _, w := range o.Workloads {
		c := &w.Conditions
		slots := c.SlotsPerWorker
		if c.DynamicSlots {
			slots = 0
		}
		r.Workloads = append(r.Workloads, WorkloadReport{
			Name: w.Name, Summary: w.Summary, Class: class(w), Jobs: len(w.Jobs), Hours: w.Length.Hours(),
			MinWorkers: c.MinWorkers, MaxWorkers: c.MaxWorkers, SlotsPerWorker: slots,
			BootMinSeconds: c.BootMin.Seconds(), BootMaxSeconds: c.BootMax.Seconds(), ScrapeLoss: c.ScrapeLoss, HeapGarbage: c.HeapGarbage, Outcomes: make([]*Outcome, len(all)),
			tooBig: tooBig(w), limit: limit(w),
		})
	}
	return r
}

// note says what a reader has to know of single outcomes.
func (r *Report) note() {
	if r.Partial {
		r.Notes = append(r.Notes, "Not everything was played: "+r.Stopped+".")
	}
	for i := range r.Workloads {
		var endless []string
		for _, out := range r.Workloads[i].Outcomes {
			switch {
			case out == nil:
			case out.Partial:
				r.Notes = append(r.Notes, fmt.Sprintf("%s under %s was played up to %s only.", out.Workload, out.Controller, span(out.Ended)))
			case out.Bounded:
				endless = append(endless, out.Controller)
			}
		}
		if len(endless) > 0 {
			r.Notes = append(r.Notes, r.Workloads[i].endless(strings.Join(endless, ", ")))
		}
	}
}

// endless says why a workload was stopped under some controllers.
func (w *WorkloadReport) endless(under string) string {
	if w.tooBig != "" {
		return fmt.Sprintf("%s was stopped under %s: %s, so it and all behind it wait for ever. Give more workers (--max-workers), or leave it out.", w.Name, under, w.tooBig)
	}
	return fmt.Sprintf("%s was stopped after %s under %s, with jobs that still waited or ran: their waiting counts up to then.", w.Name, span(w.limit.Seconds()), under)
}

// tooBig says which job fits into no number of workers, and would wait for ever;
// empty if none does.
func tooBig(w *workload.Workload) string {
	c := &w.Conditions
	if c.DynamicSlots || c.Strategy != workload.Wait {
		return ""
	}
	for i := range w.Jobs {
		if n := w.Jobs[i].Slots; n > c.MaxWorkers*c.SlotsPerWorker {
			return fmt.Sprintf("job %d needs %s, and %s have %d", i+1, scaling.Counted(n, "slot"), scaling.Counted(c.MaxWorkers, "worker"), c.MaxWorkers*c.SlotsPerWorker)
		}
	}
	return ""
}

// span is a length of time as flags take it.
func span(seconds float64) string {
	return model.Duration(time.Duration(seconds) * time.Second).String()
}

// meter adds up how far all simulations are, in minutes of virtual time.
type meter struct {
	tell  func(progress.Progress)
	began time.Time

	mu    sync.Mutex
	at    map[string]int
	sum   int
	total int
}

func newMeter(o *Options, controllers int) *meter {
	m := &meter{tell: o.Progress, began: time.Now(), at: map[string]int{}}
	for _, w := range o.Workloads {
		m.total += controllers * minutes(w.Length)
	}
	return m
}

func minutes(d time.Duration) int { return int(d / time.Minute) }

// teller is told how far one simulation is.
func (m *meter) teller(w *workload.Workload, controller string) func(time.Duration) {
	return func(at time.Duration) { m.set(w, controller, at) }
}

// done says that one is over.
func (m *meter) done(w *workload.Workload, controller string) { m.set(w, controller, w.Length) }

func (m *meter) set(w *workload.Workload, controller string, at time.Duration) {
	if m.tell == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := w.Name + " under " + controller
	now := min(minutes(at), minutes(w.Length))
	m.sum += now - m.at[key]
	m.at[key] = now
	m.tell(progress.Progress{Done: m.sum, Total: m.total, Where: key, Elapsed: time.Since(m.began)})
}

// reference is the controller that others are compared with: the first rule set,
// else the last of all.
func (r *Report) reference() int {
	for i := range r.Controllers {
		if r.Controllers[i].Kind == KindRuleSet {
			return i
		}
	}
	return len(r.Controllers) - 1
}

// Classes are the kinds of clusters in the report, in order of appearance: only
// outcomes of one class are added up.
func (r *Report) Classes() []string {
	var out []string
	seen := map[string]bool{}
	for i := range r.Workloads {
		if c := r.Workloads[i].Class; !seen[c] {
			seen[c] = true
			out = append(out, c)
		}
	}
	return out
}
