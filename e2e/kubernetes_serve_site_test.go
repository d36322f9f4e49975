//go:build e2e && unix

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	kubeactuator "github.com/zeta-scaler/zeta-scaler/actuators/kubernetes"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/kube"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	statekubernetes "github.com/zeta-scaler/zeta-scaler/state/kubernetes"
)

// actsWithin is how long a change of leader and an action may take on a busy
// machine; idle it is 4 s and 3 s.
const actsWithin = 90 * time.Second

// pairRules ask for one more worker as soon as something has waited for 2 s.
const pairRules = `format: zeta-scaler/v1
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

// pair is two replicas of serve with one configuration, which scale the
// StatefulSet of a site and have just the rights of the shipped roles.
type pair struct {
	*site
	// stateNamespace has the state and the Lease.
	stateNamespace string
	// store reads the state as an administrator.
	store *statekubernetes.Store
	// goal is how many workers the jobs need: with fewer, some wait.
	goal     atomic.Int64
	replicas []*server
	// owner is the test at whose end the replicas end.
	owner *testing.T
}

// server is one serve and its way to the API server.
type server struct {
	*scaler
	wire *wire
}

func newPair(t *testing.T, c *kube.Cluster) *pair {
	t.Helper()
	p := &pair{
		site:           newSite(t, c, kubeactuator.StatefulSet, shippedRole(t, "workload").Rules...),
		stateNamespace: c.Namespace(t, "state"), owner: t,
	}
	p.goal.Store(2)
	p.mayKeepState(t)
	var err error
	p.store, err = statekubernetes.Open(t.Context(), statekubernetes.Options{
		Namespace: p.stateNamespace, Kubeconfig: c.Kubeconfig(t, "e2e-reader", "system:masters"),
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.store.Close() })
	feed := p.startFeed(t)
	for i := range 2 {
		p.replicas = append(p.replicas, p.newServer(t, fmt.Sprintf("serve-%d", i+1), feed))
	}
	return p
}

// shippedRole reads the role of deploy/kubernetes for our workload's name.
func shippedRole(t *testing.T, part string) *rbacv1.Role {
	t.Helper()
	file, err := os.Open(filepath.Join(lab.Root, "deploy", "kubernetes", "overlays", "active", part, "rbac.yaml"))
	require.NoError(t, err)
	defer file.Close()
	role := &rbacv1.Role{}
	require.NoError(t, yaml.NewYAMLOrJSONDecoder(file, 4096).Decode(role))
	require.NotEmpty(t, role.Rules)
	for i := range role.Rules {
		if len(role.Rules[i].ResourceNames) > 0 {
			role.Rules[i].ResourceNames = []string{workerName}
		}
	}
	t.Logf("rights, as shipped: %v", role.Rules)
	return role
}

// mayKeepState binds the shipped role for the state to the service account.
func (p *pair) mayKeepState(t *testing.T) {
	t.Helper()
	role := shippedRole(t, "scaler")
	rbac := p.Admin.RbacV1()
	_, err := rbac.Roles(p.stateNamespace).Create(t.Context(), role, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = rbac.RoleBindings(p.stateNamespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: p.namespace, Name: "zeta-scaler"}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// startFeed plays the metrics of Zeta: its workers are the ready pods, and jobs
// wait as long as they are fewer than the goal.
func (p *pair) startFeed(t *testing.T) string {
	t.Helper()
	feed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pods, err := p.Admin.CoreV1().Pods(p.namespace).List(r.Context(), metav1.ListOptions{})
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		ready := int64(0)
		for i := range pods.Items {
			for _, c := range pods.Items[i].Status.Conditions {
				if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
					ready++
				}
			}
		}
		fmt.Fprintf(w, "zeta_workers{cluster=\"prod\"} %d\nzeta_waiting{cluster=\"prod\"} %d\nzeta_cpu{cluster=\"prod\"} 0.5\n",
			ready, max(0, p.goal.Load()-ready))
	}))
	t.Cleanup(feed.Close)
	return feed.Listener.Addr().String()
}

func (p *pair) newServer(t *testing.T, name, feed string) *server {
	t.Helper()
	data := t.TempDir()
	rules := filepath.Join(data, "rules.yaml")
	require.NoError(t, os.WriteFile(rules, []byte(pairRules), 0o600))
	w := p.newWire(t)
	r := &server{wire: w, scaler: newScaler(t, "serve", name, fmt.Sprintf(`web: {listen_address: "%%[1]s", advertise_url: "http://%%[1]s", bearer_tokens_file: %q}
embedded:
  path: %q
  scrape_configs:
    - {job_name: zeta, scrape_interval: 1s, scrape_timeout: 1s, fallback_scrape_protocol: PrometheusText0.0.4, static_configs: [{targets: [%q]}]}
rule_sets: [{file: %q}]
scopes:
  - match: {cluster: prod}
    bounds: {min_workers: 1, max_workers: 30}
    mode: direct
    cooldown: 0s
    actuator: {kubernetes: {namespace: %s, kind: %s, name: %s, kubeconfig: %q}}
state: {type: kubernetes, namespace: %s, kubeconfig: %q}
leadership: {type: kubernetes, lease_duration: 3s, renew_deadline: 2s, retry_period: 500ms}
events: [log, kubernetes]
`, tokenFile(t), filepath.Join(data, "tsdb"), feed, rules, p.namespace, p.kind, workerName, w.kubeconfig, p.stateNamespace, w.kubeconfig))}
	r.start(t)
	return r
}

// startAgain starts a replica that has ended; what a subtest starts ends with
// the whole test.
func (p *pair) startAgain(t *testing.T, r *server) {
	t.Helper()
	r.start(p.owner)
	t.Logf("started %s again", r.Name)
}

// leads asks the replica itself.
func (r *server) leads(ctx context.Context) (bool, error) {
	page, err := harness.Get(ctx, r.url("/metrics"))
	if err != nil {
		return false, err
	}
	return strings.Contains(page, "\nzeta_scaler_leader 1\n"), nil
}

// leader waits until exactly one of the replicas leads, and returns it and the
// other one.
func (p *pair) leader(t *testing.T) (leader, follower *server) {
	t.Helper()
	harness.Wait(t, actsWithin, "exactly one replica leads", func(ctx context.Context) error {
		leader, follower = nil, nil
		for _, r := range p.replicas {
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
		return nil
	})
	t.Logf("  %s leads", leader.Name)
	return leader, follower
}

// takesOver waits until r leads under a larger epoch than before.
func (p *pair) takesOver(t *testing.T, r *server, before uint64) uint64 {
	t.Helper()
	harness.Wait(t, actsWithin, r.Name+" takes over", func(ctx context.Context) error {
		yes, err := r.leads(ctx)
		if err == nil && !yes {
			err = fmt.Errorf("it does not lead")
		}
		return err
	})
	epoch := p.epoch(t)
	require.Greater(t, epoch, before)
	return epoch
}

// epoch is that of the leader, as it is stored.
func (p *pair) epoch(t *testing.T) uint64 {
	t.Helper()
	r, err := state.Leaders(p.store).Get(t.Context(), state.EpochKey)
	require.NoError(t, err)
	return r.Value.Epoch
}

// settles waits until the workload has want workers and no action is open, and
// checks that spec.replicas was changed steps times since before, and never
// twice for one recommendation. It returns the actions since then.
func (p *pair) settles(t *testing.T, asked *server, want int, before *mark) []scaling.Execution {
	t.Helper()
	var fresh []scaling.Execution
	harness.Wait(t, actsWithin, fmt.Sprintf("%d workers, and every action is over", want), func(ctx context.Context) error {
		if err := p.hasReady(ctx, want); err != nil {
			return err
		}
		list, err := asked.actions(ctx)
		if err != nil {
			return err
		}
		fresh = nil
		for i := range list {
			if !before.known[list[i].ID] {
				fresh = append(fresh, list[i])
			}
		}
		for i := range fresh {
			if !fresh[i].State.Final() {
				return fmt.Errorf("one is open: %s", summary(fresh))
			}
		}
		if len(fresh) == 0 {
			return fmt.Errorf("there is none")
		}
		return nil
	})
	t.Logf("  %s", summary(fresh))
	meta, replicas := p.workload(t)
	require.Equal(t, want, replicas)
	require.Equal(t, before.generation+int64(want-before.replicas), meta.Generation, "each worker was asked for by one write")
	for _, r := range p.replicas {
		for id, n := range r.wire.scaled() {
			require.Equal(t, 1, n, "recommendation %s was written %d times", id, n)
		}
	}
	return fresh
}

// mark is what there was at some moment.
type mark struct {
	replicas   int
	generation int64
	known      map[string]bool
}

func (p *pair) mark(t *testing.T, asked *server) *mark {
	t.Helper()
	meta, n := p.workload(t)
	m := &mark{replicas: n, generation: meta.Generation, known: map[string]bool{}}
	list, err := asked.actions(t.Context())
	require.NoError(t, err)
	for i := range list {
		m.known[list[i].ID] = true
	}
	return m
}
