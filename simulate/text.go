package simulate

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// sums are what a controller made of all workloads of a class.
type sums struct {
	wait, p95, most, jobHours, workerHours, idleHours, use float64
	actions, flaps, rejected, lost, moved, n               int
	// waitTimes and hoursTimes are geometric means against the reference.
	waitTimes, hoursTimes float64
	less, more            int
}

// sum adds up what controller k made of the workloads of a class that all have
// played to the end.
func (r *Report) sum(class string, k int) (s sums, ok bool) {
	ref := r.reference()
	var wait, hours float64
	for i := range r.Workloads {
		w := &r.Workloads[i]
		if w.Class != class || !w.complete() {
			continue
		}
		out, other := w.Outcomes[k], w.Outcomes[ref]
		s.n++
		s.wait += out.WaitMean
		s.p95 += out.WaitP95
		s.most = max(s.most, out.WaitMax)
		s.jobHours += out.JobHours
		s.workerHours += out.WorkerHours
		s.idleHours += out.IdleHours
		s.use += out.Use
		s.actions += out.Actions
		s.flaps += out.Flaps
		s.rejected += out.Jobs.Rejected
		s.lost += out.Jobs.Lost
		s.moved += out.Moved
		// A second more keeps waits of nearly nothing from deciding.
		wait += math.Log((out.WaitMean + 1) / (other.WaitMean + 1))
		hours += math.Log((out.WorkerHours + 1e-9) / (other.WorkerHours + 1e-9))
		switch out.Against(other, Clear) {
		case -1:
			s.less++
		case 1:
			s.more++
		}
	}
	if s.n == 0 {
		return s, false
	}
	n := float64(s.n)
	s.wait, s.p95, s.use = s.wait/n, s.p95/n, s.use/n
	s.waitTimes, s.hoursTimes = math.Exp(wait/n), math.Exp(hours/n)
	return s, true
}

// complete reports whether every controller has played the workload to its end.
func (w *WorkloadReport) complete() bool {
	for _, out := range w.Outcomes {
		if out == nil || out.Partial {
			return false
		}
	}
	return true
}

// Margin is by how much two outcomes may differ and still count as alike: Wait in
// seconds of mean waiting, Hours as a part of the other's worker-hours.
type Margin struct{ Wait, Hours float64 }

// Clear leaves out what nobody would notice: a second, and a hundredth of the
// worker-hours.
var Clear = Margin{Wait: 1, Hours: 0.01}

// Against is -1 where an outcome has less of everything than another, by more than
// the margin: waiting, worker-hours, and jobs that were rejected or lost, whose
// number stands for the waiting where it differs; 1 where it has more of everything;
// else 0.
func (out *Outcome) Against(other *Outcome, by Margin) int {
	failed, others := out.Jobs.Rejected+out.Jobs.Lost, other.Jobs.Rejected+other.Jobs.Lost
	wait := compare(out.WaitMean, other.WaitMean, by.Wait)
	if failed != others {
		wait = compare(float64(failed), float64(others), 0)
	}
	hours := compare(out.WorkerHours, other.WorkerHours, by.Hours*other.WorkerHours)
	if wait == hours {
		return wait
	}
	return 0
}

func compare(a, b, same float64) int {
	switch {
	case a < b-same:
		return -1
	case a > b+same:
		return 1
	}
	return 0
}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	r = r.printable()
	b := bufio.NewWriter(w)
	for i, class := range r.Classes() {
		if i > 0 {
			fmt.Fprintln(b)
		}
		r.classText(b, class)
	}
	if len(r.Workloads) > 1 || r.Partial {
		r.eachText(b)
	}
	fmt.Fprintln(b)
	for _, line := range r.key() {
		fmt.Fprintln(b, line)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(b, "note: "+n)
	}
	return b.Flush()
}

// printable is the report with names and notes as a line of a terminal bears them:
// they come from files and clusters.
func (r *Report) printable() *Report {
	p := *r
	p.Controllers, p.Workloads, p.Notes = slices.Clone(r.Controllers), slices.Clone(r.Workloads), slices.Clone(r.Notes)
	for i := range p.Controllers {
		p.Controllers[i].Name = document.Printable(p.Controllers[i].Name, "")
	}
	for i := range p.Workloads {
		p.Workloads[i].Name = document.Printable(p.Workloads[i].Name, "")
	}
	for i := range p.Notes {
		p.Notes[i] = document.Printable(p.Notes[i], "")
	}
	return &p
}

// gap is between two columns.
const gap = 2

// aligned writes a table whose numbers stand to the right, as all columns do: the
// first is padded to its width before. It begins at the margin.
func aligned(w io.Writer, write func(io.Writer)) {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, gap, ' ', tabwriter.AlignRight)
	write(t)
	_ = t.Flush() // a builder takes everything
	for line := range strings.Lines(text.String()) {
		fmt.Fprint(w, strings.TrimPrefix(line, strings.Repeat(" ", gap)))
	}
}

func (r *Report) classText(w io.Writer, class string) {
	var names []string
	for i := range r.Workloads {
		if wl := &r.Workloads[i]; wl.Class == class && wl.complete() {
			names = append(names, wl.Name)
		}
	}
	switch len(names) {
	case 0:
		fmt.Fprintf(w, "%s: nothing was played to its end\n", class)
		return
	case 1:
		fmt.Fprintf(w, "%s (%s)\n", names[0], class)
	default:
		fmt.Fprintf(w, "%s: %s\n", class, scaling.Counted(len(names), "workload"))
	}
	ref := r.reference()
	width := len("controller")
	for _, c := range r.Controllers {
		width = max(width, len(c.Name))
	}
	aligned(w, func(t io.Writer) { r.rows(t, class, width, ref) })
}

// rows are the lines of the table of a class; the first column is so wide.
func (r *Report) rows(t io.Writer, class string, width, ref int) {
	best, hasBound := r.bound(class)
	fmt.Fprintf(t, "%-*s\twait s\tp95 s\tmax s\tjob-h\tworker-h\tidle-h\tuse %%\tactions\tflaps\trejected\tlost\tmoved\t", width, "controller")
	if hasBound {
		fmt.Fprint(t, "×bound\t")
	}
	fmt.Fprint(t, "wait×\thours×\tbetter\tworse\t\n")
	for k, c := range r.Controllers {
		s, ok := r.sum(class, k)
		if !ok {
			continue
		}
		fmt.Fprintf(t, "%-*s\t%.1f\t%.0f\t%.0f\t%.1f\t%.1f\t%.1f\t%.0f\t%d\t%d\t%d\t%d\t%d\t", width, c.Name, s.wait, s.p95, s.most, s.jobHours,
			s.workerHours, s.idleHours, 100*s.use, s.actions, s.flaps, s.rejected, s.lost, s.moved)
		if hasBound {
			fmt.Fprintf(t, "%.2f\t", s.workerHours/max(best, 1e-9))
		}
		if k == ref {
			fmt.Fprint(t, "1.00\t1.00\t-\t-\t\n")
			continue
		}
		fmt.Fprintf(t, "%.2f\t%.2f\t%d\t%d\t\n", s.waitTimes, s.hoursTimes, s.less, s.more)
	}
}

// bound is the worker-hours of the bound, if it was worked out.
func (r *Report) bound(class string) (hours float64, ok bool) {
	for k, c := range r.Controllers {
		if c.Kind == KindBound {
			s, ok := r.sum(class, k)
			return s.workerHours, ok
		}
	}
	return 0, false
}

// eachText is a line for each workload: mean wait and worker-hours.
func (r *Report) eachText(w io.Writer) {
	fmt.Fprintln(w, "\nmean wait in s / worker-hours (r: jobs rejected, x: jobs lost, …: stopped before the end)")
	width := len("workload")
	for i := range r.Workloads {
		width = max(width, len(r.Workloads[i].Name))
	}
	aligned(w, func(t io.Writer) {
		fmt.Fprintf(t, "%-*s\t", width, "workload")
		for _, c := range r.Controllers {
			fmt.Fprint(t, c.Name+"\t")
		}
		fmt.Fprintln(t)
		for i := range r.Workloads {
			wl := &r.Workloads[i]
			fmt.Fprintf(t, "%-*s\t", width, wl.Name)
			for _, out := range wl.Outcomes {
				fmt.Fprint(t, out.brief()+"\t")
			}
			fmt.Fprintln(t)
		}
	})
}

func (out *Outcome) brief() string {
	if out == nil {
		return "-"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%.0f/%.0f", out.WaitMean, out.WorkerHours)
	if n := out.Jobs.Rejected; n > 0 {
		fmt.Fprintf(&b, "/%dr", n)
	}
	if n := out.Jobs.Lost; n > 0 {
		fmt.Fprintf(&b, "/%dx", n)
	}
	if out.Partial || out.Bounded {
		b.WriteString("…")
	}
	return b.String()
}

// key says what the columns are.
func (r *Report) key() []string {
	lines := []string{
		"wait: from submission to slots, and by how much longer a job ran on overloaded workers (mean and p95: means over workloads)",
		"worker-h: from the moment a worker is asked for; idle-h: of those without a job; use: held slots of all",
		"actions: changes of the number of workers; flaps: those undone within " + span(r.FlapWithinSeconds) + "; lost: ended with their worker; moved: by drains",
	}
	if len(r.Controllers) > 1 {
		lines = append(lines, "wait×, hours×: geometric means against "+r.Controllers[r.reference()].Name+", with a second more of waiting on both sides",
			fmt.Sprintf("better, worse: workloads with less or more of both, by more than %g s and %g %%, rejected and lost jobs first", Clear.Wait, 100*Clear.Hours))
	}
	for _, c := range r.Controllers {
		if c.Kind == KindPeer {
			return append(lines, "Models are written from public descriptions; none of them is the product itself.")
		}
	}
	return lines
}
