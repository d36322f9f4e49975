package workload

import (
	"slices"
	"time"
)

// Builtin is a workload that the program makes itself.
type Builtin struct {
	// Name is what the command calls it, Summary what it is, in a line.
	Name, Summary string

	length     time.Duration
	jobs       func(*draw)
	conditions func(*Conditions)
}

// New makes the workload; the same seed makes the same.
func (b Builtin) New(seed uint64) *Workload {
	w := &Workload{Name: b.Name, Summary: b.Summary, Length: b.length, Conditions: DefaultConditions()}
	if b.conditions != nil {
		b.conditions(&w.Conditions)
	}
	d := newDraw(b.Name, seed, b.length)
	b.jobs(d)
	w.Jobs = d.sorted()
	return w
}

// Find is the built-in workload of a name.
func Find(name string) (b Builtin, found bool) {
	all := Builtins()
	if i := slices.IndexFunc(all, func(b Builtin) bool { return b.Name == name }); i >= 0 {
		return all[i], true
	}
	return Builtin{}, false
}

// Builtins are the workloads that the program makes itself. Each is of 8 to 24
// hours, for a cluster of at most 16 workers with four slots, unless it says
// otherwise.
func Builtins() []Builtin {
	const h = time.Hour
	return []Builtin{
		{"steady", "Jobs of minutes, about 16 slots at any time", 12 * h, steady, nil},
		{"diurnal", "Jobs of minutes, few at night and about 36 slots in the afternoon", 24 * h, diurnal, nil},
		{"burst", "Little, and every two hours 30 jobs within a minute", 12 * h, burst, nil},
		{"ramp", "From nothing to 48 slots in eight hours, and back in four", 12 * h, ramp, nil},
		{"square5", "Five minutes of 40 slots, five minutes of 4, again and again", 12 * h, square(5 * time.Minute), nil},
		{"square15", "A quarter of an hour of 40 slots, a quarter of 4", 12 * h, square(15 * time.Minute), nil},
		{"square60", "An hour of 40 slots, an hour of 4", 12 * h, square(time.Hour), nil},
		{"heavytail", "Most jobs take two minutes, a few hours: Pareto with alpha 1.5", 24 * h, heavyTail, nil},
		{"borgtail", "A third of the work is in one job of a hundred: the tail of Google's Borg, Pareto with alpha 0.69", 24 * h, borgTail, nil},
		{"streams", "Streaming jobs of hours that come one by one, and twelve at once every eight hours", 24 * h, streams, nil},
		{"mixed", "Streaming jobs of hours beside a day of batch jobs", 24 * h, mixed, nil},
		{"giant", "Few small jobs, and every two hours one that needs six workers at once", 8 * h, giants(24, 1), nil},
		{"giantover", "Every two hours two jobs of ten workers each: the sixteen are too few for both", 8 * h, giants(40, 2), nil},
		{"trickle", "A small job every six minutes: one worker is nearly always enough", 8 * h, trickle, nil},
		{"flash", "Little, and one time ten minutes of more than the cluster can ever hold", 8 * h, flash, nil},
		{"cron", "Jobs at the same second of every hour and every quarter, and thirty at two at night", 24 * h, cron, nil},
		{"fb2009", "As Facebook's Hadoop of 2009: jobs of half a minute in bursts, and loads of up to five hours", 24 * h, fb2009, nil},
		{"fb2010", "As Facebook's Hadoop of 2010: jobs of a minute, less bursty, and transformations of hours", 24 * h, fb2010, nil},
		{"cpubound", "Jobs whose slots take more CPU than a full worker has: they slow each other down", 12 * h, cpuBound, nil},
		{"loss1", "A day as diurnal, and 1 % of the scrapes get no answer", 24 * h, diurnal, loses(0.01)},
		{"loss5", "A day as diurnal, and 5 % of the scrapes get no answer", 24 * h, diurnal, loses(0.05)},
		{"loss20", "A day as diurnal, and 20 % of the scrapes get no answer", 24 * h, diurnal, loses(0.2)},
		{"gcheap", "A day as diurnal, on workers whose heap is mostly garbage before each collection", 24 * h, diurnal, func(c *Conditions) { c.HeapGarbage = 0.6 }},
		{"reject", "Half a day of jobs on a cluster that rejects what finds no slot", 12 * h, rejected, func(c *Conditions) { c.Strategy = Reject }},
		{"dynamic", "A day of jobs on dynamic slots, where CPU is what runs short", 24 * h, dynamic, func(c *Conditions) {
			c.DynamicSlots, c.Strategy = true, Reject
		}},
	}
}

func loses(part float64) func(*Conditions) { return func(c *Conditions) { c.ScrapeLoss = part } }
