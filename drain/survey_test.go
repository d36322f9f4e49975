package drain

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// The master's book names a worker's jobs and not their parts: then a job that
// has three slots is one name.
func TestJobsOfTheMastersBook(t *testing.T) {
	streaming := control.Job{ID: "7", Name: "orders", Status: control.Running, Mode: control.Streaming}
	s := &reading{
		slots: control.Slots{Workers: 1, Total: 3, Used: 3}, placed: []control.TaskGroup{{Job: "7"}}, running: []control.Job{streaming},
	}
	f := finding{used: 3}
	(&outcome{}).nameJobs(actuators.Worker{Name: "w1"}, s, &f)
	require.Empty(t, f.why)
	require.Zero(t, f.unnamed)
	require.Equal(t, []scaling.DrainJob{{ID: "7", Name: "orders", Mode: "STREAMING", Step: scaling.JobMoving}}, f.jobs)

	s.placed = []control.TaskGroup{{Job: "7", Pipeline: 1, ID: 1}}
	f = finding{used: 3}
	(&outcome{}).nameJobs(actuators.Worker{Name: "w1"}, s, &f)
	require.Equal(t, 2, f.unnamed, "threads name each part")
}

func TestHeldByTheMastersBook(t *testing.T) {
	d := &scaling.Drain{HoldJob: "9", Slots: 3}
	for _, tt := range []struct {
		placed []control.TaskGroup
		want   bool
	}{
		{nil, false},
		{[]control.TaskGroup{{Job: "9"}}, true},
		{[]control.TaskGroup{{Job: "9"}, {Job: "7"}}, false},
		{[]control.TaskGroup{{Job: "7"}}, false},
		{[]control.TaskGroup{{Job: "9", Pipeline: 1, ID: 1}, {Job: "9", Pipeline: 1, ID: 2}}, false},
		{[]control.TaskGroup{{Job: "9", Pipeline: 1, ID: 1}, {Job: "9", Pipeline: 1, ID: 2}, {Job: "9", Pipeline: 1, ID: 3}}, true},
	} {
		s := &reading{
			slots: control.Slots{Workers: 1, Total: 3, Used: 3}, placed: tt.placed,
			each: map[string]answer{"9": {job: control.Job{ID: "9", Status: control.Running}}},
		}
		require.Equal(t, tt.want, holds(d, s), "%+v", tt.placed)
	}
}

// A job that runs only on some workers has to find its slots on those.
func TestBoundJobs(t *testing.T) {
	free := func(n int) control.Slots { return control.Slots{Workers: 1, Total: 4, Used: 4 - n} }
	parts := func(job string, n int) (gs []control.TaskGroup) {
		for i := range n {
			gs = append(gs, control.TaskGroup{Job: job, Pipeline: 1, ID: int64(i + 1)})
		}
		return gs
	}
	for name, tc := range map[string]struct {
		placed  []control.TaskGroup
		bound   map[string]room
		why     string
		unknown bool
	}{
		"unbound":             {placed: parts("1", 4)},
		"enough":              {placed: parts("1", 2), bound: map[string]room{"1": {tags: "map[zone:a]", slots: free(2)}}},
		"one too few":         {placed: parts("1", 2), bound: map[string]room{"1": {tags: "map[zone:a]", slots: free(1)}}, why: "runs only on workers with map[zone:a]"},
		"two share":           {placed: append(parts("1", 2), parts("2", 2)...), bound: map[string]room{"1": {tags: "t", slots: free(3)}, "2": {tags: "t", slots: free(3)}}, why: "3 free slots where 4 are needed"},
		"parts are not told":  {placed: []control.TaskGroup{{Job: "1"}}, bound: map[string]room{"1": {tags: "t", slots: free(3)}}, why: "4 are needed"},
		"only the victim":     {placed: parts("1", 1), bound: map[string]room{"1": {tags: "t"}}, why: "0 free slots"},
		"tags cannot be read": {placed: parts("1", 1), bound: map[string]room{"1": {err: errors.New("odd")}}, why: "cannot be moved: odd"},
		"slots are not known": {placed: parts("1", 1), bound: map[string]room{"1": {tags: "t", err: errors.New("500")}}, unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			why, unknown := againstTags(actuators.Worker{Name: "w1"}, &reading{slots: control.Slots{Workers: 1, Total: 4, Used: 4}, placed: tc.placed, bound: tc.bound})
			require.Equal(t, tc.unknown, unknown != nil)
			if tc.why == "" {
				require.Empty(t, why)
			}
			require.Contains(t, why, tc.why)
		})
	}
}
