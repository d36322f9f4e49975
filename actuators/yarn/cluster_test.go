package yarn

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// cluster is a ResourceManager with one service, whose answers are those that a
// real one gives (testdata/replies), with what makes it dangerous: every request
// is written to the definition first, and carried out by the ApplicationMaster or
// not.
type cluster struct {
	url string

	mu sync.Mutex
	// definition is the number on disk, live the one that is kept up; instances
	// are those that run.
	definition, live int
	instances        []string
	decommissioned   []string
	state, component string
	user, kind, id   string
	// room is how many instances fit.
	room int
	// lost says that instances that were starting were lost, as a real
	// ApplicationMaster does when it is asked for the number that it has.
	lost bool
	// asked are all requests, in order.
	asked []string
	// before, if it answers true, has taken a request.
	before func(w http.ResponseWriter, r *http.Request) bool
}

func newCluster(t *testing.T, n int) *cluster {
	t.Helper()
	c := &cluster{
		definition: n, live: n, state: stable, component: stable,
		user: "svc", kind: serviceType, id: "application_1_0001", room: 1000,
	}
	c.fill()
	server := httptest.NewServer(c)
	t.Cleanup(func() {
		server.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		require.False(t, c.lost, "the present number was asked for while instances were starting: they never become READY")
	})
	c.url = server.URL
	return c
}

// change does something to the cluster behind the actuator's back.
func (c *cluster) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// fill starts and ends instances until as many run as are kept up.
func (c *cluster) fill() {
	for id := 0; len(c.instances) < min(c.live, c.room); id++ {
		name := fmt.Sprintf("worker-%d", id)
		if !slices.Contains(c.instances, name) && !slices.Contains(c.decommissioned, name) {
			c.instances = append(c.instances, name)
		}
	}
	slices.SortFunc(c.instances, func(a, b string) int { return instanceID(a) - instanceID(b) })
	if len(c.instances) > c.live {
		c.instances = c.instances[:c.live]
	}
	c.component, c.state = stable, stable
	if len(c.instances) < c.live {
		c.component, c.state = "FLEXING", started
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func diagnostics(text string) map[string]any { return map[string]any{"diagnostics": text} }

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.asked = append(c.asked, r.Method+" "+r.URL.Path)
	before := c.before
	c.mu.Unlock()
	if before != nil && before(w, r) {
		return
	}
	c.mu.Lock()
	status, body := c.serve(r)
	c.mu.Unlock()
	answer(w, status, body)
}

func (c *cluster) serve(r *http.Request) (int, any) {
	switch path := r.URL.Path; {
	case path == "/ws/v1/cluster/apps/"+c.id:
		return http.StatusOK, map[string]any{"app": map[string]any{"id": c.id, "user": c.user, "queue": "root.default", "applicationType": c.kind}}
	case path == "/ws/v1/cluster/scheduler":
		return http.StatusOK, map[string]any{"scheduler": map[string]any{"schedulerInfo": map[string]any{
			"type": "capacityScheduler", "queueName": "root", "queues": map[string]any{"queue": []any{map[string]any{
				"queuePath": "root.default", "queueName": "default", "absoluteUsedCapacity": 100.0, "absoluteMaxCapacity": 100.0, "pendingContainers": c.live - len(c.instances),
				"resourcesUsed": map[string]any{"memory": 2048}, "maxEffectiveCapacity": map[string]any{"memory": 2048},
			}}},
		}}}
	case path == "/ws/v1/cluster/nodes":
		return http.StatusOK, map[string]any{"nodes": map[string]any{"node": map[string]any{"state": "RUNNING", "availMemoryMB": 64}}}
	case !strings.HasPrefix(path, "/app/v1/services/zeta"):
		return http.StatusNotFound, map[string]any{"diagnostics": "Service nope not found", "code": 404004}
	case r.Method == http.MethodGet:
		return http.StatusOK, c.describe()
	case path == "/app/v1/services/zeta/components/worker":
		return c.flex(r)
	case path == "/app/v1/services/zeta":
		return c.decommission(r)
	}
	return http.StatusInternalServerError, diagnostics("Components [nope] do not exist in app definition.")
}

func (c *cluster) describe() any {
	out := map[string]any{"name": "zeta", "id": c.id, "state": c.state, "components": []any{}}
	if c.state == stable || c.state == started {
		containers := []any{}
		for _, name := range c.instances {
			containers = append(containers, map[string]any{"component_instance_name": name, "state": ready, "ip": "10.0.0.1"})
		}
		out["components"] = []any{map[string]any{
			"name": "worker", "state": c.component, "number_of_containers": c.live, "containers": containers, "decommissioned_instances": c.decommissioned,
		}}
	}
	return out
}

func (c *cluster) flex(r *http.Request) (int, any) {
	var body flexBody
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		return http.StatusNotFound, map[string]any{"exception": "JsonEOFException", "message": "Unexpected end-of-input"}
	}
	had := c.definition
	c.definition = body.Number
	c.lost = c.lost || body.Number == c.live && c.component == "FLEXING"
	if c.state == accepted || c.state == "STOPPED" {
		return http.StatusInternalServerError, diagnostics("zeta is at " + c.state + " state, flex can only be invoked when service is running")
	}
	c.live = body.Number
	c.fill()
	return http.StatusOK, diagnostics("Updating component (worker) size from " + strconv.Itoa(had) + " to " + strconv.Itoa(body.Number))
}

func (c *cluster) decommission(r *http.Request) (int, any) {
	var body decommissionBody
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		return http.StatusNotFound, map[string]any{"exception": "JsonEOFException", "message": "Unexpected end-of-input"}
	}
	for _, name := range body.Components[0].Instances {
		c.definition--
		c.decommissioned = append(c.decommissioned, name)
		if i := slices.Index(c.instances, name); i >= 0 && c.state == stable {
			c.instances = slices.Delete(c.instances, i, i+1)
			c.live--
		}
	}
	if c.state != stable {
		return http.StatusBadRequest, diagnostics("zeta is at " + c.state + " state, decommission can only be invoked when service is running")
	}
	return http.StatusAccepted, map[string]any{"diagnostics": "Service zeta has successfully decommissioned instances.", "state": "ACCEPTED"}
}

// puts are the requests that change something, since the last call.
func (c *cluster) puts() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, q := range c.asked {
		if strings.HasPrefix(q, http.MethodPut) {
			out = append(out, q)
		}
	}
	c.asked = nil
	return out
}

func (c *cluster) options() Options {
	return Options{
		URLs: []string{c.url}, Service: "zeta", Component: "worker", User: "svc", Withdraw: true,
		HTTPClientConfig: promconfig.DefaultHTTPClientConfig, Logger: slog.New(slog.DiscardHandler),
	}
}

func (c *cluster) actuator(t *testing.T, change func(*Options)) *Actuator {
	t.Helper()
	o := c.options()
	if change != nil {
		change(&o)
	}
	a, err := New(o)
	require.NoError(t, err)
	return a
}

// agrees requires that the definition says what is kept up.
func (c *cluster) agrees(t *testing.T, want int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	require.Equal(t, want, c.live, "kept up")
	require.Equal(t, want, c.definition, "in the definition")
}

var target = actuators.Target{Scope: scaling.NewScope([]scaling.Label{{Name: "cluster", Value: "prod"}}), Name: "yarn/zeta/worker"}

func fence(from int) actuators.Fence {
	return actuators.Fence{Epoch: 3, Generation: 9, RecommendationID: "3-9-prod", ActionID: "3-8-prod", From: &from}
}

// once lets the first request that fits be handled by f.
func once(fits func(*http.Request) bool, f http.HandlerFunc) func(http.ResponseWriter, *http.Request) bool {
	var mu sync.Mutex
	done := false
	return func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		mine := !done && fits(r)
		done = done || mine
		mu.Unlock()
		if mine {
			f(w, r)
		}
		return mine
	}
}

// flexesTo fits a PUT that asks for a number.
func flexesTo(n int) func(*http.Request) bool {
	return func(r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		b, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(b)))
		return err == nil && strings.Contains(string(b), fmt.Sprintf(`"number_of_containers":%d`, n))
	}
}

func isPut(r *http.Request) bool { return r.Method == http.MethodPut }

func says(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { answer(w, status, diagnostics(text)) }
}
