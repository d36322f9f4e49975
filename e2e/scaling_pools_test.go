//go:build e2e && unix

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	actuatorrequest "github.com/zeta-scaler/zeta-scaler/actuators/request"
	webhookactuator "github.com/zeta-scaler/zeta-scaler/actuators/webhook"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/events/signature"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

const (
	poolKey = "the key of the e2e pools"
	// arrival is how long a worker takes from the request to the inventory.
	arrival = 300 * time.Millisecond
)

// pools play an existing scaling system: one pool of workers per cluster. They
// believe nobody without a signature, carry a key out once, and export what
// Zeta's inventory would show.
type pools struct {
	*httptest.Server
	metrics *httptest.Server

	mu    sync.Mutex
	pools map[string]*pool
	// wrong is what was found about requests that must not be.
	wrong []string
}

type pool struct {
	// workers there are, need is how many the jobs want.
	workers, need int
	// faults are for the next requests, one each; always is for all of them
	// after that.
	faults []fault
	always fault
	asked  []actuatorrequest.Request
	// acted counts how often each key was carried out.
	acted map[string]int
	epoch uint64
}

// fault is what happens to a request. The zero value carries it out.
type fault struct {
	// until holds the request up, before anything is done.
	until <-chan struct{}
	// status is answered, and nothing is done.
	status int
	// drop closes the connection, and nothing is done; lose does it afterwards.
	drop, lose bool
	// late is when the reply comes that was carried out before.
	late time.Duration
}

func newPools(t *testing.T, clusters ...string) *pools {
	t.Helper()
	p := &pools{pools: map[string]*pool{}}
	for _, c := range clusters {
		p.pools[c] = &pool{workers: 1, acted: map[string]int{}}
	}
	p.Server = httptest.NewServer(http.HandlerFunc(p.scale))
	p.metrics = httptest.NewServer(http.HandlerFunc(p.export))
	t.Cleanup(p.Close)
	t.Cleanup(p.metrics.Close)
	t.Logf("the pools %v answer on %s, their metrics are on %s", clusters, p.URL, p.metrics.URL)
	return p
}

func (p *pools) export(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for cluster, pool := range p.pools {
		fmt.Fprintf(w, "zeta_workers{cluster=%q} %d\n", cluster, pool.workers)
		fmt.Fprintf(w, "zeta_waiting{cluster=%q} %d\n", cluster, max(0, pool.need-pool.workers))
		fmt.Fprintf(w, "zeta_cpu{cluster=%q} 0.5\n", cluster)
	}
}

func (p *pools) scale(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = signature.Verify([]byte(poolKey), r.Header.Get(signature.Header), body, time.Now(), signature.DefaultTolerance)
	}
	if err != nil {
		p.refuse(w, http.StatusUnauthorized, err)
		return
	}
	var q actuatorrequest.Request
	if err := readRequest(r.Header, body, &q); err != nil {
		p.refuse(w, http.StatusBadRequest, err)
		return
	}
	f, ok := p.take(q)
	if !ok {
		p.refuse(w, http.StatusBadRequest, fmt.Errorf("there is no pool %q", q.Target))
		return
	}
	if f.until != nil {
		<-f.until
	}
	switch {
	case f.status != 0:
		http.Error(w, "not now", f.status)
		return
	case f.drop:
		panic(http.ErrAbortHandler)
	}
	p.act(q)
	if f.late > 0 {
		<-time.After(f.late)
	}
	if f.lose {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(http.StatusAccepted)
}

// readRequest reads a request and says what is wrong with it.
func readRequest(h http.Header, body []byte, q *actuatorrequest.Request) error {
	if err := json.Unmarshal(body, q); err != nil {
		return err
	}
	switch {
	case q.Verb != actuatorrequest.Scale || q.Want == nil:
		return fmt.Errorf("verb %q, want %v", q.Verb, q.Want)
	case q.RecommendationID == "" || h.Get("Idempotency-Key") != q.RecommendationID:
		return fmt.Errorf("key %q of recommendation %q", h.Get("Idempotency-Key"), q.RecommendationID)
	case h.Get(webhookactuator.EpochHeader) != strconv.FormatUint(q.MasterEpoch, 10):
		return fmt.Errorf("epoch %q in the header, %d in the body", h.Get(webhookactuator.EpochHeader), q.MasterEpoch)
	case q.Target != "pools/"+q.Labels["cluster"] || q.Scope != q.Labels["cluster"]:
		return fmt.Errorf("target %q of scope %q with %v", q.Target, q.Scope, q.Labels)
	case q.Recommendation == nil || q.Recommendation.Action != scaling.ScaleOut:
		return fmt.Errorf("the decision is %+v", q.Recommendation)
	}
	return nil
}

func (p *pools) refuse(w http.ResponseWriter, status int, why error) {
	p.mu.Lock()
	p.wrong = append(p.wrong, why.Error())
	p.mu.Unlock()
	http.Error(w, why.Error(), status)
}

// take notes a request and says what happens to it.
func (p *pools) take(q actuatorrequest.Request) (fault, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pool, ok := p.pools[q.Scope]
	if !ok {
		return fault{}, false
	}
	pool.asked = append(pool.asked, q)
	if q.MasterEpoch < pool.epoch {
		return fault{status: http.StatusConflict}, true
	}
	pool.epoch = q.MasterEpoch
	if len(pool.faults) == 0 {
		return pool.always, true
	}
	f := pool.faults[0]
	pool.faults = pool.faults[1:]
	return f, true
}

// act starts workers, which come later.
func (p *pools) act(q actuatorrequest.Request) {
	p.mu.Lock()
	pool := p.pools[q.Scope]
	pool.acted[q.RecommendationID]++
	p.mu.Unlock()
	time.AfterFunc(arrival, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		pool.workers = max(pool.workers, *q.Want)
	})
}

// with changes a pool.
func (p *pools) with(cluster string, change func(*pool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p.pools[cluster])
}

// wants makes the jobs of clusters want one worker more than there are.
func (p *pools) wants(clusters ...string) {
	for _, c := range clusters {
		p.with(c, func(x *pool) { x.need = x.workers + 1 })
	}
}

// rests makes them want no more than there are.
func (p *pools) rests(clusters ...string) {
	for _, c := range clusters {
		p.with(c, func(x *pool) { x.need = 0 })
	}
}

// asked are the requests about a cluster.
func (p *pools) asked(cluster string) (out []actuatorrequest.Request) {
	p.with(cluster, func(x *pool) { out = slices.Clone(x.asked) })
	return out
}

func (p *pools) waitForRequest(t *testing.T, cluster string, n int) {
	t.Helper()
	harness.Wait(t, carriedOutWithin, fmt.Sprintf("request %d about %s is there", n, cluster), func(context.Context) error {
		if got := len(p.asked(cluster)); got < n {
			return fmt.Errorf("there are %d", got)
		}
		return nil
	})
}

// verify fails on any request that must not be, and on a key that was carried
// out twice.
func (p *pools) verify(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Empty(t, p.wrong)
	for cluster, pool := range p.pools {
		for key, n := range pool.acted {
			require.Equal(t, 1, n, "%s: %s", cluster, key)
		}
	}
}

// scope is an entry of the configuration whose actuator asks the pools; more
// are further keys.
func (p *pools) scope(t *testing.T, cluster string, timeout time.Duration, more ...string) string {
	t.Helper()
	key := filepath.Join(t.TempDir(), "pools-key")
	require.NoError(t, os.WriteFile(key, []byte(poolKey+"\n"), 0o600))
	return fmt.Sprintf(`  - match: {cluster: %s}
    rule_set: pools
    bounds: {min_workers: 1, max_workers: 50}
    cooldown: 0s
    failure_backoff: 2s
    actuator: {webhook: {url: %q, target: pools/%s, timeout: %s, secret_file: %q}}
%s`, cluster, p.URL, cluster, timeout, key, strings.Join(append(more, ""), "\n"))
}
