//go:build e2e && unix

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

const (
	// blackboxRuns is how many lives are played; RUNS is another number.
	blackboxRuns = 20
	// blackboxLife is how long chance rules in each of them.
	blackboxLife = 4 * time.Second
	// configuredMost is max_workers of the configuration.
	configuredMost = 9
	// settled is how long after a reply what it says may not be true yet for a
	// call that is on its way: as long as the actuator waits for one.
	settled = time.Second
)

// TestBlackBox plays lives of a service that is killed at any moment, with a
// platform that loses replies, hangs and refuses, an Alertmanager that is killed
// too, pauses, and bounds that change, and looks from outside at what must never
// happen. A seed repeats the choices of a life, though not its timing: the seed
// of the first is printed, BLACKBOX_SEED sets it.
func TestBlackBox(t *testing.T) {
	runs, seed := blackboxRuns, uint64(time.Now().UnixNano())
	if n, err := strconv.Atoi(os.Getenv("RUNS")); err == nil {
		runs = n
	}
	if n, err := strconv.ParseUint(os.Getenv("BLACKBOX_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("%d runs from BLACKBOX_SEED=%d on", runs, seed)
	var kills, calls, accepted int
	for i := range runs {
		seed := seed + uint64(i)
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Logf("RUNS=1 BLACKBOX_SEED=%d", seed)
			l := newLife(t, i, seed)
			l.live()
			l.judge()
			kills, calls, accepted = kills+l.kills, calls+len(l.world.asked()), accepted+len(l.accepted)
		})
	}
	t.Logf("%d kills, %d calls of the platform, %d accepted by the webhook", kills, calls, accepted)
	if runs >= blackboxRuns {
		require.Greater(t, kills, runs, "the lives were too quiet to show anything")
		require.Greater(t, calls, runs)
		require.Greater(t, accepted, runs/2)
	}
}

// life is one service with its world.
type life struct {
	t       *testing.T
	chance  *rand.Rand
	world   *world
	service *scaler
	manager *manager // nil: the test delivers what Alertmanager would
	kills   int

	// accepted are the recommendations that the webhook has answered for.
	accepted map[string]bool
	// claims are what was acknowledged.
	claims []claim
	// epoch and generation are the newest that were shown.
	epoch, generation uint64
}

// claim is what a reply has promised from a time on; until is zero while it
// holds.
type claim struct {
	from, until time.Time
	paused      bool
	most        int
}

func newLife(t *testing.T, i int, seed uint64) *life {
	t.Helper()
	l := &life{t: t, chance: rand.New(rand.NewPCG(seed, 1)), world: newWorld(t, seed), accepted: map[string]bool{}}
	name := fmt.Sprintf("blackbox-%d", i)
	dir := filepath.Join(lab.Dir, name)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte(blackboxRules), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokens"), []byte(token+"\n"), 0o600))
	alerting := ""
	config := `web: {listen_address: "%%s", bearer_tokens_file: %[1]s/tokens}
prometheus: {urls: [%[2]q], timeout: 1s}
rule_sets: [{file: %[1]s/rules.yaml}]
state: {path: %[1]s/state.db}
scope_defaults: {discover: false}
scopes:
  - match: {cluster: prod}
    mode: webhook
    bounds: {max_workers: %[4]d}
    cooldown: 0s
    failure_backoff: 1s
    convergence_timeout: 2s
    actuator: {webhook: {url: %[2]s/platform, target: pool, timeout: 1s}}
%[3]s`
	l.service = newScaler(t, "serve", name, "%s")
	if i%2 == 1 {
		l.manager = newManager(t, name+"-alertmanager", l.service.url("/webhook/alertmanager"))
		l.manager.start(t)
		alerting = fmt.Sprintf("alerting: {resend_delay: 1s, alertmanagers: [{url: %q}]}\n", l.manager.url)
	}
	text := fmt.Sprintf(config, dir, l.world.URL, alerting, configuredMost)
	require.NoError(t, os.WriteFile(filepath.Join(lab.Dir, name+".yml"), []byte(fmt.Sprintf(text, l.service.address)), 0o600))
	return l
}

// live lets chance rule for a while, and then everything go on in peace until
// nothing is under way.
func (l *life) live() {
	l.service.start(l.t)
	for end := time.Now().Add(blackboxLife); time.Now().Before(end); {
		l.look()
		switch l.chance.IntN(9) {
		case 0, 1:
			l.kill()
		case 2:
			if l.manager != nil {
				l.manager.Kill()
				l.manager.start(l.t)
			}
		case 3:
			l.change(http.MethodPost, "/autoscaler/pause", `{"scope": "prod", "reason": "chance"}`, pauses, &claim{paused: true})
		case 4, 5:
			l.resume()
		case 6:
			most := 2 + l.chance.IntN(configuredMost-1)
			l.change(http.MethodPut, "/autoscaler/config", fmt.Sprintf(`{"scopes": [{"scope": "prod", "maxWorkers": %d}]}`, most), !pauses, &claim{most: most})
		case 7:
			l.world.shrink()
		default:
			l.deliver()
		}
		l.deliver()
		time.Sleep(time.Duration(l.chance.IntN(300)) * time.Millisecond)
	}
	l.kill()
	l.resume()
	l.look()
}

// kill ends the service at once and starts it again.
func (l *life) kill() {
	l.kills++
	l.service.Kill()
	l.service.start(l.t)
}

// look reads what is shown, which never goes back.
func (l *life) look() {
	var s api.ScopeStatus
	harness.Wait(l.t, patience, "a decision is shown", func(ctx context.Context) (err error) {
		s, err = l.service.status(ctx)
		return err
	})
	r := &s.Recommendation
	require.GreaterOrEqual(l.t, r.MasterEpoch, l.epoch, "the epoch went back")
	require.GreaterOrEqual(l.t, r.Generation, l.generation, "the generation went back")
	l.epoch, l.generation = r.MasterEpoch, r.Generation
}

// ask makes one changing call; 0 says that nobody answered.
func (l *life) ask(method, path, body string) (int, []byte) {
	req, err := http.NewRequestWithContext(l.t.Context(), method, l.service.url(path), strings.NewReader(body))
	require.NoError(l.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("If-Match", "*")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil
	}
	return resp.StatusCode, text
}

// change asks for something that is promised from the reply on, nil for nothing,
// in place of what was promised about pauses, or about bounds, before.
func (l *life) change(method, path, body string, about bool, c *claim) {
	l.expire(time.Now(), about)
	code, text := l.ask(method, path, body)
	require.Contains(l.t, []int{0, http.StatusOK, http.StatusServiceUnavailable}, code, "%s", text)
	if c != nil && code == http.StatusOK {
		c.from = time.Now()
		l.claims = append(l.claims, *c)
	}
}

// pauses is what change is about if it is not about bounds.
const pauses = true

func (l *life) resume() {
	l.change(http.MethodPost, "/autoscaler/resume", `{"scope": "prod"}`, pauses, nil)
}

// expire ends what was promised about the same.
func (l *life) expire(at time.Time, paused bool) {
	for i := range l.claims {
		if c := &l.claims[i]; c.until.IsZero() && c.paused == paused {
			c.until = at
		}
	}
}

// deliver tells the webhook what Alertmanager would, once or twice.
func (l *life) deliver() {
	if l.generation == 0 {
		return
	}
	s, err := l.service.status(l.t.Context())
	if err != nil {
		return
	}
	id := s.Recommendation.RecommendationID
	for range 1 + l.chance.IntN(2) {
		code, text := l.ask(http.MethodPost, "/webhook/alertmanager", fmt.Sprintf(
			`{"version": "4", "groupKey": "{}", "status": "firing", "receiver": "scaler", "alerts": [{"status": "firing", "labels": {"action": "SCALE_OUT", "recommendation": %q}}]}`, id))
		var reply struct {
			Results []struct{ Result string }
		}
		if code == http.StatusOK && json.Unmarshal(text, &reply) == nil && len(reply.Results) == 1 && reply.Results[0].Result == "accepted" {
			l.accepted[id] = true
		}
	}
}

// violations are what must never have been asked for.
func violations(calls []demand, claims []claim) []string {
	var out []string
	open, epoch := map[string]bool{}, uint64(0)
	for _, c := range calls {
		say := func(what string) { out = append(out, fmt.Sprintf("%s: %+v", what, c)) }
		if open[c.RecommendationID] {
			say("asked for again, though it may have been done")
		}
		open[c.RecommendationID] = c.open
		if c.MasterEpoch < epoch {
			say("of an older epoch")
		}
		epoch = c.MasterEpoch
		if c.Want > configuredMost {
			say("more than the configuration lets")
		}
		for _, p := range claims {
			if c.at.Before(p.from.Add(settled)) || !p.until.IsZero() && !c.at.Before(p.until) {
				continue
			}
			if p.paused {
				say("while paused")
			}
			if p.most > 0 && c.Want > p.most {
				say(fmt.Sprintf("more than %d, which was set", p.most))
			}
		}
	}
	return out
}

// The judge sees what it is there for.
func TestBlackBoxJudge(t *testing.T) {
	start := time.Now()
	at := func(s int, id string, epoch uint64, want int, open bool) demand {
		return demand{order: order{RecommendationID: id, MasterEpoch: epoch, Want: want}, at: start.Add(time.Duration(s) * time.Second), open: open}
	}
	sec := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	for _, test := range []struct {
		want   string
		calls  []demand
		claims []claim
	}{
		{"", []demand{at(0, "a", 1, 2, false), at(1, "a", 1, 2, true), at(2, "b", 2, 9, true)}, nil},
		{"asked for again", []demand{at(0, "a", 1, 2, true), at(9, "a", 2, 2, false)}, nil},
		{"of an older epoch", []demand{at(0, "a", 2, 2, true), at(1, "b", 1, 2, true)}, nil},
		{"more than the configuration lets", []demand{at(0, "a", 1, configuredMost+1, true)}, nil},
		{"while paused", []demand{at(5, "a", 1, 2, true)}, []claim{{from: sec(4), paused: true}}},
		{"", []demand{at(3, "a", 1, 2, true), at(6, "b", 1, 2, true)}, []claim{{from: sec(4), until: sec(6), paused: true}}},
		{"more than 3, which was set", []demand{at(5, "a", 1, 4, true)}, []claim{{from: sec(1), most: 3}}},
		{"", []demand{at(5, "a", 1, 3, true)}, []claim{{from: sec(1), most: 3}}},
	} {
		got := violations(test.calls, test.claims)
		if test.want == "" {
			require.Empty(t, got)
			continue
		}
		require.Len(t, got, 1)
		require.Contains(t, got[0], test.want)
	}
}

// judge looks at all that was asked for, and at what became of what was accepted.
func (l *life) judge() {
	require.Empty(l.t, violations(l.world.asked(), l.claims))
	known := map[string]bool{}
	harness.Wait(l.t, patience, "the actions are shown", func(ctx context.Context) error {
		body, err := harness.Get(ctx, l.service.url("/autoscaler/actions?limit=1000"))
		if err != nil {
			return err
		}
		var page api.ActionsPage
		if err := json.Unmarshal([]byte(body), &page); err != nil {
			return err
		}
		for i := range page.Actions {
			known[page.Actions[i].RecommendationID] = true
			for _, round := range page.Actions[i].Rounds {
				known[round] = true
			}
		}
		if len(known) == 0 && len(l.accepted) > 0 {
			return errors.New("there are none")
		}
		return nil
	})
	for id := range l.accepted {
		require.True(l.t, known[id], "%s was accepted, and nothing is known of it: %v", id, known)
	}
}
