//go:build e2e && unix

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/zeta"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// The full loop on a real cluster: rejected jobs → SCALE_OUT → alert →
// Alertmanager → webhook → a command starts a real worker → Zeta's inventory
// shows it → SUCCEEDED → cooldown → the next job runs.
func TestFullLoopOnRealZeta(t *testing.T) {
	t.Parallel()
	lab.Build(t, harness.ZetaScaler) // what does not compile is known before a cluster is there
	address := harness.FreeAddress(t)
	am := newManager(t, "loop-alertmanager", harness.URL(address)+"/webhook/alertmanager")
	am.start(t)
	s := &story{t: t, zeta: zeta.Start(t, lab, 2)}
	s.zeta.StartWorkers(t, 1)
	commands := newOrders(t)
	self, err := os.Executable()
	require.NoError(t, err)
	acting := newScaler(t, "serve", "loop", fmt.Sprintf(`# %%s
web: {listen_address: %q, bearer_tokens_file: %q}
embedded: {path: %q, retention: 1h}
clusters: [{name: %s, urls: ["%s"]}]
rule_sets: [{file: %q}]
scopes:
  - match: {cluster: %s}
    rule_set: e2e
    bounds: {min_workers: 1, max_workers: 2} # a second action would be as right as the first
    mode: webhook
    cooldown: 10m # it is still on when the test looks, however late that is
    actuator: {exec: {command: %q, args: [%s, %q], timeout: 2m, target: real}}
scope_defaults: {rule_set: e2e}
state: {path: %q}
leadership: {lock_file: %q}
alerting: {alertmanagers: [{url: %q}], resend_delay: 2s}
`, address, tokenFile(t), filepath.Join(lab.Dir, "loop-tsdb"), clusterName, s.zeta.URL,
		filepath.Join(lab.Root, "e2e", "testdata", "rules.yaml"), clusterName, self, forwardTo, commands.URL,
		filepath.Join(lab.Dir, "loop.db"), filepath.Join(lab.Dir, "loop.lock"), am.url))
	acting.address = address
	acting.start(t)

	s.submit(t, 1)
	s.zeta.WaitForFreeSlots(t, patience, 0)
	stop := s.stream(t)
	x := commands.take(t, patience, func(x order) {
		stop()
		require.Equal(t, order{Verb: "scale", Scope: clusterName, Target: "real", Want: 2, RecommendationID: x.RecommendationID, MasterEpoch: 1}, x)
		require.Regexp(t, `^1-\d+-real$`, x.RecommendationID)
		s.zeta.StartWorkers(t, 2)
	})
	done := acting.waitForAction(t, patience, "an action that succeeded", inState(2, scaling.ActionSucceeded))
	require.Equal(t, x.RecommendationID, done.RecommendationID)
	require.Equal(t, succeeded(), statesOf(&done))
	require.Equal(t, 1, *done.From)
	require.Equal(t, "exec", done.Actuator)
	acting.waitFor(t, patience, "2 workers", func(d decision) bool { return d.Current == "2" })
	harness.Wait(t, patience, "the scope rests from convergence on", func(ctx context.Context) error {
		st, err := acting.status(ctx)
		if err != nil {
			return err
		}
		if st.CooldownRemainingSeconds <= 0 || st.Action == nil || st.Action.State != scaling.ActionSucceeded {
			return fmt.Errorf("%v s left, action %+v", st.CooldownRemainingSeconds, st.Action)
		}
		return nil
	})

	// What could not run before runs now.
	s.submit(t, 1)

	// The same notification a thousand times executes once.
	for range 1000 {
		result := acting.deliver(t, "firing", x.RecommendationID)[x.RecommendationID]
		require.Contains(t, []string{"duplicate", "superseded"}, result)
	}
	commands.none(t)
	list, err := acting.actions(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1, "%s", summary(list))

	// Killed and started again, it neither forgets nor repeats.
	acting.Kill()
	acting.start(t)
	acting.waitFor(t, patience, "2 workers", func(d decision) bool { return d.Current == "2" })
	again, err := acting.actions(t.Context())
	require.NoError(t, err)
	require.Equal(t, list, again)
	require.Equal(t, "duplicate", acting.deliver(t, "firing", x.RecommendationID)[x.RecommendationID])
	commands.none(t)
	require.WithinDuration(t, time.Now(), done.Transitions[len(done.Transitions)-1].At, 5*time.Minute)
}
