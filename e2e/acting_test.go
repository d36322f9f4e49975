//go:build e2e && unix

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// token is the bearer token of everybody who may change something.
const token = "e2e-token-of-this-run"

// tokenFile writes the token for programs that read one.
func tokenFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(lab.Dir, "token-"+filepath.Base(t.Name()))
	require.NoError(t, os.WriteFile(path, []byte(token+"\n"), 0o600))
	return path
}

// calling returns the configuration of an Alertmanager that calls back: every
// recommendation to scale out is told at once, and again when it ends.
func calling(webhook, tokens string) string {
	return fmt.Sprintf(`route:
  receiver: nobody
  routes:
    - matchers: ['action="SCALE_OUT"', 'recommendation!=""']
      receiver: scaler
      group_by: [alertname, action]
      group_wait: 0s
      group_interval: 1s
      repeat_interval: 1h
receivers:
  - name: nobody
  - name: scaler
    webhook_configs:
      - url: %q
        send_resolved: true
        http_config: {authorization: {credentials_file: %q}}
inhibit_rules:
  - {source_matchers: ['alertname="Maintenance"'], target_matchers: ['action="SCALE_OUT"'], equal: [scope]}
`, webhook, tokens)
}

// manager is an Alertmanager of these tests.
type manager struct {
	*harness.Process
	url     string
	command harness.Command
}

// newManager writes its configuration; the webhook need not be there yet.
func newManager(t *testing.T, name, webhook string) *manager {
	t.Helper()
	address := harness.FreeAddress(t)
	config := filepath.Join(lab.Dir, name+".yml")
	require.NoError(t, os.WriteFile(config, []byte(calling(webhook, tokenFile(t))), 0o600))
	return &manager{url: harness.URL(address), command: harness.Command{
		Name: name, Path: lab.Build(t, alertmanagerProgram("alertmanager")), Args: []string{
			"--config.file=" + config, "--storage.path=" + filepath.Join(lab.Dir, name+"-data"), "--web.listen-address=" + address,
			"--cluster.listen-address=", "--log.level=warn",
		},
	}}
}

func (m *manager) start(t *testing.T) { m.Process = startAlertmanager(t, m.command, m.url) }

// actions are those of the service, newest first.
func (s *scaler) actions(ctx context.Context) ([]scaling.Execution, error) {
	body, err := harness.Get(ctx, s.url("/autoscaler/actions"))
	if err != nil {
		return nil, err
	}
	var page api.ActionsPage
	return page.Actions, json.Unmarshal([]byte(body), &page)
}

// waitForAction waits for an action that satisfies accept.
func (s *scaler) waitForAction(t *testing.T, limit time.Duration, what string, accept func(*scaling.Execution) bool) scaling.Execution {
	t.Helper()
	var found scaling.Execution
	harness.Wait(t, limit, s.Name+" has "+what, func(ctx context.Context) error {
		list, err := s.actions(ctx)
		if err != nil {
			return err
		}
		for i := range list {
			if accept(&list[i]) {
				found = list[i]
				return nil
			}
		}
		return fmt.Errorf("%d actions, none is it: %s", len(list), summary(list))
	})
	t.Logf("  %s", summary([]scaling.Execution{found}))
	return found
}

// summary is one line about actions.
func summary(list []scaling.Execution) string {
	var out []string
	for i := range list {
		x := &list[i]
		text := fmt.Sprintf("%s → %d:", x.ID, x.Target)
		for _, tr := range x.Transitions {
			text += " " + string(tr.State)
		}
		if x.Error != "" {
			text += " (" + x.Error + ")"
		}
		out = append(out, text)
	}
	return fmt.Sprint(out)
}

func statesOf(x *scaling.Execution) []scaling.ActionState {
	var out []scaling.ActionState
	for _, tr := range x.Transitions {
		out = append(out, tr.State)
	}
	return out
}

// succeeded is the life of an action that goes well.
func succeeded() []scaling.ActionState {
	return []scaling.ActionState{scaling.ActionPending, scaling.ActionExecuting, scaling.ActionConverging, scaling.ActionSucceeded}
}

// order is what an actuator asks for.
type order struct {
	Verb             string `json:"verb"`
	Scope            string `json:"scope"`
	Target           string `json:"target"`
	Want             int    `json:"want"`
	RecommendationID string `json:"recommendationId"`
	MasterEpoch      uint64 `json:"masterEpoch"`
}

// orders takes them from a command and hands them to the test, whose goroutine
// alone may start programs.
type orders struct {
	*httptest.Server
	incoming chan order
	done     chan struct{}
}

func newOrders(t *testing.T) *orders {
	t.Helper()
	o := &orders{incoming: make(chan order), done: make(chan struct{})}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var x order
		if err := json.NewDecoder(r.Body).Decode(&x); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		select {
		case o.incoming <- x:
			<-o.done
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(o.Close)
	return o
}

// take waits for the next order, lets act carry it out and answers.
func (o *orders) take(t *testing.T, limit time.Duration, act func(order)) order {
	t.Helper()
	select {
	case x := <-o.incoming:
		t.Logf("  the command is called: %+v", x)
		act(x)
		o.done <- struct{}{}
		return x
	case <-time.After(limit):
		t.Fatalf("no order within %s", limit)
		return order{}
	}
}

// none requires that nothing is ordered while a condition comes true.
func (o *orders) none(t *testing.T) {
	t.Helper()
	select {
	case x := <-o.incoming:
		t.Fatalf("an order that nobody expected: %+v", x)
	default:
	}
}

// deliver posts a notification to the webhook as Alertmanager would, and
// returns the results by recommendation.
func (s *scaler) deliver(t *testing.T, status string, ids ...string) map[string]string {
	t.Helper()
	type alert struct {
		Status string            `json:"status"`
		Labels map[string]string `json:"labels"`
	}
	var alerts []alert
	for _, id := range ids {
		alerts = append(alerts, alert{status, map[string]string{"alertname": "ZetaScaleOutRecommended", "action": "SCALE_OUT", "recommendation": id}})
	}
	body, err := json.Marshal(map[string]any{"version": "4", "groupKey": "{}", "status": status, "receiver": "scaler", "alerts": alerts})
	require.NoError(t, err)
	code, text := s.post(t, "/webhook/alertmanager", body)
	require.Equal(t, http.StatusOK, code, "%s", text)
	var reply struct {
		Results []struct{ Recommendation, Result string }
	}
	require.NoError(t, json.Unmarshal(text, &reply))
	out := map[string]string{}
	for _, r := range reply.Results {
		out[r.Recommendation] = r.Result
	}
	return out
}

// inState accepts an action of a target in one of the states.
func inState(target int, states ...scaling.ActionState) func(*scaling.Execution) bool {
	return func(x *scaling.Execution) bool { return x.Target == target && slices.Contains(states, x.State) }
}

// post makes a changing call with the token.
func (s *scaler) post(t *testing.T, path string, body []byte) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url(path), bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, text
}
