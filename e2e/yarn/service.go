//go:build unix

package yarn

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

// Names of a test's service, if it has one.
const (
	ServiceName = "zeta"
	Component   = "worker"
	User        = "svc"
)

// restTimeout bounds one call, createTimeout one that makes a service: the first
// one of a ResourceManager loads much of it, on a busy machine for long.
const (
	restTimeout   = 20 * time.Second
	createTimeout = 2 * time.Minute
)

// settlesWithin is how long a service may take to do what it was asked for.
const settlesWithin = 2 * time.Minute

// Service is the test's own view of the service.
type Service struct {
	Name, State, ID string
	Wanted          int
	Component       string
	// Instances are the containers by the name of the instance, those in state
	// READY first.
	Ready, Others map[string]string
	// Why is what the ResourceManager says about a service that has failed.
	Why string
}

// Named is the same cluster for one that has several services, and calls ours by
// that name.
func (c *Cluster) Named(service string) *Cluster {
	named := *c
	named.name = service
	return &named
}

// Path is where the services API has the service.
func (c *Cluster) Path() string { return "/app/v1/services/" + c.ServiceName() }

// ServiceName is what ours is called.
func (c *Cluster) ServiceName() string { return cmp.Or(c.name, ServiceName) }

// Service asks for it.
func (c *Cluster) Service(ctx context.Context) (Service, error) {
	out := Service{Ready: map[string]string{}, Others: map[string]string{}}
	status, body, err := c.call(ctx, http.MethodGet, c.Path(), nil)
	if err != nil {
		return out, err
	}
	var reply struct {
		Name, State, ID string
		Components      []struct {
			Name, State string
			Wanted      int `json:"number_of_containers"`
			Containers  []struct {
				ID, State string
				Instance  string `json:"component_instance_name"`
			}
		}
	}
	if err := json.Unmarshal(body, &reply); err != nil || status != http.StatusOK {
		return out, fmt.Errorf("YARN answered %d: %s", status, body)
	}
	out.Name, out.State, out.ID = reply.Name, reply.State, reply.ID
	if out.State == "FAILED" {
		if _, why, err := c.call(ctx, http.MethodGet, "/ws/v1/cluster/apps/"+out.ID, nil); err == nil {
			out.Why = string(why)
		}
	}
	for _, k := range reply.Components {
		if k.Name != Component {
			continue
		}
		out.Wanted, out.Component = k.Wanted, k.State
		for _, i := range k.Containers {
			into := out.Others
			if i.State == "READY" {
				into = out.Ready
			}
			into[i.Instance] = i.ID
		}
	}
	return out, nil
}

// Names are the instances that are READY, sorted.
func (s Service) Names() []string {
	var out []string
	for name := range s.Ready {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Definition says what Create makes.
type Definition struct {
	Instances int
	// Command is what an instance runs, empty: it waits for as long as YARN is
	// there.
	Command string
	// Memory is in MB, 0 is 128.
	Memory int
}

// Create makes the service and waits until it is stable.
func (c *Cluster) Create(t testing.TB, d Definition) {
	t.Helper()
	if d.Command == "" {
		d.Command = fmt.Sprintf("exec tail --pid=%d -f /dev/null", c.Node.PID())
	}
	if d.Memory == 0 {
		d.Memory = 128
	}
	component := map[string]any{
		"name": Component, "number_of_containers": d.Instances, "launch_command": d.Command,
		"resource": map[string]any{"cpus": 1, "memory": fmt.Sprint(d.Memory)},
	}
	body := map[string]any{
		"name": c.ServiceName(), "version": "1.0.0", "lifetime": -1, "components": []any{component},
		"configuration": map[string]any{"properties": map[string]string{
			"yarn.service.container-failure.retry.max": "0", "yarn.service.node-blacklist.threshold": "1000",
			"yarn.service.container-failure-per-component.threshold": "1000",
			// An instance that ended while no ApplicationMaster was there is waited for.
			"yarn.service.container-recovery.timeout.ms": "5000",
		}},
	}
	c.Do(t, http.MethodPost, "/app/v1/services", body, http.StatusAccepted)
	c.Stable(t, d.Instances)
}

// Destroy removes the service.
func (c *Cluster) Destroy(t testing.TB) {
	t.Helper()
	c.Do(t, http.MethodDelete, c.Path(), nil, http.StatusOK)
}

// Flex asks for a number, past the actuator.
func (c *Cluster) Flex(t testing.TB, n int) {
	t.Helper()
	c.Do(t, http.MethodPut, c.Path()+"/components/"+Component, map[string]any{"number_of_containers": n}, http.StatusOK)
}

// Set asks for a state: STOPPED or STARTED.
func (c *Cluster) Set(t testing.TB, state string) {
	t.Helper()
	c.Do(t, http.MethodPut, c.Path(), map[string]any{"state": state}, http.StatusOK)
}

// Stable waits until the service is stable with n instances.
func (c *Cluster) Stable(t testing.TB, n int) Service {
	t.Helper()
	var last Service
	harness.Wait(t, settlesWithin, fmt.Sprintf("%d instances are READY", n), func(ctx context.Context) (err error) {
		last, err = c.Service(ctx)
		if err == nil && (last.Wanted != n || len(last.Ready) != n || len(last.Others) > 0 || last.Component != "STABLE") {
			err = fmt.Errorf("%+v", last)
		}
		return err
	})
	return last
}

// Definition reads the number that the service's definition has, from its file.
func (c *Cluster) Definition() (int, error) {
	b, err := c.readDefinition()
	if err != nil {
		return 0, err
	}
	var d struct {
		Components []struct {
			Name   string
			Wanted int `json:"number_of_containers"`
		}
	}
	if err := json.Unmarshal(b, &d); err != nil {
		return 0, fmt.Errorf("reading the service's definition: %w", err)
	}
	for _, k := range d.Components {
		if k.Name == Component {
			return k.Wanted, nil
		}
	}
	return 0, fmt.Errorf("the service's definition has no component %s", Component)
}

// Do makes a call that has to be answered with a status.
func (c *Cluster) Do(t testing.TB, method, path string, body any, want int) {
	t.Helper()
	status, reply, err := c.call(t.Context(), method, path, body)
	if err != nil || status != want {
		t.Fatalf("%s %s: %d %s %v, want %d", method, path, status, reply, err, want)
	}
}

// Try makes a call and says whether it was taken.
func (c *Cluster) Try(ctx context.Context, method, path string, body any) error {
	status, reply, err := c.call(ctx, method, path, body)
	if err == nil && status/100 != 2 {
		err = fmt.Errorf("%d %s", status, reply)
	}
	return err
}

func (c *Cluster) call(ctx context.Context, method, path string, body any) (int, []byte, error) {
	within := restTimeout
	if method == http.MethodPost {
		within = createTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	b, err := json.Marshal(body)
	if err != nil {
		return 0, nil, fmt.Errorf("asking YARN: %w", err)
	}
	if body == nil {
		b = nil
	}
	var last error
	for _, base := range c.urls() {
		req, err := http.NewRequestWithContext(ctx, method, base+path+"?user.name="+User, bytes.NewReader(b))
		if err != nil {
			return 0, nil, fmt.Errorf("asking YARN: %w", err)
		}
		req.Header.Set("Content-Type", "application/json")
		if c.Authorize != nil {
			if err := c.Authorize(ctx, req); err != nil {
				return 0, nil, fmt.Errorf("asking YARN: %w", err)
			}
		}
		resp, err := client.Do(req)
		if err != nil {
			last = err
			continue
		}
		reply, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusTemporaryRedirect || strings.Contains(string(reply), "no active RM") {
			last = fmt.Errorf("%s is standby", base)
			continue
		}
		return resp.StatusCode, reply, err
	}
	return 0, nil, fmt.Errorf("asking YARN: %w", last)
}

// client follows no redirect.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (c *Cluster) urls() []string {
	if c.Other == "" {
		return []string{c.URL}
	}
	return []string{c.URL, c.Other}
}
