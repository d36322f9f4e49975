package workload

import (
	"cmp"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// draw makes the jobs of a built-in workload. Its chances depend on the seed and
// on the name of the workload, so that one can be changed without the others.
type draw struct {
	rng  *rand.Rand
	jobs []Job
	end  time.Duration
}

func newDraw(name string, seed uint64, end time.Duration) *draw {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return &draw{rng: rand.New(rand.NewPCG(seed, h.Sum64())), end: end} //nolint:gosec // a simulation must be repeatable
}

// sorted are the jobs in order of the time they come, without those after the end.
func (d *draw) sorted() []Job {
	d.jobs = slices.DeleteFunc(d.jobs, func(j Job) bool { return j.At >= d.end })
	slices.SortStableFunc(d.jobs, func(a, b Job) int { return cmp.Compare(a.At, b.At) })
	return d.jobs
}

// add is a job of a kind, with an ordinary thirst for CPU.
func (d *draw) add(kind Kind, at, run time.Duration, slots int) {
	d.jobs = append(d.jobs, Job{
		At: at.Round(time.Second), Run: max(time.Second, run.Round(time.Second)), Slots: slots, Kind: kind, CPU: d.between(0.05, 0.15),
	})
}

func (d *draw) batch(at, run time.Duration, slots int) { d.add(Batch, at, run, slots) }

// between is evenly distributed.
func (d *draw) between(low, high float64) float64 { return low + (high-low)*d.rng.Float64() }

// times calls f at the instants of a Poisson process between two others, whose
// rate (events a second) changes with time and is never greater than most.
func (d *draw) times(from, to time.Duration, most float64, rate func(time.Duration) float64, f func(at time.Duration)) {
	for at := from.Seconds(); ; {
		at += d.rng.ExpFloat64() / most
		now := time.Duration(at * float64(time.Second))
		if now >= to {
			return
		}
		if d.rng.Float64()*most < rate(now) {
			f(now)
		}
	}
}

// logNormal has a median and the standard deviation of its logarithm; it is cut at
// both ends.
func (d *draw) logNormal(median time.Duration, sigma float64, least, most time.Duration) time.Duration {
	v := time.Duration(float64(median) * math.Exp(sigma*d.rng.NormFloat64()))
	return min(max(v, least), most)
}

// pareto has a least value, and a tail that is the heavier the smaller alpha is;
// it is bounded by most.
func (d *draw) pareto(least time.Duration, alpha float64, most time.Duration) time.Duration {
	u := d.rng.Float64()
	l, h := math.Pow(least.Seconds(), alpha), math.Pow(most.Seconds(), alpha)
	seconds := math.Pow(-(u*h-u*l-h)/(h*l), -1/alpha)
	return time.Duration(seconds * float64(time.Second))
}

// slots of an ordinary job: most are small.
func (d *draw) slots() int {
	switch u := d.rng.Float64(); {
	case u < 0.5:
		return 1
	case u < 0.8:
		return 2
	case u < 0.95:
		return 4
	}
	return 8
}

// What an ordinary job needs on average: 2.1 slots for 296 s.
const (
	ordinaryMedian      = 3 * time.Minute
	ordinarySlotSeconds = 2.1 * 296
)

// ordinary is a job of minutes.
func (d *draw) ordinary(at time.Duration) {
	d.batch(at, d.logNormal(ordinaryMedian, 1, 10*time.Second, 2*time.Hour), d.slots())
}

// load lets ordinary jobs come so that they hold about so many slots, at any time.
func (d *draw) load(from, to time.Duration, most float64, slots func(at time.Duration) float64) {
	d.times(from, to, most/ordinarySlotSeconds, func(at time.Duration) float64 { return slots(at) / ordinarySlotSeconds }, d.ordinary)
}

// day is a wave of 24 h between two values: low at two in the morning, high at two
// in the afternoon.
func day(at time.Duration, low, high float64) float64 {
	return low + (high-low)*(1-math.Cos(2*math.Pi*(at.Hours()-2)/24))/2
}
