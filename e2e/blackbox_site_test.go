//go:build e2e && unix

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// blackboxRules ask every second and act after two.
const blackboxRules = `format: zeta-scaler/v1
ruleset: blackbox
version: 1.0.0
interval: 1s
scope_by: [cluster]
slot_mode: fixed
workers:
  current: {expr: max by (cluster) (seatunnel_zeta_workers)}
  reporting: {expr: count by (cluster) (seatunnel_zeta_worker_sample_age_seconds < 120) or 0 * max by (cluster) (seatunnel_zeta_workers)}
signals:
  - signal: waiting
    class: blocking
    expr: max by (cluster) (seatunnel_zeta_pending_job_oldest_seconds)
    scale_out: {above: 60, for: 1s}
  - signal: cpu
    class: saturation
    expr: avg by (cluster) (seatunnel_zeta_worker_cpu_ratio)
    unit: ratio
    scale_out: {above: 0.8, for: 1s}
`

// world is all that a service sees and calls: a cluster that always lacks
// workers, the Prometheus that tells so, and the platform that brings them, or
// does not. It writes down what it was asked for.
type world struct {
	*httptest.Server

	mu      sync.Mutex
	chance  *rand.Rand
	workers int
	calls   []demand
	done    chan struct{}
}

// demand is one request for workers.
type demand struct {
	order
	at time.Time
	// open says that nobody was told that nothing was done: the same may not be
	// asked for again.
	open bool
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{chance: rand.New(rand.NewPCG(seed, 2)), workers: 1, done: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v1/query", func(out http.ResponseWriter, r *http.Request) { w.answer(out, r, "vector") })
	mux.HandleFunc("/api/v1/query_range", func(out http.ResponseWriter, r *http.Request) { w.answer(out, r, "matrix") })
	mux.HandleFunc("/platform", w.scale)
	w.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		close(w.done)
		w.CloseClientConnections()
		w.Close()
	})
	return w
}

// answer plays the series of the cluster prod.
func (w *world) answer(out http.ResponseWriter, r *http.Request, kind string) {
	w.mu.Lock()
	value := w.workers
	w.mu.Unlock()
	switch query := r.FormValue("query"); {
	case strings.Contains(query, "pending"):
		value = 300
	case strings.Contains(query, "cpu"):
		value = 1
	}
	at, points := r.FormValue("time"), ""
	if kind == "matrix" {
		start, _ := strconv.ParseFloat(r.FormValue("start"), 64)
		end, _ := strconv.ParseFloat(r.FormValue("end"), 64)
		step, _ := strconv.ParseFloat(r.FormValue("step"), 64)
		for t := start; t <= end+0.0005 && step > 0; t += step {
			points += fmt.Sprintf(`,[%.3f,"%d"]`, t, value)
		}
		points = `"values":[` + strings.TrimPrefix(points, ",") + `]`
	} else {
		points = fmt.Sprintf(`"value":[%s,"%d"]`, at, value)
	}
	out.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(out, `{"status":"success","data":{"resultType":%q,"result":[{"metric":{"cluster":"prod"},%s}]}}`, kind, points)
}

// scale is the platform, which does what it is asked for in two of three cases
// and answers so in half of them.
func (w *world) scale(out http.ResponseWriter, r *http.Request) {
	var o order
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	w.mu.Lock()
	mood := w.chance.IntN(6)
	c := demand{order: o, at: time.Now(), open: mood != 5}
	w.calls = append(w.calls, c)
	if mood < 4 {
		w.workers = max(w.workers, o.Want)
	}
	w.mu.Unlock()
	switch mood {
	case 0, 1: // done, and said so
	case 2, 4: // the reply is lost, or hangs; the work may be done
		panic(http.ErrAbortHandler)
	case 3:
		select {
		case <-r.Context().Done():
		case <-w.done:
		}
	case 5: // not done, and said so
		http.Error(out, "busy", http.StatusServiceUnavailable)
	}
}

// shrink takes all workers but one away, as a crash of machines does.
func (w *world) shrink() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.workers = 1
}

func (w *world) asked() []demand {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]demand(nil), w.calls...)
}
