package drain_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/zeta"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// edited are configs that somebody changes while a drain is under way.
type edited struct{ digest string }

func (e *edited) Config(context.Context, control.Job) (control.Config, error) {
	return control.Config{Format: "json", Text: []byte("{}"), Where: "jobs/orders.json", Digest: e.digest}, nil
}

// A job that was stopped is restored from the config that it was stopped with, and
// from no other, whoever looks: Zeta would take one without a word.
func TestRestoreTakesNoOtherConfig(t *testing.T) {
	for name, restart := range map[string]bool{"": false, "by the next process": true} {
		for how, hold := range map[string]bool{"held": true, "not held": false} {
			t.Run(how+" "+name, func(t *testing.T) {
				b := newBed(t, 3, 8)
				configs := &edited{digest: "json:old"}
				b.cfg.Configs, b.cfg.Hold = configs, hold
				b.start(t)
				j := b.m.submit("4501", control.Streaming, 6, 0)
				_, err := b.x.Request(t.Context(), scopeKey, "w-2", "ann", "")
				require.NoError(t, err)
				for j.Status != control.SavepointDone {
					b.run(t, 100*time.Millisecond)
				}
				require.Equal(t, "json:old", b.record(t).Open.Jobs[0].Config)
				configs.digest = "json:new"
				if restart {
					b.start(t)
				}
				b.run(t, time.Minute)
				d := b.record(t).Open
				require.NotNil(t, d)
				require.Equal(t, control.SavepointDone, j.Status)
				require.Equal(t, "its config: jobs/orders.json was changed after the job was stopped (it is json:new and was json:old); put the old text back, and the job is restored from it",
					d.Jobs[0].Error)
				require.True(t, d.Jobs[0].Down())
				require.Greater(t, d.Jobs[0].Attempts, 1)
				if hold {
					require.Empty(t, b.m.removed)
				}

				configs.digest = "json:old"
				b.run(t, 6*time.Minute)
				r := b.record(t)
				require.Nil(t, r.Open)
				require.Equal(t, control.Running, j.Status)
				require.Equal(t, scaling.JobRestored, r.Last.Jobs[0].Step)
				require.Empty(t, r.Last.Jobs[0].Error)
			})
		}
	}
}

// Until the job is stopped its config may be put right.
func TestConfigMayChangeUntilTheStop(t *testing.T) {
	b := newBed(t, 2, 4)
	configs := &edited{digest: "json:old"}
	b.cfg.Configs = configs
	b.start(t)
	b.m.submit("4501", control.Batch, 1, 40*time.Second).on = map[string]int{"w-1": 1}
	stream := b.m.submit("4502", control.Streaming, 1, 0)
	stream.on = map[string]int{"w-1": 1}
	b.accept(t)
	b.run(t, 20*time.Second)
	require.Equal(t, "json:old", b.record(t).Open.Jobs[1].Config)
	configs.digest = "json:new"
	b.run(t, time.Minute)
	last := b.record(t).Last
	require.Equal(t, scaling.DrainDecommissioned, last.State, "%v", b.m.log)
	require.Equal(t, "json:new", last.Jobs[1].Config)
	require.Equal(t, 1, last.Jobs[1].Attempts)
}

// Anybody may give a job a name like ours: cancelled, it would lose its checkpoints.
func TestJobsThatOnlyLookLikeOurs(t *testing.T) {
	for name, change := range map[string]func(*control.Job){
		"of another worker": func(j *control.Job) { j.Name = zeta.HoldPrefix + "w-7" },
		"another source":    func(j *control.Job) { j.Name, j.Sources = zeta.HoldPrefix+"w-1", []string{"Kafka"} },
		"other options":     func(j *control.Job) { j.Env = map[string]string{"checkpoint.interval": "5000"} },
		"in batch mode":     func(j *control.Job) { j.Mode = control.Batch },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, 2, 4)
			j := b.m.submit("4501", control.Streaming, 1, time.Hour)
			j.Name, j.on = zeta.HoldPrefix+"w-1", map[string]int{"w-1": 1}
			change(&j.Job)
			b.m.configs["4501"] = false
			b.accept(t)
			b.run(t, time.Minute)
			require.Equal(t, control.Running, j.Status)
			require.Empty(t, b.m.removed)
		})
	}
}

// named are configs that were found by the jobs' names.
type named struct{}

func (named) Config(context.Context, control.Job) (control.Config, error) {
	return control.Config{Format: "json", Text: []byte("{}"), Where: "jobs/orders.json", Named: true}, nil
}

// One file for two jobs of one name could be of either: Zeta would run both from it.
func TestTwoJobsOfOneName(t *testing.T) {
	b := newBed(t, 2, 4)
	b.cfg.Configs = named{}
	b.start(t)
	j, other := b.m.submit("4501", control.Streaming, 1, 0), b.m.submit("4502", control.Streaming, 1, 0)
	j.Name, other.Name = "orders", "orders"
	j.on, other.on = map[string]int{"w-1": 1}, map[string]int{"w-0": 1}
	b.accept(t)
	b.run(t, time.Minute)
	d := b.record(t).Open
	require.NotNil(t, d)
	require.Equal(t, scaling.DrainPending, d.State)
	require.Equal(t, "job 4501 (orders) cannot be restored: 2 running jobs have its name, and jobs/orders.json could be of each: name it by the job's id, 4501", d.Error)
	require.Zero(t, j.stops)
	other.Name = "invoices"
	b.run(t, time.Minute)
	require.Equal(t, scaling.DrainDecommissioned, b.record(t).Last.State)
}
