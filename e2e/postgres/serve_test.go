//go:build e2e && unix

package postgres

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/state"
	statepostgres "github.com/zeta-scaler/zeta-scaler/state/postgres"
)

// program is zeta-scaler. The other end-to-end tests build theirs at the same
// time, so this one has a name of its own.
var program = harness.Program{Name: "zeta-scaler-postgres", Module: ".", Package: "./cmd/zeta-scaler"}

// serveRules ask for one more worker as long as something waits.
const serveRules = `format: zeta-scaler/v1
ruleset: pair
version: 1.0.0
interval: 1s
scope_by: [cluster]
slot_mode: fixed
workers:
  current: {expr: max by (cluster) (zeta_workers)}
  reporting: {expr: max by (cluster) (zeta_workers)}
step: {policy: fixed, workers: 1}
signals:
  - {signal: waiting, class: blocking, expr: max by (cluster) (zeta_waiting), scale_out: {above: 0, for: 2s}}
  - {signal: cpu, class: saturation, expr: max by (cluster) (zeta_cpu), unit: ratio, scale_out: {above: 0.8, for: 5m}}
`

// token is what whoever changes something shows.
const token = "e2e-token-of-the-database-tests"

// server is one serve, with its own way to the database.
type server struct {
	*harness.Process
	command harness.Command
	address string
	paths   []*harness.Proxy
}

// newServe writes the configuration of a serve whose database is at the hosts.
func newServe(t *testing.T, name, feed, schema string, hosts ...string) *server {
	t.Helper()
	dir := t.TempDir()
	s := &server{address: harness.FreeAddress(t)}
	var behind []string
	for _, h := range hosts {
		p := harness.NewProxy(t, h)
		s.paths = append(s.paths, p)
		behind = append(behind, fmt.Sprintf("%q", p.Address))
	}
	write := func(file, text string) string {
		path := filepath.Join(dir, file)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	write("rules.yaml", serveRules)
	write("tokens", token+"\n")
	write("db-password", Password+"\n")
	file := write("zeta-scaler.yml", fmt.Sprintf(`web: {listen_address: %q, advertise_url: "http://%s", bearer_tokens_file: tokens}
embedded:
  path: tsdb
  scrape_configs:
    - {job_name: zeta, scrape_interval: 1s, scrape_timeout: 1s, fallback_scrape_protocol: PrometheusText0.0.4, static_configs: [{targets: [%q]}]}
rule_sets: [{file: rules.yaml}]
state: {type: postgres, hosts: [%s], schema: %s, password_file: db-password, sslmode: disable, timeout: 1s}
leadership: {type: postgres, lease_duration: 6s, renew_deadline: 4s, retry_period: 300ms}
`, s.address, s.address, feed, strings.Join(behind, ", "), schema))
	s.command = harness.Command{Name: name, Path: lab.Build(t, program), Args: []string{"serve", "--config.file=" + file}, Dir: dir}
	return s
}

// start starts it; owner is the test at whose end it ends.
func (s *server) start(t, owner *testing.T) {
	t.Helper()
	s.Process = lab.Start(owner, s.command)
	harness.Wait(t, patience, s.Name+" is ready", func(ctx context.Context) error {
		if err := s.Err(); err != nil {
			return err
		}
		_, err := harness.Get(ctx, s.url("/-/ready"))
		return err
	})
}

func (s *server) url(path string) string { return harness.URL(s.address) + path }

// leads asks the replica itself.
func (s *server) leads(ctx context.Context) (bool, error) {
	page, err := harness.Get(ctx, s.url("/metrics"))
	return strings.Contains(page, "\nzeta_scaler_leader 1\n"), err
}

// servePair is two replicas of serve on one database.
type servePair struct {
	replicas []*server
	store    *statepostgres.Store
	// owner is the test at whose end the replicas end.
	owner *testing.T
}

// leader waits until exactly one leads and shows a decision, and returns it and
// the other one.
func (p *servePair) leader(t *testing.T) (leader, follower *server) {
	t.Helper()
	harness.Wait(t, patience, "exactly one replica leads", func(ctx context.Context) error {
		leader, follower = nil, nil
		for _, r := range p.replicas {
			if r.Err() != nil {
				continue
			}
			switch yes, err := r.leads(ctx); {
			case err != nil:
				return err
			case yes && leader != nil:
				return fmt.Errorf("both say that they lead")
			case yes:
				leader = r
			default:
				follower = r
			}
		}
		if leader == nil {
			return fmt.Errorf("none leads")
		}
		page, err := harness.Get(ctx, leader.url("/metrics"))
		if err == nil && !strings.Contains(page, "\nseatunnel_autoscaler_") {
			err = fmt.Errorf("%s decides nothing yet", leader.Name)
		}
		return err
	})
	return leader, follower
}

func (p *servePair) epoch(t *testing.T) (epoch uint64) {
	t.Helper()
	harness.Wait(t, patience, "the epoch can be read", func(ctx context.Context) error {
		r, err := state.Leaders(p.store).Get(ctx, state.EpochKey)
		epoch = r.Value.Epoch
		return err
	})
	return epoch
}

// takesOver waits until r leads and decides, under a greater epoch.
func (p *servePair) takesOver(t *testing.T, r *server, before uint64) {
	t.Helper()
	began := time.Now()
	harness.Wait(t, patience, r.Name+" leads", func(ctx context.Context) error {
		yes, err := r.leads(ctx)
		if err == nil && !yes {
			err = fmt.Errorf("it does not")
		}
		return err
	})
	require.Greater(t, p.epoch(t), before)
	leader, _ := p.leader(t)
	require.Equal(t, r.Name, leader.Name)
	t.Logf("  %s has taken over within %s", r.Name, time.Since(began).Round(100*time.Millisecond))
}

// startFeed plays the metrics of a cluster in which something waits.
func startFeed(t *testing.T) string {
	t.Helper()
	feed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "zeta_workers{cluster=\"prod\"} 2\nzeta_waiting{cluster=\"prod\"} 1\nzeta_cpu{cluster=\"prod\"} 0.5\n")
	}))
	t.Cleanup(feed.Close)
	return feed.Listener.Addr().String()
}

// Two replicas of serve on a real server with a standby: one leads, and whatever
// becomes of it or of the database, the other one or both go on.
func TestServeOnPostgres(t *testing.T) {
	t.Parallel()
	lab.Build(t, program)
	primary := Start(t, lab)
	standby := primary.Standby(t, "b")
	feed := startFeed(t)
	const schema = "serve"
	o := fresh(primary.Address, standby.Address)
	o.Schema = schema
	p := &servePair{store: open(t, o), owner: t}
	for i := range 2 {
		r := newServe(t, fmt.Sprintf("replica-%d", i+1), feed, schema, primary.Address, standby.Address)
		r.start(t, t)
		p.replicas = append(p.replicas, r)
	}
	leader, follower := p.leader(t)
	p.readsGoToTheLeader(t)
	p.pause(t, follower)

	t.Run("the leader is killed", func(t *testing.T) {
		before := p.epoch(t)
		leader.Kill()
		p.takesOver(t, follower, before)
		leader.start(t, p.owner)
		p.readsGoToTheLeader(t)
	})
	t.Run("the leader is frozen", p.frozen)
	t.Run("the leader is cut off", func(t *testing.T) {
		leader, follower := p.leader(t)
		before := p.epoch(t)
		for _, path := range leader.paths {
			path.Stall()
		}
		p.takesOver(t, follower, before)
		stopped := said(t, leader, "this replica leads no longer")
		began := said(t, follower, "this replica leads")
		require.True(t, stopped.Before(began), "%s stopped at %s, %s began at %s", leader.Name, stopped, follower.Name, began)
		for _, path := range leader.paths {
			path.Restore()
		}
		harness.Wait(t, patience, leader.Name+" is ready again", func(ctx context.Context) error {
			_, err := harness.Get(ctx, leader.url("/-/ready"))
			return err
		})
	})
	t.Run("the leader is asked to end", func(t *testing.T) {
		leader, follower := p.leader(t)
		before := p.epoch(t)
		require.NoError(t, leader.Terminate(patience))
		p.takesOver(t, follower, before)
		leader.start(t, p.owner)
	})
	t.Run("the database is killed", func(t *testing.T) {
		primary.Kill()
		harness.Wait(t, patience, "nobody leads, and nobody is ready", func(ctx context.Context) error {
			for _, r := range p.replicas {
				if yes, err := r.leads(ctx); err != nil || yes {
					return fmt.Errorf("%s leads: %t, %w", r.Name, yes, err)
				}
				if _, err := harness.Get(ctx, r.url("/-/ready")); err == nil {
					return fmt.Errorf("%s says that it is ready", r.Name)
				}
			}
			return nil
		})
		primary.Begin(t)
		p.leader(t)
	})
	t.Run("the database fails over", func(t *testing.T) {
		before := p.epoch(t)
		primary.Kill()
		standby.Promote(t)
		p.leader(t)
		require.GreaterOrEqual(t, p.epoch(t), before)
	})
	t.Run("the pause is still there", p.paused)
	t.Run("the password is nowhere", p.noSecrets)
}

// readsGoToTheLeader asks the replica that does not lead, as people and programs
// do, and gets what the leader decides.
func (p *servePair) readsGoToTheLeader(t *testing.T) {
	t.Helper()
	leader, follower := p.leader(t)
	harness.Wait(t, patience, follower.Name+" shows what "+leader.Name+" decides", func(ctx context.Context) error {
		return harness.Shows(ctx, follower.url(""), map[string][]string{
			"/autoscaler/status":             {`"leader":false`, fmt.Sprintf("/%d/", leader.PID()), `"scope":"prod"`, `"action":"SCALE_OUT"`},
			"/autoscaler/explain?scope=prod": {`"action":"SCALE_OUT"`},
			"/":                              {"This replica does not lead", "?scope=prod"},
			"/?scope=prod":                   {"This replica does not lead", "SCALE_OUT"},
		})
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, follower.url("/webhook/alertmanager"), strings.NewReader(
		`{"version":"4","groupKey":"e2e","status":"firing","receiver":"scaler","alerts":[]}`))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode, "the leader takes a notification that comes to the other one")
	cmd := exec.CommandContext(t.Context(), follower.command.Path, "status", "--server="+follower.url(""))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "This replica does not lead")
	require.Contains(t, string(out), "SCALE_OUT")
	page, err := harness.Get(t.Context(), follower.url("/metrics"))
	require.NoError(t, err)
	require.NotContains(t, page, "\nseatunnel_autoscaler_", "its metrics are its own")
}

// frozen: a leader that hangs does not make the other one hang, which says what
// is the matter until it leads itself.
func (p *servePair) frozen(t *testing.T) {
	leader, follower := p.leader(t)
	before := p.epoch(t)
	require.NoError(t, leader.Freeze())
	harness.Wait(t, patience, follower.Name+" says that the leader gives no answer, or leads", func(ctx context.Context) error {
		page, took, err := harness.GetTimed(ctx, follower.url("/autoscaler/status"))
		if err == nil && !strings.Contains(page, `"leaderError":"This replica does not lead, and the leader `) && !strings.Contains(page, `"leader":true`) {
			err = fmt.Errorf("after %s it said %.300s", took, page)
		}
		return err
	})
	harness.Wait(t, patience, follower.Name+" leads", func(ctx context.Context) error {
		yes, err := follower.leads(ctx)
		if err == nil && !yes {
			err = fmt.Errorf("it does not")
		}
		return err
	})
	require.Greater(t, p.epoch(t), before)
	require.NoError(t, leader.Thaw())
	harness.Wait(t, patience, leader.Name+" knows that it leads no longer", func(ctx context.Context) error {
		yes, err := leader.leads(ctx)
		if err == nil && yes {
			err = fmt.Errorf("it leads")
		}
		return err
	})
	p.readsGoToTheLeader(t)
}

// pause pauses a scope by way of a replica, whether or not it leads.
func (p *servePair) pause(t *testing.T, r *server) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), r.command.Path, "pause", "--server="+r.url(""), "--reason=upgrade of the database", "--token-file="+filepath.Join(r.command.Dir, "tokens"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func (p *servePair) paused(t *testing.T) {
	for _, r := range p.replicas {
		page, err := harness.Get(t.Context(), r.url("/autoscaler/config"))
		require.NoError(t, err)
		require.Contains(t, page, "upgrade of the database", r.Name)
	}
}

// noSecrets looks at all that the replicas have shown and logged.
func (p *servePair) noSecrets(t *testing.T) {
	for _, r := range p.replicas {
		for _, path := range []string{"/metrics", "/autoscaler/config", "/autoscaler/status", "/-/ready"} {
			page, err := harness.Get(t.Context(), r.url(path))
			require.NoError(t, err)
			require.NotContains(t, page, Password, path)
		}
		log, err := os.ReadFile(r.Log)
		require.NoError(t, err)
		require.NotContains(t, string(log), Password)
		require.Contains(t, string(log), "the lease cannot be read or written", "it had reasons to say much")
	}
}

// said is when a replica has last logged a line.
func said(t *testing.T, s *server, message string) time.Time {
	t.Helper()
	log, err := os.ReadFile(s.Log)
	require.NoError(t, err)
	lines := regexp.MustCompile(`(?m)^time=(\S+) .*msg="`+message+`" `).FindAllStringSubmatch(string(log), -1)
	require.NotEmpty(t, lines, "%s has not said %q", s.Name, message)
	at, err := time.Parse(time.RFC3339Nano, lines[len(lines)-1][1])
	require.NoError(t, err)
	return at
}

// A start that cannot use its database ends with a message that says what to do,
// and without the password.
func TestServeIsRefused(t *testing.T) {
	s := Start(t, lab)
	r := newServe(t, "refused", startFeed(t), "refused", s.Address)
	require.NoError(t, os.WriteFile(filepath.Join(r.command.Dir, "db-password"), []byte("wrong-secret-of-the-test\n"), 0o600))
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), r.command.Path, args...)
		out, _ := cmd.CombinedOutput()
		require.NotContains(t, string(out), "wrong-secret-of-the-test")
		return string(out)
	}
	require.Contains(t, run(r.command.Args...), `refuses user "zeta_scaler": see state.user, state.password_file (or PGPASSFILE)`)
	config := strings.TrimPrefix(r.command.Args[1], "--config.file=")
	t.Setenv("ZETA_SCALER__STATE__PASSWORD", "wrong-secret-of-the-test")
	require.Contains(t, run("check", "config", config), "state.password_file is set beside password, expected one of them")
}
