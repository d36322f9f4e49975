//go:build e2e && unix

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/webhook"
)

// repeatSoon is a short repeat_interval: what an operator has switched on is
// done when Alertmanager comes again.
const repeatSoon = 5 * time.Second

// From a shortage to an existing scaling system and back, through a real
// Alertmanager: what it groups, silences and inhibits, what comes a thousand
// times, what an operator holds, and everything that acts for nobody.
func TestScalingSystemThroughAlertmanager(t *testing.T) {
	t.Parallel()
	lab.Build(t, harness.ZetaScaler)
	p := newPools(t, "a", "b", "listed", "found", "dry")
	s := newPipeline(t, "pools", p, p.scope(t, "a", 5*time.Second, actsByWebhook)+p.scope(t, "b", 5*time.Second, actsByWebhook)+
		p.scope(t, "listed", 5*time.Second)+
		"  - match: {cluster: dry}\n    rule_set: pools\n    bounds: {max_workers: 50}\n    mode: webhook\n", repeatSoon)

	t.Run("two scopes in one notification", func(t *testing.T) { grouped(t, s) })
	t.Run("nothing acts by default", func(t *testing.T) { defaults(t, s) })
	t.Run("a silence and an inhibition", func(t *testing.T) { suppressed(t, s) })
	t.Run("a thousand times", func(t *testing.T) { thousandfold(t, s) })
	t.Run("no credential, no such recommendation", func(t *testing.T) { refused(t, s) })
	t.Run("pause and resume", func(t *testing.T) { paused(t, s) })
	t.Run("mode at run time", func(t *testing.T) { modeAtRunTime(t, s) })
	p.verify(t)
}

func grouped(t *testing.T, s *pipeline) {
	const accepted = `zeta_scaler_webhook_alerts_total{result="accepted"}`
	before := s.counted(t, accepted)
	s.pools.wants("a", "b")
	var ids []string
	for _, scope := range []string{"a", "b"} {
		x := s.ends(t, scope, 2, scaling.ActionSucceeded)
		require.Equal(t, succeeded(), statesOf(&x))
		require.Equal(t, "webhook", x.Actuator)
		asked := s.pools.asked(scope)
		require.Len(t, asked, 1)
		require.Equal(t, x.RecommendationID, asked[0].RecommendationID)
		require.Equal(t, 2, *asked[0].Want)
		require.Equal(t, 1, *asked[0].From)
		ids = append(ids, x.RecommendationID)
	}
	require.True(t, s.relay.together(ids...), "one notification has both")
	require.InDelta(t, before+2, s.counted(t, accepted), 0)
}

// defaults goes through every way not to say that a scope acts.
func defaults(t *testing.T, s *pipeline) {
	s.pools.wants("listed", "found", "dry")
	for _, scope := range []string{"listed", "found"} {
		s.relay.waitForResult(t, s.asks(t, scope, 2).RecommendationID, scaling.VerdictAdvisory)
	}
	dry := s.ends(t, "dry", 2, scaling.ActionSucceeded)
	require.Equal(t, "log", dry.Actuator)
	list, err := s.actions(t.Context())
	require.NoError(t, err)
	for _, scope := range []string{"listed", "found", "dry"} {
		require.Empty(t, s.pools.asked(scope))
		require.Equal(t, scope == "dry", slices.ContainsFunc(list, func(x scaling.Execution) bool { return x.Scope == scope }), scope)
	}
	s.pools.rests("listed", "found", "dry")

	for _, mode := range []scaling.Mode{scaling.Webhook, scaling.Direct} {
		code, text := s.setMode(t, "found", mode)
		require.Equal(t, http.StatusUnprocessableEntity, code, "a scope that is not listed acts never: %s", text)
		config := filepath.Join(lab.Dir, "acting-by-default.yml")
		require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, "scope_defaults: {mode: %s}\n", mode), 0o600))
		out, err := exec.CommandContext(t.Context(), lab.Build(t, harness.ZetaScaler), "check", "config", config).CombinedOutput()
		require.Error(t, err, "a mode for all: %s", out)
		require.Contains(t, string(out), "mode")
	}
}

func suppressed(t *testing.T, s *pipeline) {
	a, b := len(s.pools.asked("a")), len(s.pools.asked("b"))
	silence := silenceScope(t, s.am.url, "a")
	s.pools.wants("a", "b")
	s.held(t, "a", "silencedBy")
	s.ends(t, "b", 3, scaling.ActionSucceeded)
	require.Len(t, s.pools.asked("a"), a, "silenced")
	request(t, http.MethodDelete, s.am.url+"/api/v2/silence/"+silence, nil)
	s.ends(t, "a", 3, scaling.ActionSucceeded)

	maintenance := func(until time.Time) {
		request(t, http.MethodPost, s.am.url+"/api/v2/alerts", []map[string]any{{
			"labels": map[string]string{"alertname": "Maintenance", "scope": "b"}, "endsAt": until.UTC().Format(time.RFC3339),
		}})
	}
	maintenance(time.Now().Add(time.Hour))
	s.people.wait(t, "Maintenance", "firing")
	s.pools.wants("a", "b")
	s.held(t, "b", "inhibitedBy")
	s.ends(t, "a", 4, scaling.ActionSucceeded)
	require.Len(t, s.pools.asked("b"), b+1, "inhibited")
	maintenance(time.Now())
	s.ends(t, "b", 4, scaling.ActionSucceeded)
	require.Len(t, s.pools.asked("a"), a+2)
	require.Len(t, s.pools.asked("b"), b+2)
}

// thousandfold delivers one notification a thousand times at once, to a scope
// whose Alertmanager is cut off meanwhile.
func thousandfold(t *testing.T, s *pipeline) {
	const times, atOnce = 1000, 40
	before := len(s.pools.asked("a"))
	s.relay.setShut(true)
	s.pools.wants("a")
	id := s.asks(t, "a", 5).RecommendationID
	body, err := json.Marshal(map[string]any{"version": "4", "alerts": []map[string]any{
		{"status": "firing", "labels": map[string]string{"recommendation": id}},
	}})
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: atOnce}, Timeout: carriedOutWithin}
	defer client.CloseIdleConnections()
	results := make(chan string, times)
	began := time.Now()
	var wg sync.WaitGroup
	for range atOnce {
		wg.Go(func() {
			for range times / atOnce {
				code, _, text, err := call(t.Context(), client, http.MethodPost, s.url("/webhook/alertmanager"), token, body)
				var reply webhook.Reply
				if err == nil && code == http.StatusOK {
					err = json.Unmarshal(text, &reply)
				}
				switch {
				case err != nil:
					results <- err.Error()
				case len(reply.Results) != 1:
					results <- fmt.Sprintf("%d %s", code, text)
				default:
					results <- string(reply.Results[0].Result)
				}
			}
		})
	}
	wg.Wait()
	close(results)
	count := map[string]int{}
	for r := range results {
		count[r]++
	}
	t.Logf("%d notifications, %d at once, in %s: %v", times, atOnce, time.Since(began).Round(time.Millisecond), count)
	require.Equal(t, 1, count["accepted"])
	// Once it is carried out, nothing asks for it any more.
	require.Equal(t, times-1, count["duplicate"]+count["superseded"])
	s.ends(t, "a", 5, scaling.ActionSucceeded)
	s.relay.setShut(false)
	require.Len(t, s.pools.asked("a"), before+1)
}

func refused(t *testing.T, s *pipeline) {
	before, a := len(s.pools.asked("b")), len(s.pools.asked("a"))
	s.relay.setShut(true)
	s.pools.wants("b")
	r := s.asks(t, "b", 5)
	id := r.RecommendationID
	body, err := json.Marshal(map[string]any{"version": "4", "alerts": []map[string]any{
		{"status": "firing", "labels": map[string]string{"recommendation": id}},
	}})
	require.NoError(t, err)
	for _, path := range []string{"/webhook/alertmanager", "/autoscaler/pause", "/autoscaler/resume"} {
		for _, bearer := range []string{"", "guessed"} {
			code, _, text, err := call(t.Context(), http.DefaultClient, http.MethodPost, s.url(path), bearer, body)
			require.NoError(t, err)
			require.Equal(t, http.StatusUnauthorized, code, "%s with %q: %s", path, bearer, text)
		}
	}
	code, _, text, err := call(t.Context(), http.DefaultClient, http.MethodPut, s.url("/autoscaler/config"), "", []byte(`{"scopes":[{"scope":"listed","mode":"webhook"}]}`), "If-Match", "*")
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, code, "%s", text)

	ids := map[string]string{
		"garbage": "unknown", "1-1-nowhere": "unknown", "-1-1-b": "unknown", "1-1": "unknown",
		scaling.RecommendationID(r.MasterEpoch, r.Generation+1, "b"): "unknown",
		scaling.RecommendationID(r.MasterEpoch, r.Generation-1, "b"): "superseded",
		// The number of one scope with the name of another is that other's.
		scaling.RecommendationID(r.MasterEpoch, 1, "a"): "superseded",
	}
	for id, want := range ids {
		require.Equal(t, want, s.deliver(t, "firing", id)[id], id)
	}
	require.Len(t, s.pools.asked("b"), before)
	require.Len(t, s.pools.asked("a"), a)
	s.relay.setShut(false)
	s.ends(t, "b", 5, scaling.ActionSucceeded)
	require.Contains(t, s.relay.said(id), scaling.VerdictAccepted)
}

func paused(t *testing.T, s *pipeline) {
	before := len(s.pools.asked("a"))
	s.relay.setShut(true)
	s.pools.wants("a")
	id := s.asks(t, "a", 6).RecommendationID
	code, text := s.post(t, "/autoscaler/pause", []byte(`{"scope":"a","reason":"an upgrade"}`))
	require.Equal(t, http.StatusOK, code, "%s", text)
	// From the next tick on, nothing asks for it any more.
	require.Contains(t, []string{"paused", "superseded"}, s.deliver(t, "firing", id)[id])
	s.relay.setShut(false)
	client := api.Client{BaseURL: s.url("")}
	harness.Wait(t, carriedOutWithin, "a is paused and recommends nothing", func(ctx context.Context) error {
		reply, err := client.Status(ctx, "a")
		if err == nil && (!reply.Scopes[0].Paused || reply.Scopes[0].Recommendation.Row != scaling.RowPaused) {
			err = fmt.Errorf("%+v", decisionOf(reply.Scopes[0].Recommendation))
		}
		return err
	})
	require.Equal(t, "superseded", s.deliver(t, "firing", id)[id])
	require.Len(t, s.pools.asked("a"), before)

	code, text = s.post(t, "/autoscaler/resume", []byte(`{"scope":"a"}`))
	require.Equal(t, http.StatusOK, code, "%s", text)
	x := s.ends(t, "a", 6, scaling.ActionSucceeded)
	require.NotEqual(t, id, x.RecommendationID)
	require.Contains(t, s.relay.said(x.RecommendationID), scaling.VerdictAccepted)
	require.Len(t, s.pools.asked("a"), before+1)
}

func modeAtRunTime(t *testing.T, s *pipeline) {
	before := len(s.pools.asked("a"))
	code, text := s.setMode(t, "a", scaling.Advisory)
	require.Equal(t, http.StatusOK, code, "%s", text)
	require.NoError(t, s.Terminate(readyWithin))
	s.start(t)
	client := api.Client{BaseURL: s.url("")}
	harness.Wait(t, carriedOutWithin, "a is advisory after a restart", func(ctx context.Context) error {
		reply, err := client.Config(ctx, "a")
		if err == nil && (reply.Scopes[0].Mode.Value != scaling.Advisory || reply.Scopes[0].Mode.Origin != api.FromRuntime) {
			err = fmt.Errorf("%+v", reply.Scopes[0].Mode)
		}
		return err
	})
	s.pools.wants("a")
	r := s.asks(t, "a", 7)
	s.relay.waitForResult(t, r.RecommendationID, scaling.VerdictAdvisory)
	require.Len(t, s.pools.asked("a"), before)
	code, text = s.setMode(t, "a", scaling.Webhook)
	require.Equal(t, http.StatusOK, code, "%s", text)
	s.ends(t, "a", 7, scaling.ActionSucceeded)
	require.Len(t, s.pools.asked("a"), before+1)
}

// Alertmanager keeps alerts in memory alone: killed in the middle, it learns of
// them again from the service, and may tell twice what it had told.
func TestAlertmanagerDiesInBetween(t *testing.T) {
	t.Parallel()
	lab.Build(t, harness.ZetaScaler)
	p := newPools(t, "a")
	s := newPipeline(t, "am-dies", p, p.scope(t, "a", 30*time.Second, actsByWebhook), time.Hour)

	s.relay.setShut(true)
	p.wants("a")
	s.relay.waitForRefusal(t)
	s.am.Kill()
	s.relay.setShut(false)
	s.am.start(t)
	x := s.ends(t, "a", 2, scaling.ActionSucceeded)
	require.Equal(t, succeeded(), statesOf(&x))
	require.Len(t, p.asked("a"), 1)

	answered := make(chan struct{})
	p.with("a", func(x *pool) { x.faults = []fault{{until: answered}} })
	p.wants("a")
	p.waitForRequest(t, "a", 2)
	s.am.Kill()
	s.am.start(t)
	s.relay.waitForResult(t, p.asked("a")[1].RecommendationID, scaling.VerdictDuplicate)
	close(answered)
	x = s.ends(t, "a", 3, scaling.ActionSucceeded)
	require.Equal(t, succeeded(), statesOf(&x))
	require.Len(t, p.asked("a"), 2)
	p.verify(t)
}

// The service is killed while Alertmanager tells it, and while the scaling
// system has its request.
func TestServeDiesInBetween(t *testing.T) {
	t.Parallel()
	lab.Build(t, harness.ZetaScaler)
	p := newPools(t, "told", "acts", "drops")
	short := "    convergence_timeout: 8s"
	s := newPipeline(t, "serve-dies", p, p.scope(t, "told", 5*time.Second, actsByWebhook)+
		p.scope(t, "acts", 30*time.Second, actsByWebhook)+p.scope(t, "drops", 30*time.Second, actsByWebhook, short), time.Hour)

	s.relay.setShut(true)
	p.wants("told")
	before := s.asks(t, "told", 2)
	s.relay.waitForRefusal(t)
	s.Kill()
	s.relay.setShut(false)
	s.start(t)
	x := s.ends(t, "told", 2, scaling.ActionSucceeded)
	require.Equal(t, succeeded(), statesOf(&x))
	require.Greater(t, x.MasterEpoch, before.MasterEpoch)
	require.Len(t, p.asked("told"), 1)
	require.NotContains(t, s.relay.said(before.RecommendationID), scaling.VerdictAccepted)
	require.Equal(t, "stale_epoch", s.deliver(t, "firing", before.RecommendationID)[before.RecommendationID])

	answered := make(chan struct{})
	p.with("acts", func(x *pool) { x.faults = []fault{{until: answered}} })
	p.with("drops", func(x *pool) { x.faults = []fault{{until: answered, drop: true}} })
	p.wants("acts", "drops")
	p.waitForRequest(t, "acts", 1)
	p.waitForRequest(t, "drops", 1)
	s.Kill()
	s.start(t)
	close(answered)

	lost := append(succeeded()[:2:2], scaling.ActionUnknown, scaling.ActionConverging, scaling.ActionSucceeded)
	x = s.ends(t, "acts", 2, scaling.ActionSucceeded)
	require.Equal(t, p.asked("acts")[0].RecommendationID, x.RecommendationID)
	require.Equal(t, lost, statesOf(&x))
	require.Len(t, p.asked("acts"), 1, "not asked again")

	failed := s.ends(t, "drops", 2, scaling.ActionFailed)
	require.Equal(t, p.asked("drops")[0].RecommendationID, failed.RecommendationID)
	require.Equal(t, append(succeeded()[:2:2], scaling.ActionUnknown, scaling.ActionFailed), statesOf(&failed))
	x = s.ends(t, "drops", 2, scaling.ActionSucceeded)
	require.NotEqual(t, failed.RecommendationID, x.RecommendationID)
	asked := p.asked("drops")
	require.Len(t, asked, 2)
	require.False(t, x.Transitions[1].At.Before(failed.Transitions[3].At), "not before it was given up")
	p.verify(t)
}

// Everything that a scaling system may do wrong, each to a scope of its own.
func TestFaultsOfTheScalingSystem(t *testing.T) {
	t.Parallel()
	lab.Build(t, harness.ZetaScaler)
	refusals := map[string]struct {
		status int
		state  scaling.ActionState
	}{
		"forbidden": {http.StatusForbidden, scaling.ActionFailed},
		"stale":     {http.StatusConflict, scaling.ActionRejectedStale},
	}
	p := newPools(t, "slow", "broken", "lost", "stale", "forbidden")
	scopes := ""
	for c := range p.pools {
		timeout := 10 * time.Second
		if c == "slow" {
			timeout = time.Second
		}
		scopes += p.scope(t, c, timeout, actsByWebhook)
	}
	p.with("slow", func(x *pool) { x.faults = []fault{{late: 3 * time.Second}} })
	p.with("broken", func(x *pool) { x.faults = []fault{{status: 500}, {status: 503}} })
	p.with("lost", func(x *pool) { x.faults = []fault{{lose: true}} })
	// These two go on until somebody has heard of it.
	for scope, refusal := range refusals {
		p.with(scope, func(x *pool) { x.always = fault{status: refusal.status} })
	}
	s := newPipeline(t, "faults", p, scopes, time.Hour)
	p.wants("slow", "broken", "lost", "stale", "forbidden")

	unknown := append(succeeded()[:2:2], scaling.ActionUnknown, scaling.ActionConverging, scaling.ActionSucceeded)
	for scope, want := range map[string]struct {
		states []scaling.ActionState
		asked  int
	}{
		"slow":   {unknown, 1},
		"lost":   {unknown, 1},
		"broken": {succeeded(), 3},
	} {
		x := s.ends(t, scope, 2, scaling.ActionSucceeded)
		require.Equal(t, want.states, statesOf(&x), scope)
		asked := p.asked(scope)
		require.Len(t, asked, want.asked, scope)
		for _, q := range asked {
			require.Equal(t, x.RecommendationID, q.RecommendationID)
		}
	}

	for scope, refusal := range refusals {
		t.Run(scope, func(t *testing.T) { refusedAndTried(t, s, scope, refusal.status, refusal.state) })
	}
	p.verify(t)
}

// refusedAndTried follows a scope whose requests are refused: nothing is asked
// again under its id, somebody hears of it, and once the system is willing the
// next recommendation is carried out.
func refusedAndTried(t *testing.T, s *pipeline, scope string, status int, state scaling.ActionState) {
	refused := s.ends(t, scope, 2, state)
	require.Contains(t, refused.Error, fmt.Sprint(status))
	require.Equal(t, append(succeeded()[:2:2], state), statesOf(&refused))
	alert := s.told(t, "ZetaActionFailed", scope, "firing")
	require.Contains(t, alert.Annotations["error"], fmt.Sprint(status))
	s.pools.with(scope, func(x *pool) { x.always = fault{} })

	x := s.ends(t, scope, 2, scaling.ActionSucceeded)
	require.Equal(t, succeeded(), statesOf(&x))
	require.Greater(t, x.Generation, refused.Generation, "asked for again under another id")
	require.Equal(t, alert.Labels, s.told(t, "ZetaActionFailed", scope, "resolved").Labels)
	ids := map[string]bool{}
	for _, q := range s.pools.asked(scope) {
		require.False(t, ids[q.RecommendationID], "what was refused is not asked again under its id")
		ids[q.RecommendationID] = true
	}
	require.True(t, ids[refused.RecommendationID] && ids[x.RecommendationID])
}
