package workload

import (
	"math"
	"time"
)

func steady(d *draw) {
	d.load(0, d.end, 16, func(time.Duration) float64 { return 16 })
}

func diurnal(d *draw) {
	d.load(0, d.end, 36, func(at time.Duration) float64 { return day(at, 2, 36) })
}

func burst(d *draw) {
	d.load(0, d.end, 2, func(time.Duration) float64 { return 2 })
	for at := 30 * time.Minute; at < d.end; at += 2 * time.Hour {
		for range 30 {
			d.batch(at+time.Duration(d.between(0, 60))*time.Second, d.logNormal(5*time.Minute, 0.5, time.Minute, 20*time.Minute), d.slots())
		}
	}
}

func ramp(d *draw) {
	up := d.end * 2 / 3
	d.load(0, d.end, 48, func(at time.Duration) float64 {
		if at < up {
			return 48 * at.Hours() / up.Hours()
		}
		return 48 * (d.end - at).Hours() / (d.end - up).Hours()
	})
}

func square(half time.Duration) func(*draw) {
	return func(d *draw) {
		d.load(0, d.end, 40, func(at time.Duration) float64 {
			if at/half%2 == 0 {
				return 40
			}
			return 4
		})
	}
}

// heavyTail: Pareto with alpha 1.5 from two minutes to six hours has a mean of
// 334 s.
func heavyTail(d *draw) {
	rate := func(at time.Duration) float64 { return day(at, 5, 30) / (2.1 * 334) }
	d.times(0, d.end, 30/(2.1*334.0), rate, func(at time.Duration) {
		d.batch(at, d.pareto(2*time.Minute, 1.5, 6*time.Hour), d.slots())
	})
}

// borgTail: the resource-hours of Borg's jobs follow a Pareto distribution with
// alpha 0.69 (M. Tirmazi et al., "Borg: the Next Generation", EuroSys 2020). From
// 20 s to eight hours it has a mean of 376 s.
func borgTail(d *draw) {
	rate := func(at time.Duration) float64 { return day(at, 6, 30) / (2.1 * 376) }
	d.times(0, d.end, 30/(2.1*376.0), rate, func(at time.Duration) {
		d.batch(at, d.pareto(20*time.Second, 0.69, 8*time.Hour), d.slots())
	})
}

// stream is a streaming job that somebody cancels after hours.
func (d *draw) stream(at time.Duration) {
	d.add(Stream, at, d.logNormal(2*time.Hour, 0.7, 20*time.Minute, 20*time.Hour), 1+d.rng.IntN(4))
}

func streams(d *draw) {
	d.times(0, d.end, 1.0/1800, func(time.Duration) float64 { return 1.0 / 1800 }, d.stream)
	for at := 2 * time.Hour; at < d.end; at += 8 * time.Hour {
		for range 12 { // somebody deploys
			d.stream(at + time.Duration(d.between(0, 90))*time.Second)
		}
	}
}

func mixed(d *draw) {
	d.times(0, d.end, 1.0/2400, func(time.Duration) float64 { return 1.0 / 2400 }, d.stream)
	d.load(0, d.end, 28, func(at time.Duration) float64 { return day(at, 2, 28) })
}

func giants(slots, together int) func(*draw) {
	return func(d *draw) {
		d.load(0, d.end, 2, func(time.Duration) float64 { return 2 })
		for at := 40 * time.Minute; at < d.end; at += 2 * time.Hour {
			for range together {
				d.batch(at+time.Duration(d.between(0, 120))*time.Second, d.logNormal(8*time.Minute, 0.3, 4*time.Minute, 15*time.Minute), slots)
			}
		}
	}
}

func trickle(d *draw) {
	d.times(0, d.end, 1.0/360, func(time.Duration) float64 { return 1.0 / 360 }, func(at time.Duration) {
		d.batch(at, d.logNormal(3*time.Minute, 0.5, 20*time.Second, 15*time.Minute), 1+d.rng.IntN(3))
	})
}

func flash(d *draw) {
	d.load(0, d.end, 4, func(time.Duration) float64 { return 4 })
	d.load(3*time.Hour, 3*time.Hour+10*time.Minute, 120, func(time.Duration) float64 { return 120 })
}

func cron(d *draw) {
	for at := time.Duration(0); at < d.end; at += 15 * time.Minute {
		n := 4
		switch {
		case at == 2*time.Hour:
			n = 30
		case at%time.Hour == 0:
			n = 10
		}
		for range n {
			d.batch(at, d.logNormal(4*time.Minute, 0.6, 30*time.Second, 40*time.Minute), d.slots())
		}
	}
}

// class is one group of a published clustering of jobs.
type class struct {
	share float64
	run   time.Duration
	slots int
}

// Shares and lengths are after the clusters of jobs in Y. Chen, S. Alspaugh and
// R. Katz, "Interactive Analytical Processing in Big Data Systems: A Cross-Industry
// Study of MapReduce Workloads", VLDB 2012, and so is how much the hours differ:
// the busiest has about 31 times the jobs of the median one in 2009, and 9 times in
// 2010. How many slots a class takes is ours, for a cluster of this size.
func fb2009(d *draw) {
	clustered(d, 105, 31, []class{
		{0.9591, 32 * time.Second, 1},
		{0.0328, 21 * time.Minute, 2},
		{0.0053, 15 * time.Minute, 8},
		{0.0018, 110 * time.Minute, 2},
		{0.0007, 35 * time.Minute, 8},
		{0.0003, 5 * time.Hour, 4},
	})
}

func fb2010(d *draw) {
	clustered(d, 45, 9, []class{
		{0.9790, time.Minute, 1},
		{0.0098, 30 * time.Minute, 8},
		{0.0068, 8 * time.Hour, 1},
		{0.0022, 45 * time.Minute, 8},
		{0.0016, 2 * time.Hour, 6},
		{0.0006, 80 * time.Minute, 8},
	})
}

// greatestFactor bounds an hour of clustered: what is far more than the cluster can
// hold says nothing about who scales it.
const greatestFactor = 6

// clustered lets so many jobs come in a median hour. How many come in each follows a
// log-normal distribution as wide as if the greatest of 24 (two standard deviations)
// was peak times the median.
func clustered(d *draw, median, peak float64, classes []class) {
	sigma := math.Log(peak) / 2
	for from := time.Duration(0); from < d.end; from += time.Hour {
		rate := median * min(math.Exp(sigma*d.rng.NormFloat64()), greatestFactor) / 3600
		d.times(from, from+time.Hour, rate, func(time.Duration) float64 { return rate }, func(at time.Duration) {
			c := d.class(classes)
			d.batch(at, d.logNormal(c.run, 0.5, 5*time.Second, 12*time.Hour), c.slots)
		})
	}
}

func (d *draw) class(classes []class) class {
	u := d.rng.Float64()
	for _, c := range classes {
		if u -= c.share; u < 0 {
			return c
		}
	}
	return classes[0]
}

func cpuBound(d *draw) {
	d.load(0, d.end, 24, func(at time.Duration) float64 { return day(at, 4, 24) })
	for i := range d.jobs {
		d.jobs[i].CPU = d.between(0.25, 0.45)
	}
}

// rejected has no job that more than a worker is needed for, as rejecting clusters
// have not.
func rejected(d *draw) {
	d.load(0, d.end, 30, func(at time.Duration) float64 { return day(at+6*time.Hour, 4, 30) })
	for i := range d.jobs {
		d.jobs[i].Slots = min(d.jobs[i].Slots, 4)
	}
}

func dynamic(d *draw) {
	d.load(0, d.end, 36, func(at time.Duration) float64 { return day(at, 4, 36) })
	for i := range d.jobs {
		d.jobs[i].CPU = d.between(0.1, 0.3)
	}
}
