package evaluator

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// dice is where a random world comes from: rapid, which can shrink it, or a
// plain generator, which is fast.
type dice interface {
	// roll returns a number in 0…n−1.
	roll(what string, n int) int
}

type rapidDice struct{ t *rapid.T }

func (d rapidDice) roll(what string, n int) int { return rapid.IntRange(0, n-1).Draw(d.t, what) }

type seededDice struct{ r *rand.Rand }

func (d seededDice) roll(_ string, n int) int { return d.r.IntN(n) }

// pick rolls one of the options; options that matter more are listed twice.
func pick[T any](d dice, what string, options ...T) T { return options[d.roll(what, len(options))] }

const modelInterval = 30 * time.Second

// drawWindow is 0…5 ticks, now and then not a whole number of them.
func drawWindow(d dice, what string) time.Duration {
	w := time.Duration(pick(d, what, 0, 1, 1, 2, 2, 3, 4, 5)) * modelInterval
	if w > 0 && d.roll(what+" crooked", 6) == 5 {
		w -= 10 * time.Second
	}
	return w
}

// The values that signals take lie on and around these thresholds.
const (
	lowThreshold  = 1
	highThreshold = 3
)

func drawSignal(d dice, name string, c scaling.Class) rules.Signal {
	s := rules.Signal{Name: name, Class: c, Expr: expr(name), Absent: rules.AbsentUnknown}
	s.Required = pick(d, name+" required", c == scaling.Blocking || c == scaling.Saturation, c == scaling.Blocking || c == scaling.Saturation, false, true)
	if d.roll(name+" absent", 8) == 7 {
		s.Absent = rules.AbsentZero
	}
	if d.roll(name+" ranged", 3) == 2 {
		s.Range = &[2]float64{float64(d.roll(name+" from", 2)), 5}
	}
	// Most signals are bad when they are high; free memory is not.
	inverse := d.roll(name+" inverse", 5) == 4
	if c == scaling.Guard || d.roll(name+" out", 5) != 4 {
		s.Out = &rules.Condition{Comparison: pick(d, name+" out is", rules.Above, rules.Above, rules.AtLeast), Threshold: highThreshold, For: drawWindow(d, name+" out")}
		if inverse {
			s.Out.Comparison, s.Out.Threshold = pick(d, name+" out is", rules.Below, rules.AtMost), lowThreshold
		}
		s.KeepFiringFor = time.Duration(pick(d, name+" keep", 0, 0, 0, 1, 2, 3)) * modelInterval
	}
	if c != scaling.Guard && d.roll(name+" in", 5) != 4 {
		s.In = &rules.Condition{Comparison: pick(d, name+" in is", rules.Below, rules.Below, rules.AtMost), Threshold: lowThreshold, For: drawWindow(d, name+" in")}
		if inverse {
			s.In.Comparison, s.In.Threshold = pick(d, name+" in is", rules.Above, rules.AtLeast), highThreshold
			s.Surplus = (c == scaling.Saturation || c == scaling.Capacity) && d.roll(name+" surplus", 2) == 1
		}
	}
	return s
}

func drawModes(d dice, s *rules.Signal) {
	fixed := []scaling.SlotMode{scaling.FixedSlots}
	switch {
	case s.Class == scaling.Capacity && (s.Out != nil || s.In != nil):
		s.SlotModes = fixed
	default:
		s.SlotModes = pick(d, s.Name+" modes", nil, nil, nil, nil, nil, fixed,
			[]scaling.SlotMode{scaling.DynamicSlots}, []scaling.SlotMode{scaling.FixedSlots, scaling.DynamicSlots})
	}
}

// drawModelRules is a rule set of any shape.
func drawModelRules(d dice) *rules.RuleSet {
	rs := fixture()
	rs.Signals = nil
	rs.GapTolerance = d.roll("gap tolerance", 4)
	rs.MinCoverage = pick(d, "min coverage", 0.5, 0.5, 0, 0.75, 1)
	rs.Workers.Master, rs.Workers.MasterLabel = nil, ""
	if d.roll("master", 3) == 2 {
		rs.Workers.Master, rs.Workers.MasterLabel = expr("master"), "master"
	}
	if d.roll("mode by word", 2) == 1 {
		rs.SlotModeExpr = nil
		rs.SlotMode = pick(d, "mode", scaling.FixedSlots, scaling.FixedSlots, scaling.DynamicSlots)
	}
	rs.Step = rules.Step{
		Policy: pick(d, "policy", rules.StepFixed, rules.StepDemand, rules.StepExponential), Workers: 1 + d.roll("step", 3),
		Unit: 1 + d.roll("unit", 3), MaxStep: 3 + d.roll("max step", 3), SustainedBacklog: drawWindow(d, "sustained backlog"),
		SchedulerBacklog: drawWindow(d, "scheduler backlog"), BootDeadline: 3 * time.Minute,
	}
	for _, c := range []struct {
		class       scaling.Class
		least, most int
	}{{scaling.Blocking, 1, 3}, {scaling.Saturation, 1, 2}, {scaling.Capacity, 0, 2}, {scaling.Guard, 0, 2}} {
		for i := range c.least + d.roll(string(c.class), c.most-c.least+1) {
			s := drawSignal(d, fmt.Sprintf("%s%d", c.class, i), c.class)
			drawModes(d, &s)
			rs.Signals = append(rs.Signals, s)
		}
	}
	drawDemand(d, rs)
	drawGuards(d, rs)
	// A rule set is in no order of classes.
	for i := len(rs.Signals) - 1; i > 0; i-- {
		j := i - d.roll("order", i+1)
		rs.Signals[i], rs.Signals[j] = rs.Signals[j], rs.Signals[i]
	}
	return rs
}

// drawDemand marks a signal as the demand, most often a blocking one, or none.
// The STIP's is mere evidence, without a condition of its own.
func drawDemand(d dice, rs *rules.RuleSet) {
	if d.roll("demand", 4) == 3 {
		return
	}
	candidates := len(rs.Signals)
	if d.roll("demand of any class", 6) < 5 {
		candidates = slices.IndexFunc(rs.Signals, func(s rules.Signal) bool { return s.Class != scaling.Blocking })
	}
	i := candidates - 1 - d.roll("demand is", candidates)
	s := &rs.Signals[i]
	s.Demand = true
	if i > 0 && s.Class != scaling.Guard && d.roll("demand is evidence", 2) == 1 {
		s.Out, s.In, s.Required = nil, nil, false
	}
}

// drawGuards gives the guards what they hold, and the word max_workers.
func drawGuards(d dice, rs *rules.RuleSet) {
	var triggers []string
	for i := range rs.Signals {
		if s := &rs.Signals[i]; s.Class == scaling.Blocking && s.Out != nil {
			triggers = append(triggers, s.Name)
		}
	}
	for i := range rs.Signals {
		g := &rs.Signals[i]
		if g.Class != scaling.Guard {
			continue
		}
		g.Out.MaxWorkers = d.roll(g.Name+" max", 3) == 2
		g.HoldsSet = d.roll(g.Name+" holds", 3) > 0
		for _, name := range triggers {
			if g.HoldsSet && d.roll(g.Name+" holds "+name, 2) == 1 {
				g.Holds = append(g.Holds, name)
			}
		}
	}
}

// drawer draws worlds: usual is how often an input is at its usual value rather
// than at an odd one. Without calm worlds no row is reached that needs all
// inputs at once; without wild ones few odd values meet.
type drawer struct {
	dice
	n     int
	usual int
}

// course is one input over all ticks: values stay for a while. The first option
// is the usual one.
func course[T any](d drawer, what string, options ...T) []T {
	out := make([]T, 0, d.n)
	for len(out) < d.n {
		v := options[0]
		if i := d.roll(what, len(options)-1+d.usual); i < len(options)-1 {
			v = options[i+1]
		}
		for range pick(d, what+" for", 1, 1, 2, 3, 5, 7) {
			out = append(out, v)
		}
	}
	return out[:d.n]
}

// gone is the value of a sample that is not there.
const gone = -12345

func drawWorld(dice dice, rs *rules.RuleSet, n int) *world {
	d := drawer{dice: dice, n: n, usual: pick(dice, "usual", 3, 30, 100)}
	w := &world{rs: rs, ticks: make([]moment, n)}
	for t := range w.ticks {
		w.ticks[t] = moment{at: at(rs, t), raw: map[string]float64{}}
	}
	fill := func(name string, values ...float64) {
		for t, v := range course(d, name, values...) {
			if v != gone {
				w.ticks[t].raw[name] = v
			}
		}
	}
	nan, inf := math.NaN(), math.Inf(1)
	size := pick(d, "size", 4.0, 4, 4, 4, 2, 7, 0, 0)
	fill("current", size, size+1, max(0, size-1), 8, 0, gone, 2.5, -1, nan)
	fill("reporting", size, size+1, max(0, size-1), 1, 8, gone, 2.5, -1, inf)
	fill("mode", pick(d, "usual mode", 0.0, 0, 0, 0, 1, 0.5), 0, 1, 0.5, 0.25, gone, 2, -1, nan)
	fill("unsatisfied", 3, 0, 1, 9, 1000, gone, nan)
	fill("slots_per_worker", 2, 0, 1, 4, gone, nan)
	mood := pick(d, "mood", 0, 1, 2, 3)
	for i := range rs.Signals {
		drawCourse(d, fill, &rs.Signals[i], mood)
	}
	for t, m := range course(d, "masters", "a", "b", "", "none", "two", "half") {
		w.ticks[t].masters = map[string][]string{"none": nil, "two": {"a", "b"}, "half": {"", "a"}}[m]
		if len(m) <= 1 {
			w.ticks[t].masters = []string{m}
		}
	}
	if _, ok := w.ticks[0].raw["current"]; !ok {
		// The scope exists from the first tick on.
		w.ticks[0].raw["current"] = nan
	}
	drawLimits(d, w, size)
	return w
}

// drawCourse lets a signal be what the mood of its world is: everything idle,
// everything at its limit, or every signal by itself.
func drawCourse(d drawer, fill func(string, ...float64), s *rules.Signal, mood int) {
	quiet, hot := 0.0, 4.0
	if s.Out != nil && (s.Out.Comparison == rules.Below || s.Out.Comparison == rules.AtMost) ||
		s.In != nil && (s.In.Comparison == rules.Above || s.In.Comparison == rules.AtLeast) {
		quiet, hot = hot, quiet
	}
	usual := map[int]float64{0: quiet, 1: hot}
	v, ok := usual[mood]
	if s.Class == scaling.Guard {
		v, ok = quiet, mood == 0
	}
	if !ok || d.roll(s.Name+" is different", 8) == 7 {
		v = pick(d, s.Name+" usually", quiet, hot, 2)
	}
	fill(s.Name, v, 0, 1, 2, 3, 3.5, 4, 9, gone, math.NaN(), math.Inf(1), math.Inf(-1), -1)
}

func drawLimits(d drawer, w *world, size float64) {
	low := pick(d, "usual min", 1, 1, 0, 4)
	if size == 0 && d.roll("may be empty", 4) > 0 {
		low = 0
	}
	lows := course(d, "min", low, 0, 1, 3, 4, 5)
	rooms := course(d, "room", pick(d, "usual room", 6, 30, 2), 6, 0, 1, 30)
	delays := course(d, "floor delay", 0, 1, 3)
	paused := course(d, "paused", false, true)
	deployments := course(d, "deployment", scaling.Session, scaling.Application)
	busy := course(d, "busy", 0, 1, 2, 4, 3, 7)
	boot := course(d, "booting", 0, 1, 2)
	for t := range w.ticks {
		m := &w.ticks[t]
		l := &m.limits
		l.Bounds = scaling.Bounds{Min: lows[t], Max: max(lows[t]+rooms[t], 1), FloorDelay: time.Duration(delays[t]) * modelInterval}
		if rooms[t] == 30 {
			l.Bounds.Max = scaling.Unbounded
		}
		l.Paused, l.Deployment, l.Mode = paused[t], deployments[t], scaling.Advisory
		if busy[t]&1 != 0 {
			l.CooldownUntil = m.at.Add(time.Duration(d.roll("cooldown", 3)-1) * modelInterval)
		}
		if busy[t]&2 != 0 {
			l.BackoffUntil = m.at.Add(time.Duration(d.roll("backoff", 3)-1) * modelInterval)
		}
		l.ActionInFlight = busy[t]&4 != 0
		for range boot[t] {
			// Deadlines lie between ticks: on which side of the very instant an
			// entry ends is not the model's to say.
			l.Booting = append(l.Booting, scaling.Booting{
				Target:   pick(d, "boot target", 3, 5, 6),
				Deadline: m.at.Add(time.Duration(2*d.roll("boot deadline", 3)-1) * modelInterval / 2),
			})
		}
	}
}

// tape plays a world through the interface that Prometheus stands behind.
type tape struct{ w *world }

func (s tape) Instant(context.Context, string, time.Time) (source.Vector, error) {
	return source.Vector{}, fmt.Errorf("a replay asks for ranges")
}

func (s tape) Range(_ context.Context, e string, w source.Window) (source.Matrix, error) {
	var m source.Matrix
	lines := map[string]int{}
	add := func(ls labels.Labels, at time.Time, v float64) {
		i, ok := lines[ls.String()]
		if !ok {
			i = len(m.Series)
			lines[ls.String()] = i
			m.Series = append(m.Series, source.Series{Labels: ls})
		}
		m.Series[i].Points = append(m.Series[i].Points, source.Point{T: at.UnixMilli(), V: v})
	}
	for i := range s.w.ticks {
		tick := &s.w.ticks[i]
		if tick.at.Before(w.Start) || tick.at.After(w.End) {
			continue
		}
		if master := s.w.rs.Workers.Master; master != nil && e == master.Text {
			for _, name := range tick.masters {
				add(labels.FromStrings("cluster", "a", "master", name), tick.at, 1)
			}
		} else if v, ok := tick.raw[e]; ok {
			add(labels.FromStrings("cluster", "a"), tick.at, v)
		}
	}
	return m, nil
}
