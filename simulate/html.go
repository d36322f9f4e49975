package simulate

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"time"

	"github.com/zeta-scaler/zeta-scaler/chart"
)

//go:embed report.html
var reportTemplate string

// maxColumns is how many columns a plot has at most.
const maxColumns = 480

// WriteHTML writes the report as one page that needs nothing else: no network, no
// script. It has plots of those outcomes that have details.
func (r *Report) WriteHTML(w io.Writer) error {
	return chart.WritePage(w, reportTemplate, template.FuncMap{
		"span":     span,
		"key":      r.key,
		"table":    r.table,
		"pictures": r.pictures,
		"percent":  func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) },
		"hours":    func(v float64) string { return fmt.Sprintf("%.1f", v) },
		"whole":    func(v float64) string { return fmt.Sprintf("%.0f", v) },
		"factor":   func(v float64) string { return fmt.Sprintf("%.2f", v) },
		"kindOf":   func(k int) Kind { return r.Controllers[k].Kind },
	}, r)
}

// htmlRow is a controller in the table of a class.
type htmlRow struct {
	Controller
	Wait, P95, Max, JobHours, WorkerHours, IdleHours, Use float64
	Actions, Flaps, Rejected, Lost, Moved, N              int
	// Bound is the worker-hours against the bound's.
	Bound float64
	// Reference is true for what others are compared with.
	Reference             bool
	WaitTimes, HoursTimes float64
	Better, Worse         int
}

// htmlTable is the table of a class, without columns in which there is nothing.
type htmlTable struct {
	Rows                                 []htmlRow
	Bound, Rejected, Lost, Moved, Others bool
}

// table is what the controllers made of the workloads of a class.
func (r *Report) table(class string) htmlTable {
	var t htmlTable
	best, hasBound := r.bound(class)
	t.Bound, t.Others = hasBound, len(r.Controllers) > 1
	for k, c := range r.Controllers {
		s, ok := r.sum(class, k)
		if !ok {
			continue
		}
		t.Rows = append(t.Rows, htmlRow{
			Controller: c, Wait: s.wait, P95: s.p95, Max: s.most, JobHours: s.jobHours, WorkerHours: s.workerHours, IdleHours: s.idleHours, Use: s.use,
			Actions: s.actions, Flaps: s.flaps, Rejected: s.rejected, Lost: s.lost, Moved: s.moved, N: s.n,
			Reference: k == r.reference(), WaitTimes: s.waitTimes, HoursTimes: s.hoursTimes, Better: s.less, Worse: s.more,
			Bound: s.workerHours / max(best, 1e-9),
		})
		t.Rejected, t.Lost, t.Moved = t.Rejected || s.rejected > 0, t.Lost || s.lost > 0, t.Moved || s.moved > 0
	}
	return t
}

// fewWorkloads is up to how many every controller has plots; beyond only rule sets
// have, or the page would be too long for anybody.
const fewWorkloads = 3

// pictures are the plots of what controller k made of a workload, none if it has
// no details.
func (r *Report) pictures(k int, out *Outcome) []chart.Picture {
	if out == nil || len(out.Points) == 0 || len(r.Workloads) > fewWorkloads && r.Controllers[k].Kind != KindRuleSet {
		return nil
	}
	f := framed(out)
	return []chart.Picture{f.workers(out), f.queue(out), f.waits(out)}
}

// frame is the time of an outcome in columns, with what its points say.
type frame struct {
	axis chart.Axis

	there, wanted, busy, jobs, slots chart.Band
}

func framed(out *Outcome) *frame {
	length := out.Points[len(out.Points)-1].At + time.Second
	step := max(length/maxColumns+1, 15*time.Second).Round(time.Second)
	n := int(length/step) + 1
	f := &frame{
		axis:  chart.Axis{From: start(), Step: step, Columns: n, Elapsed: true},
		there: chart.NewBand(n), wanted: chart.NewBand(n), busy: chart.NewBand(n), jobs: chart.NewBand(n), slots: chart.NewBand(n),
	}
	for _, p := range out.Points {
		i := int(p.At / step)
		f.there.Add(i, float64(p.Workers))
		f.wanted.Add(i, float64(p.Workers+p.Booting))
		f.busy.Add(i, float64(p.Busy))
		f.jobs.Add(i, float64(p.JobsWaiting))
		f.slots.Add(i, float64(p.SlotsWaiting))
	}
	return f
}

func (f *frame) workers(out *Outcome) chart.Picture {
	c := chart.New(f.axis, 200, []*chart.Band{&f.wanted, &f.there})
	c.Line(&f.busy, "signal")
	c.Line(&f.there, "observed")
	c.Line(&f.wanted, "first")
	return chart.Picture{
		Title: "Workers", SVG: c.SVG("workers of " + out.Workload + " under " + out.Controller),
		Legend: []chart.LegendEntry{
			{Class: "first", Name: "asked for"}, {Class: "observed", Name: "registered"}, {Class: "signal", Name: "with a job"},
		},
	}
}

func (f *frame) queue(out *Outcome) chart.Picture {
	c := chart.New(f.axis, 130, []*chart.Band{&f.jobs, &f.slots})
	c.Line(&f.slots, "first")
	c.Line(&f.jobs, "signal")
	return chart.Picture{
		Title: "Queue", SVG: c.SVG("queue of " + out.Workload + " under " + out.Controller),
		Legend: []chart.LegendEntry{{Class: "signal", Name: "jobs that wait"}, {Class: "first", Name: "slots they need"}},
	}
}

// waits is a dot for every job that was not rejected.
func (f *frame) waits(out *Outcome) chart.Picture {
	most := out.WaitMax / 60
	c := chart.New(f.axis, 160, nil, &most)
	var dots []chart.Dot
	for i := range out.Waits {
		if w := &out.Waits[i]; !w.rejected() {
			dots = append(dots, chart.Dot{Column: float64(w.At) / float64(f.axis.Step), Value: w.Wait.Minutes()})
		}
	}
	c.Dots(dots, "dots")
	return chart.Picture{
		Title: "Waiting of each job, minutes", SVG: c.SVG("waiting of the jobs of " + out.Workload + " under " + out.Controller),
		Legend: []chart.LegendEntry{{Class: "dots", Name: "a job, at the time it came"}},
	}
}
