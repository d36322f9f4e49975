package drain_test

import (
	"context"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// seedVariable replays one run: ZETA_SCALER_FAULT_SEED=123 go test -run TestFaults.
const seedVariable = "ZETA_SCALER_FAULT_SEED"

// TestFaults kills leaders at every durable step and every request, loses replies,
// freezes leaders and lets them wake up, has savepoints stuck and restores ignored,
// has jobs land and workers die in between, and looks for a worker that was
// released with a job on it, a job that was left stopped or began anew, slots that
// stay held, and a drain without an end.
func TestFaults(t *testing.T) {
	runs := uint64(10_000)
	if testing.Short() || underRace {
		runs = 1500
	}
	if v := os.Getenv(seedVariable); v != "" {
		seed, err := strconv.ParseUint(v, 10, 64)
		require.NoError(t, err)
		w := newWorld(seed)
		problems := w.run()
		t.Logf("%s\nfaults: %q", w.story(), w.f.log)
		require.Empty(t, problems)
		return
	}
	var faulted, removed, back, failed, moved atomic.Int64
	t.Run("runs", func(t *testing.T) {
		const shards = 4
		for shard := range uint64(shards) {
			t.Run(strconv.FormatUint(shard, 10), func(t *testing.T) {
				t.Parallel()
				for seed := shard; seed < runs; seed += shards {
					w := newWorld(seed)
					problems := w.run()
					require.Empty(t, problems, "%s=%d replays it; faults: %q", seedVariable, seed, w.f.log)
					if len(w.f.log) > 0 {
						faulted.Add(1)
					}
					for _, d := range w.ended {
						switch {
						case d.State == scaling.DrainDecommissioned:
							removed.Add(1)
						case d.Failed:
							failed.Add(1)
						default:
							back.Add(1)
						}
						for _, j := range d.Jobs {
							if j.Step == scaling.JobRestored {
								moved.Add(1)
							}
						}
					}
				}
			})
		}
	})
	t.Logf("%d runs, %d with faults: %d workers removed, %d drains called off, %d failed, %d jobs restored",
		runs, faulted.Load(), removed.Load(), back.Load(), failed.Load(), moved.Load())
	require.Greater(t, faulted.Load(), int64(runs/3))
	require.Greater(t, removed.Load(), int64(runs/10))
	require.Greater(t, moved.Load(), int64(runs/10))
	require.Positive(t, failed.Load())
}

// misreading is an engine whose drainer sees something else than what is there.
type misreading struct {
	*model
	job  func(control.Job) control.Job
	hold bool
}

func (e misreading) Job(ctx context.Context, id string) (control.Job, error) {
	if e.hold && len(id) > 10 {
		return control.Job{ID: id, Status: control.Running}, nil
	}
	j, err := e.model.Job(ctx, id)
	if err == nil && e.job != nil {
		j = e.job(j)
	}
	return j, err
}

func (e misreading) Hold(ctx context.Context, id, worker string, slots int) error {
	if e.hold {
		return nil
	}
	return e.model.Hold(ctx, id, worker, slots)
}

func (e misreading) Placed(ctx context.Context, address string) ([]control.TaskGroup, error) {
	if e.hold {
		return nil, control.ErrUnsupported
	}
	return e.model.Placed(ctx, address)
}

func (e misreading) Worker(ctx context.Context, name string) (control.Slots, error) {
	s, err := e.model.Worker(ctx, name)
	if e.hold && err == nil && s.Workers == 1 && s.Used == 0 && !e.dynamic && e.rng.IntN(2) == 0 {
		s.Used = s.Total
	}
	return s, err
}

// claimless is a platform whose drainer does not have it record a new leader's
// epoch.
type claimless struct{ fencing }

func (claimless) Claim(context.Context, actuators.Target, actuators.Fence) error { return nil }

// TestFaultsAreFound breaks the drainer on purpose: each mistake must be found.
func TestFaultsAreFound(t *testing.T) {
	as := func(from, to control.Status) func(*world) {
		return func(w *world) {
			w.cfg.Engine = misreading{model: w.m, job: func(j control.Job) control.Job {
				if j.Status == from {
					j.Status = to
				}
				return j
			}}
		}
	}
	for name, sabotage := range map[string]func(*world){
		"that a job is about to be stopped is not stored": func(w *world) {
			w.store.spoil = func(r *state.DrainRecord) bool {
				return r.Open != nil && slices.ContainsFunc(r.Open.Jobs, func(j scaling.DrainJob) bool { return j.Step == scaling.JobStopping })
			}
		},
		"a savepoint that is being made is taken for one that is done": as(control.DoingSavepoint, control.SavepointDone),
		"a job that somebody has cancelled is taken for a failed one":  as(control.Canceled, control.Failed),
		"a job that has its savepoint is taken for a finished one":     as(control.SavepointDone, control.Finished),
		"what an older leader has on its way is not shut out":          func(w *world) { w.cfg.Actuator = claimless{fencing{platform{w.m}}} },
		"slots that nobody holds are taken for held":                   func(w *world) { w.cfg.Engine = misreading{model: w.m, hold: true} },
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(3000) {
				w := newWorld(seed)
				sabotage(w)
				if problems := w.run(); len(problems) > 0 {
					t.Logf("found by seed %d: %s", seed, problems[0])
					return
				}
			}
			require.Fail(t, "the harness found nothing")
		})
	}
}
