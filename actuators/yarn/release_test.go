package yarn

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/actuators/actuatortest"
)

func names(workers []actuators.Worker) []string {
	var out []string
	for _, w := range workers {
		out = append(out, w.Name)
	}
	return out
}

func TestWorkers(t *testing.T) {
	c := newCluster(t, 3)
	got, err := c.actuator(t, func(o *Options) { o.WorkerPort = 5801 }).Workers(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, []actuators.Worker{{Name: "worker-2", Address: "10.0.0.1:5803"}, {Name: "worker-1", Address: "10.0.0.1:5802"}, {Name: "worker-0", Address: "10.0.0.1:5801"}}, got)
	got, err = c.actuator(t, nil).Workers(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, "10.0.0.1", got[0].Address)
	c.change(func() { c.live = 0; c.fill() })
	got, err = c.actuator(t, nil).Workers(t.Context(), target)
	require.NoError(t, err)
	require.Empty(t, got)
}

func release(name string) []actuators.Worker { return []actuators.Worker{{Name: name}} }

func TestReleaseRemovesWhomItNames(t *testing.T) {
	c := newCluster(t, 5)
	a := c.actuator(t, nil)
	require.NoError(t, a.Release(t.Context(), target, release("worker-1"), fence(5)))
	require.Equal(t, []string{flexes, decommission}, c.puts())
	c.agrees(t, 4)
	got, err := a.Workers(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, []string{"worker-4", "worker-3", "worker-2", "worker-0"}, names(got))

	require.NoError(t, a.Release(t.Context(), target, release("worker-1"), fence(5)), "it is gone")
	require.NoError(t, c.actuator(t, nil).Release(t.Context(), target, release("worker-1"), fence(5)), "as another process sees, too")
	require.Empty(t, c.puts())
	require.NoError(t, a.Release(t.Context(), target, release("worker-4"), fence(5)))
	c.agrees(t, 3)
}

func TestReleaseRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(c *cluster)
		who    string
		kind   string
		say    string
	}{
		{"nobody of that name", func(*cluster) {}, "worker-7", "refused", "has no instance of that name"},
		{"flexing", func(c *cluster) { c.component, c.state = "FLEXING", started }, "worker-1", "plain", "service zeta is STARTED and component worker FLEXING"},
		{"another component is not ready", func(c *cluster) { c.state = started }, "worker-1", "plain", "service zeta is STARTED and component worker STABLE"},
		{"another number in the definition", func(c *cluster) { c.definition = 1 }, "worker-1", "plain", "another writer"},
		{"stopped", func(c *cluster) { c.state = "STOPPED" }, "worker-1", "refused", "start it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, 3)
			c.change(func() { tc.change(c) })
			err := c.actuator(t, nil).Release(t.Context(), target, release(tc.who), fence(3))
			require.ErrorContains(t, err, tc.say)
			require.Equal(t, tc.kind, actuatortest.Kind(err))
			require.NotContains(t, c.puts(), decommission)
			require.Len(t, c.instances, 3)
		})
	}
}

// An instance that ended by itself between reading and asking is taken from the
// definition's number alone, which is set right.
func TestReleaseOfOneThatHasJustEnded(t *testing.T) {
	c := newCluster(t, 3)
	a := c.actuator(t, nil)
	skip := time.Now()
	a.now = func() time.Time { skip = skip.Add(2 * time.Second); return skip }
	c.change(func() {
		c.before = once(func(r *http.Request) bool { return isPut(r) && r.URL.Path == "/app/v1/services/zeta" }, func(w http.ResponseWriter, _ *http.Request) {
			c.change(func() { c.definition-- })
			says(http.StatusAccepted, "Service zeta has successfully decommissioned instances.")(w, nil)
		})
	})
	err := a.Release(t.Context(), target, release("worker-1"), fence(3))
	require.Equal(t, "unknown", actuatortest.Kind(err), "%v", err)
	require.ErrorContains(t, err, "the service shows no sign of it")
	c.agrees(t, 3)
}

// A decommission that was refused has lowered the definition's number: the next
// start would drop a worker that nobody named.
func TestReleaseThatIsRefusedIsSetRight(t *testing.T) {
	c := newCluster(t, 3)
	a := c.actuator(t, nil)
	c.change(func() {
		c.before = once(func(r *http.Request) bool { return isPut(r) && r.URL.Path == "/app/v1/services/zeta" }, func(w http.ResponseWriter, _ *http.Request) {
			c.change(func() { c.definition-- })
			says(http.StatusBadRequest, "zeta is at ACCEPTED state, decommission can only be invoked when service is running")(w, nil)
		})
	})
	err := a.Release(t.Context(), target, release("worker-1"), fence(3))
	require.Equal(t, "plain", actuatortest.Kind(err), "%v", err)
	c.agrees(t, 3)
	require.NoError(t, a.Release(t.Context(), target, release("worker-1"), fence(3)))
	c.agrees(t, 2)
}

// Two components of one service, and two actuators of one component, have one
// file: they take turns.
func TestOneWriterAtATime(t *testing.T) {
	c := newCluster(t, 1)
	locks := new(Locks)
	unlock, err := locks.lock(t.Context(), "zeta")
	require.NoError(t, err)
	a := c.actuator(t, func(o *Options) { o.Locks = locks })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, a.Scale(ctx, target, 2, fence(1)), context.DeadlineExceeded)
	require.Empty(t, c.puts())
	unlock()
	require.NoError(t, a.Scale(t.Context(), target, 2, fence(1)))
	other, err := locks.lock(t.Context(), "other")
	require.NoError(t, err, "another service")
	other()
}

func TestWithdraw(t *testing.T) {
	c := newCluster(t, 2)
	c.change(func() { c.room = 4 })
	a := c.actuator(t, nil)
	now := time.Now()
	a.now = func() time.Time { return now }
	require.NoError(t, a.Scale(t.Context(), target, 9, fence(2)))
	s, err := a.Observe(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, 9, s.Desired)
	require.Equal(t, 4, s.Ready)
	require.Equal(t, "component worker is FLEXING: 9 requested, 4 have a process, 4 READY", s.Detail, "they may come")
	now = now.Add(capacityAfter)
	_, err = a.Observe(t.Context(), target)
	require.NoError(t, err)
	s, err = a.Observe(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, "component worker is FLEXING: 9 requested, 4 have a process, 4 READY; "+
		"queue root.default uses 2048 of at most 2048 MB (100% of at most 100% of the cluster), 5 containers wait there; 1 node has 64 MB free, at most 64 MB on one", s.Detail)
	before := len(c.puts())
	left, err := a.Withdraw(t.Context(), target, fence(2))
	require.NoError(t, err)
	require.Equal(t, 4, left)
	require.NotZero(t, before)
	c.agrees(t, 4)
	require.Len(t, c.instances, 4)
	left, err = a.Withdraw(t.Context(), target, fence(2))
	require.NoError(t, err)
	require.Equal(t, 4, left)
	require.NoError(t, a.Scale(t.Context(), target, 5, fence(4)), "it is our own number")
}

// The lowest number that ends no process, where those that wait have low ids.
func TestLeast(t *testing.T) {
	of := func(wanted int, gone []string, states ...string) *component {
		c := &component{Wanted: wanted, Decommissioned: gone}
		for i, s := range states {
			if s != "" {
				c.Containers = append(c.Containers, container{Instance: "worker-" + string(rune('0'+i)), State: s})
			}
		}
		return c
	}
	for _, tc := range []struct {
		name string
		c    *component
		want int
	}{
		{"all run", of(3, nil, ready, ready, ready), 3},
		{"the last wait", of(6, nil, ready, ready, "RUNNING_BUT_UNREADY"), 3},
		{"the first waits to be replaced", of(6, nil, "FAILED", ready, ready), 3},
		{"one with a low number waits", of(6, nil, "", ready, ready), 3},
		{"one with a low number was removed", of(5, []string{"worker-0"}, "", ready, ready), 2},
		{"nobody runs", of(5, nil), 0},
		{"more than wanted run", of(1, nil, ready, ready), 1},
	} {
		require.Equal(t, tc.want, tc.c.least(), tc.name)
	}
}

// Polling costs one request, and one more while something is missing.
func TestPollingIsCheap(t *testing.T) {
	c := newCluster(t, 2)
	c.change(func() { c.room = 2 })
	a := c.actuator(t, nil)
	require.NoError(t, a.Scale(t.Context(), target, 3, fence(2)))
	require.LessOrEqual(t, a.Capabilities().Poll, time.Second)
	for range 5 {
		c.change(func() { c.asked = nil })
		_, err := a.Observe(t.Context(), target)
		require.NoError(t, err)
		c.change(func() { require.LessOrEqual(t, len(c.asked), 2, c.asked) })
	}
}

func TestErrorsOfOurOwnContext(t *testing.T) {
	c := newCluster(t, 2)
	a := c.actuator(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := a.Observe(ctx, target)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, actuators.ErrUnknownOutcome)
}
