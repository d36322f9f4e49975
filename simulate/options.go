package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/prometheus/common/model"

	"github.com/zeta-scaler/zeta-scaler/progress"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/simulate/workload"
)

// Defaults and bounds of Options.
const (
	// DefaultSeed is what commands take where none is given.
	DefaultSeed           = 1
	DefaultScrapeInterval = 15 * time.Second
	// DefaultFlapWithin is within what time a step that is undone was one too many.
	DefaultFlapWithin = 10 * time.Minute
	// maxScrapeInterval is more than any window has use for.
	maxScrapeInterval = time.Hour
)

// Options say what is played.
type Options struct {
	// Workloads are played one by one; each has a cluster of its own.
	Workloads []*workload.Workload
	// RuleSets, Peers and clusters of a Static number of workers (within nobody's
	// bounds) play each of them, and Bound is worked out beside them.
	RuleSets []*rules.RuleSet
	Peers    []Peer
	Static   []int
	Bound    bool

	// Seed is the chance of boots, placement, loads and lost scrapes.
	Seed           uint64
	ScrapeInterval time.Duration
	// Drain has our own drains empty workers, one at a time, with the pauses that
	// they keep. Without it a candidate for scale-in is followed at once by the end
	// of workers that hold no job.
	Drain bool
	// Cooldown follows a scale-out that has converged, and a drained worker; nil is
	// the service's default.
	Cooldown *time.Duration
	// KillBusy has peers do what their platforms do: fewer workers are wanted, and
	// the youngest end whatever they do. Without it peers, too, end only workers
	// that hold no job.
	KillBusy bool
	// FlapWithin is within what time a step that is undone counts as a flap.
	FlapWithin time.Duration
	// Details keeps the series and every job's wait, for pictures.
	Details bool
	// Parallel is how many simulations run at once; default one per processor.
	Parallel int
	// Progress is told what is done, from one goroutine at a time; nil: nobody.
	Progress func(progress.Progress)
	Logger   *slog.Logger
}

// queriesAtOnce shares the processors among the rule sets that are played at once: a
// query is answered by this process, and each goroutine of a tick grows a stack first.
func (o *Options) queriesAtOnce() int {
	return max(1, runtime.GOMAXPROCS(0)/max(1, min(o.Parallel, len(o.RuleSets)*len(o.Workloads))))
}

// prepare fills in defaults and says all that is wrong.
func (o *Options) prepare() error {
	var errs []error
	o.ScrapeInterval = cmp.Or(o.ScrapeInterval, DefaultScrapeInterval)
	o.FlapWithin = cmp.Or(o.FlapWithin, DefaultFlapWithin)
	o.Parallel = cmp.Or(o.Parallel, runtime.GOMAXPROCS(0))
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if len(o.Workloads) == 0 {
		errs = append(errs, errors.New("no workload is given"))
	}
	if len(o.RuleSets)+len(o.Peers)+len(o.Static) == 0 && !o.Bound {
		errs = append(errs, errors.New("no rule set is given, and nothing to compare with"))
	}
	if o.ScrapeInterval < time.Second || o.ScrapeInterval > maxScrapeInterval || o.ScrapeInterval%time.Second != 0 {
		errs = append(errs, fmt.Errorf("the scrape interval is %s, expected whole seconds from 1s to %s", o.ScrapeInterval, maxScrapeInterval))
	}
	if o.Parallel < 1 {
		errs = append(errs, fmt.Errorf("%d simulations at once, expected 1 or more", o.Parallel))
	}
	for _, w := range o.Workloads {
		if err := w.Check(); err != nil {
			errs = append(errs, err)
		}
		if w.Length > MaxLength {
			errs = append(errs, fmt.Errorf("workload %s: its length is %s, expected at most %s: play its beginning (--duration %s)", w.Name, model.Duration(w.Length), model.Duration(MaxLength), model.Duration(MaxLength)))
		}
	}
	for _, n := range o.Static {
		if n < 1 || n > workload.MaxWorkers {
			errs = append(errs, fmt.Errorf("a cluster of %d workers, expected 1 to %d", n, workload.MaxWorkers))
		}
	}
	for _, rs := range o.RuleSets {
		if len(rs.ScopeBy) != 1 || rs.ScopeBy[0] != "cluster" {
			errs = append(errs, fmt.Errorf("rule set %s has scope_by %v, expected [cluster]: a simulation is one cluster", rs.Name, rs.ScopeBy))
		}
	}
	return errors.Join(errs...)
}

// MaxLength bounds a workload: a month.
const MaxLength = 31 * 24 * time.Hour

// limit is when a simulation ends that would not end by itself: jobs that came
// until the workload's end have as long again, an hour at least.
func limit(w *workload.Workload) time.Duration { return w.Length + max(w.Length, time.Hour) }
