//go:build e2e && unix

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeactuator "github.com/zeta-scaler/zeta-scaler/actuators/kubernetes"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/kube"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	statekubernetes "github.com/zeta-scaler/zeta-scaler/state/kubernetes"
)

// lostWithin is how soon a leader that cannot renew its lease of 2 s shows it,
// on a busy machine; what it has under way ends after 10 s at the earliest.
const lostWithin = 9 * time.Second

// Two replicas of serve on a real control plane: one leads, and whatever becomes
// of it, every worker is asked for once.
func TestServeOnKubernetes(t *testing.T) {
	lab.Build(t, harness.ZetaScaler) // what does not compile is known before a cluster is there
	p := newPair(t, kube.Start(t, lab, kube.Options{Workloads: true}))
	t.Run("one leads and scales", p.oneLeadsAndScales)
	for _, k := range kills() {
		t.Run("killed "+k.String(), func(t *testing.T) { p.killed(t, k) })
	}
	for _, f := range freezes() {
		t.Run("frozen "+f.String(), func(t *testing.T) { p.frozen(t, f) })
	}
	t.Run("asked to end", p.handedOver)
	t.Run("rights", p.rightsWereEnough)
	t.Run("the API server is away", p.serverAway) // last: at its start it knows no roles yet
}

// oneLeadsAndScales: the other one has no decisions of its own, shows and asks the
// leader, and is ready to take over all the same.
func (p *pair) oneLeadsAndScales(t *testing.T) {
	leader, follower := p.leader(t)
	for _, r := range p.replicas {
		_, err := harness.Get(t.Context(), r.url("/-/ready"))
		require.NoError(t, err)
	}
	harness.Wait(t, actsWithin, "the leader shows its decisions", func(ctx context.Context) error {
		page, err := harness.Get(ctx, leader.url("/metrics"))
		if err == nil && !strings.Contains(page, "\nseatunnel_autoscaler_") {
			err = fmt.Errorf("it has none yet")
		}
		return err
	})
	page, err := harness.Get(t.Context(), follower.url("/metrics"))
	require.NoError(t, err)
	require.NotContains(t, page, "seatunnel_autoscaler_")
	checkMetricsPage(t, page)

	before, epoch := p.mark(t, leader), p.epoch(t)
	p.goal.Store(3)
	fresh := p.settles(t, leader, 3, before)
	require.Len(t, fresh, 1)
	done := fresh[0]
	require.Equal(t, succeeded(), statesOf(&done))
	require.Equal(t, 2, *done.From)
	require.Equal(t, "kubernetes", done.Actuator)
	meta, _ := p.workload(t)
	require.Equal(t, map[string]string{
		kubeactuator.EpochAnnotation:          strconv.FormatUint(epoch, 10),
		kubeactuator.GenerationAnnotation:     strconv.FormatUint(done.Generation, 10),
		kubeactuator.RecommendationAnnotation: done.RecommendationID,
		kubeactuator.ActionAnnotation:         done.ID,
		kubeactuator.ReplicasAnnotation:       "3",
		kubeactuator.UIDAnnotation:            string(meta.UID),
	}, meta.Annotations)

	// Alertmanager asks again, and finds the leader.
	body := fmt.Appendf(nil, `{"version": "4", "groupKey": "{}", "status": "firing", "receiver": "scaler", "alerts": [
		{"status": "firing", "labels": {"alertname": "ZetaScaleOutRecommended", "action": "SCALE_OUT", "recommendation": %q}}]}`, done.RecommendationID)
	for _, r := range p.replicas {
		code, text := r.post(t, "/webhook/alertmanager", body)
		require.Equal(t, http.StatusOK, code, "%s: %s", r.Name, text)
	}
	p.readsGoToTheLeader(t)

	// Both tell what was done: it is in the store that they share.
	for _, r := range p.replicas {
		list, err := r.actions(t.Context())
		require.NoError(t, err)
		require.Len(t, list, 1, r.Name)
		require.Equal(t, done.ID, list[0].ID)
	}
	harness.Wait(t, actsWithin, "the workload has Events", func(ctx context.Context) error {
		events, err := p.Admin.CoreV1().Events(p.namespace).List(ctx, metav1.ListOptions{
			FieldSelector: "involvedObject.name=" + workerName + ",reason=ScalingReport",
		})
		if err == nil && len(events.Items) == 0 {
			err = fmt.Errorf("none yet")
		}
		return err
	})
}

// readsGoToTheLeader asks the replica that does not lead, and gets what the leader
// decides: it finds the leader by the Lease's epoch and the record in the store.
func (p *pair) readsGoToTheLeader(t *testing.T) {
	t.Helper()
	leader, follower := p.leader(t)
	harness.Wait(t, actsWithin, follower.Name+" shows what "+leader.Name+" decides", func(ctx context.Context) error {
		st, err := leader.status(ctx)
		if err != nil {
			return err
		}
		id := st.Recommendation.RecommendationID
		return harness.Shows(ctx, follower.url(""), map[string][]string{
			"/autoscaler/status":             {`"leader":false`, id},
			"/autoscaler/explain?scope=prod": {id},
			"/":                              {"This replica does not lead", "?scope=prod"},
			"/?scope=prod":                   {"This replica does not lead"},
		})
	})
}

// moment is between two steps of an action: before or after one of them.
type moment struct {
	name  string
	after bool
	// is says which request of the action to so many workers it is.
	is func(target int) func(step) bool
	// states are those that the action of the old leader has gone through in
	// the end; nil if it was never stored.
	states []scaling.ActionState
}

func (m *moment) String() string {
	if m.after {
		return "after " + m.name
	}
	return "before " + m.name
}

// named finds a step by its name.
func named(name string) func(int) func(step) bool {
	return func(target int) func(step) bool {
		return func(s step) bool { return s == step{name, target} }
	}
}

// readBeforeWrite is the read that a write of spec.replicas relies on: the first
// once the action is EXECUTING.
func readBeforeWrite(target int) func(step) bool {
	var executing atomic.Bool
	return func(s step) bool {
		if s == (step{string(scaling.ActionExecuting), target}) {
			executing.Store(true)
		}
		return s.name == stepRead && executing.Load()
	}
}

// What becomes of an action whose leader is gone: nothing was done, it turned
// out that nothing was done, that the platform had acted, or the request was
// known to be taken.
func lives() (notBegun, notDone, foundDone, goneOn []scaling.ActionState) {
	const (
		pending, executing, unknown = scaling.ActionPending, scaling.ActionExecuting, scaling.ActionUnknown
		converging, superseded      = scaling.ActionConverging, scaling.ActionSuperseded
	)
	return []scaling.ActionState{pending, superseded},
		[]scaling.ActionState{pending, executing, unknown, superseded},
		[]scaling.ActionState{pending, executing, unknown, converging, scaling.ActionSucceeded},
		succeeded()
}

func kills() []*moment {
	notBegun, notDone, foundDone, goneOn := lives()
	var out []*moment
	for _, s := range []struct {
		name          string
		before, after []scaling.ActionState
	}{
		{string(scaling.ActionPending), nil, notBegun},
		{string(scaling.ActionExecuting), notBegun, notDone},
		{stepScale, notDone, foundDone},
		{string(scaling.ActionConverging), foundDone, goneOn},
		{string(scaling.ActionSucceeded), goneOn, goneOn},
	} {
		out = append(out, &moment{s.name, false, named(s.name), s.before}, &moment{s.name, true, named(s.name), s.after})
	}
	return out
}

func freezes() []*moment {
	_, notDone, _, goneOn := lives()
	return []*moment{
		{"its read", true, readBeforeWrite, notDone},
		{stepScale, false, named(stepScale), notDone},
		{string(scaling.ActionConverging), true, named(string(scaling.ActionConverging)), goneOn},
	}
}

// caught waits until a trap has sprung.
func caught(t *testing.T, sprung <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-sprung:
		t.Log(what)
	case <-time.After(actsWithin):
		t.Fatalf("%s: it did not come to that within %s", what, actsWithin)
	}
}

// killed: kill −9, the moment being a request to the API server that is lost, or
// whose reply is.
func (p *pair) killed(t *testing.T, m *moment) {
	leader, follower := p.leader(t)
	before, epoch := p.mark(t, follower), p.epoch(t)
	want := before.replicas + 1
	sprung := make(chan struct{})
	leader.wire.trap.Store(&trap{is: m.is(want), executed: m.after, sprung: func() bool {
		leader.Kill()
		close(sprung)
		return false
	}})
	p.goal.Store(int64(want))
	caught(t, sprung, fmt.Sprintf("killed %s %s", leader.Name, m))
	now := p.takesOver(t, follower, epoch)
	p.startAgain(t, leader)
	p.requireEnds(t, m, p.settles(t, follower, want, before), epoch, now)
}

// requireEnds checks what became of the old leader's action, and that the new
// one has done what was left to do.
func (p *pair) requireEnds(t *testing.T, m *moment, fresh []scaling.Execution, old, now uint64) {
	t.Helper()
	var states []scaling.ActionState
	done := 0
	for i := range fresh {
		x := &fresh[i]
		if x.MasterEpoch == old {
			require.Nil(t, states, "two actions of one leader for one worker")
			states = statesOf(x)
		} else {
			require.Equal(t, now, x.MasterEpoch)
		}
		if x.State == scaling.ActionSucceeded {
			done++
		}
	}
	require.Equal(t, m.states, states)
	require.Equal(t, 1, done, "one action brought the worker")
}

// frozen: SIGSTOP past the lease. What the leader has sent or is about to send
// comes too late.
func (p *pair) frozen(t *testing.T, m *moment) {
	leader, follower := p.leader(t)
	before, epoch := p.mark(t, follower), p.epoch(t)
	want := before.replicas + 1
	written := len(leader.wire.scaled())
	refused := len(leader.wire.refusedFor(http.StatusConflict))
	sprung, release := make(chan struct{}), make(chan struct{})
	leader.wire.trap.Store(&trap{is: m.is(want), executed: m.after, sprung: func() bool {
		close(sprung)
		<-release
		return true
	}})
	p.goal.Store(int64(want))
	caught(t, sprung, fmt.Sprintf("%s is held %s", leader.Name, m))
	require.NoError(t, leader.Freeze())
	if m.name == string(scaling.ActionConverging) {
		written++
	}
	now := p.takesOver(t, follower, epoch)
	p.requireEnds(t, m, p.settles(t, follower, want, before), epoch, now)

	// It wakes up, and what it was doing goes on.
	meta, _ := p.workload(t)
	close(release)
	if m.name == stepScale {
		harness.Wait(t, actsWithin, "the late write has been answered", func(context.Context) error {
			if got := leader.wire.refusedFor(http.StatusConflict); len(got) == refused || !strings.HasPrefix(got[len(got)-1], "PATCH") {
				return fmt.Errorf("refused: %v", got)
			}
			return nil
		})
	}
	require.NoError(t, leader.Thaw())
	harness.Wait(t, actsWithin, leader.Name+" knows that it leads no longer", func(ctx context.Context) error {
		if yes, err := leader.leads(ctx); err != nil || yes {
			return fmt.Errorf("it leads: %t, %w", yes, err)
		}
		if log := read(t, leader.Log); !strings.Contains(log, fmt.Sprintf(`msg="leading no longer" epoch=%d`, epoch)) {
			return fmt.Errorf("its log does not say so")
		}
		return nil
	})
	again, replicas := p.workload(t)
	require.Equal(t, want, replicas)
	require.Equal(t, meta.Generation, again.Generation)
	require.Equal(t, meta.Annotations, again.Annotations)
	if m.name != string(scaling.ActionConverging) { // then there was nothing left to write
		require.Equal(t, strconv.FormatUint(now, 10), again.Annotations[kubeactuator.EpochAnnotation])
	}
	require.Len(t, leader.wire.scaled(), written, "it wrote nothing more")

	// It follows now, and the other one goes on.
	require.NoError(t, leader.Err())
	after := p.mark(t, leader)
	p.goal.Store(int64(want + 1))
	p.settles(t, leader, want+1, after)
	_, err := harness.Get(t.Context(), leader.url("/-/ready"))
	require.NoError(t, err)
	require.Equal(t, now, p.epoch(t))
}

// handedOver: a leader that is asked to end gives the lease up, so that nobody
// waits for it.
func (p *pair) handedOver(t *testing.T) {
	leader, follower := p.leader(t)
	before, epoch := p.mark(t, follower), p.epoch(t)
	held, err := p.Admin.CoordinationV1().Leases(p.stateNamespace).Get(t.Context(), statekubernetes.DefaultName, metav1.GetOptions{})
	require.NoError(t, err)
	asked := time.Now()
	require.NoError(t, leader.Terminate(readyWithin), "SIGTERM is a clean end")
	lease, err := p.Admin.CoordinationV1().Leases(p.stateNamespace).Get(t.Context(), statekubernetes.DefaultName, metav1.GetOptions{})
	require.NoError(t, err)
	require.NotEqual(t, *held.Spec.HolderIdentity, *lease.Spec.HolderIdentity, "it was given up")
	p.takesOver(t, follower, epoch)
	t.Logf("handed over in %s", time.Since(asked).Round(10*time.Millisecond))
	p.goal.Store(int64(before.replicas + 1))
	fresh := p.settles(t, follower, before.replicas+1, before)
	require.Len(t, fresh, 1)
	p.startAgain(t, leader)
	p.readsGoToTheLeader(t)
}

// serverAway: while the API server is away nobody leads and nobody ends; when it
// is back, somebody finds out what became of a write whose reply was lost.
func (p *pair) serverAway(t *testing.T) {
	leader, follower := p.leader(t)
	before, epoch := p.mark(t, follower), p.epoch(t)
	want := before.replicas + 1
	sprung, release := make(chan struct{}), make(chan struct{})
	leader.wire.trap.Store(&trap{is: named(stepScale)(want), executed: true, sprung: func() bool {
		close(sprung)
		<-release
		return false
	}})
	p.goal.Store(int64(want))
	caught(t, sprung, leader.Name+" has written, and does not know it yet")
	p.StopAPIServer(t)
	close(release)
	// The leader shows that at once, although its last calls still wait.
	harness.Wait(t, lostWithin, "nobody leads, and nobody is ready", func(ctx context.Context) error {
		for _, r := range p.replicas {
			if yes, err := r.leads(ctx); err != nil || yes {
				return fmt.Errorf("%s leads: %t, %w", r.Name, yes, err)
			}
			probe, cancel := context.WithTimeout(ctx, time.Second) // as a kubelet does
			_, err := harness.Get(probe, r.url("/-/ready"))
			cancel()
			if err == nil {
				return fmt.Errorf("%s says that it is ready", r.Name)
			}
		}
		return nil
	})
	p.StartAPIServer(t)
	now, _ := p.leader(t)
	_, _, foundDone, _ := lives()
	begun := 0
	for _, x := range p.settles(t, now, want, before) {
		if states := statesOf(&x); len(states) > 2 { // what only waited had nothing to do in the end
			begun++
			require.Equal(t, foundDone, states)
			require.Equal(t, epoch, x.MasterEpoch)
		}
	}
	require.Equal(t, 1, begun)
	require.Greater(t, p.epoch(t), epoch)
	for _, r := range p.replicas {
		harness.Wait(t, actsWithin, r.Name+" is ready", func(ctx context.Context) error {
			_, err := harness.Get(ctx, r.url("/-/ready"))
			return err
		})
	}
}

// rightsWereEnough: nothing was refused for want of a right in all that was done
// before.
func (p *pair) rightsWereEnough(t *testing.T) {
	for _, r := range p.replicas {
		require.NotEmpty(t, r.wire.scaled(), "%s has led and acted", r.Name)
		require.Empty(t, r.wire.refusedFor(http.StatusForbidden, http.StatusUnauthorized), r.Name)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}
