//go:build e2e && unix

package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zeta-scaler/zeta-scaler/acting"
	"github.com/zeta-scaler/zeta-scaler/actuators"
	kubeactuator "github.com/zeta-scaler/zeta-scaler/actuators/kubernetes"
	"github.com/zeta-scaler/zeta-scaler/drain"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/kube"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// podSlots is how many slots each pod has.
const podSlots = 4

// podEngine plays a Zeta whose workers are the pods of a site: each is a member as
// long as it is there and not being deleted.
type podEngine struct {
	s  *site
	mu sync.Mutex
	// jobs by id; a job on a pod that goes is noted in lost.
	jobs map[string]*podJob
	lost []string
}

type podJob struct {
	control.Job
	on   map[string]int
	hold bool
	from time.Time
}

// members are the addresses of the pods by name. What runs on a pod that went is
// lost.
func (e *podEngine) members(ctx context.Context) (map[string]string, error) {
	list, err := e.s.Admin.CoreV1().Pods(e.s.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + workerName})
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, p := range list.Items {
		if p.DeletionTimestamp == nil && p.Status.PodIP != "" {
			out[p.Name] = p.Status.PodIP
		}
	}
	for _, j := range e.jobs {
		for pod := range j.on {
			if out[pod] != "" {
				continue
			}
			if !j.hold {
				e.lost = append(e.lost, fmt.Sprintf("job %s was on %s", j.ID, pod))
			}
			j.on, j.Status = nil, control.Failed
		}
	}
	return out, nil
}

func (e *podEngine) used(pod string) (n int) {
	for _, j := range e.jobs {
		n += j.on[pod]
	}
	return n
}

func (e *podEngine) told(j *podJob) control.Job {
	out := j.Job
	if j.Status == control.Running {
		out.Received = int64(time.Since(j.from) / (10 * time.Millisecond))
	}
	return out
}

func (e *podEngine) Cluster(ctx context.Context) (control.Cluster, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	pods, err := e.members(ctx)
	c := control.Cluster{Version: "2.3.8", Members: []control.Member{{Address: "10.9.9.9:5801", Master: true}}}
	for pod, ip := range pods {
		c.Members = append(c.Members, control.Member{Address: ip + ":5801", Lite: true})
		c.Slots.Workers++
		c.Slots.Total += podSlots
		c.Slots.Used += e.used(pod)
	}
	for _, j := range e.jobs {
		if j.Status == control.Running {
			c.Running++
		}
	}
	return c, err
}

func (e *podEngine) Worker(ctx context.Context, name string) (control.Slots, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	pods, err := e.members(ctx)
	if err != nil || pods[name] == "" {
		return control.Slots{}, err
	}
	return control.Slots{Workers: 1, Total: podSlots, Used: e.used(name)}, nil
}

// Tagged has nothing to say: no job here asks for tags.
func (e *podEngine) Tagged(context.Context, map[string]string, string) (control.Slots, error) {
	return control.Slots{}, control.ErrUnsupported
}

func (e *podEngine) Placed(ctx context.Context, address string) ([]control.TaskGroup, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	pods, err := e.members(ctx)
	if err != nil {
		return nil, err
	}
	for pod, ip := range pods {
		if ip != address {
			continue
		}
		groups := []control.TaskGroup{}
		for _, j := range e.jobs {
			for i := range j.on[pod] {
				groups = append(groups, control.TaskGroup{Job: j.ID, Pipeline: 1, ID: int64(i)})
			}
		}
		return groups, nil
	}
	return nil, fmt.Errorf("no member has the address %q", address)
}

func (e *podEngine) Jobs(ctx context.Context) ([]control.Job, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, err := e.members(ctx)
	var out []control.Job
	for _, j := range e.jobs {
		if !j.Status.Ended() {
			out = append(out, e.told(j))
		}
	}
	return out, err
}

func (e *podEngine) Job(ctx context.Context, id string) (control.Job, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, err := e.members(ctx); err != nil {
		return control.Job{}, err
	}
	j := e.jobs[id]
	if j == nil {
		return control.Job{}, control.ErrNoJob
	}
	return e.told(j), nil
}

func (e *podEngine) StopWithSavepoint(_ context.Context, id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if j := e.jobs[id]; j != nil && j.Status == control.Running {
		j.Status, j.on = control.SavepointDone, nil
	}
	return nil
}

func (e *podEngine) Restore(ctx context.Context, id, _ string, _ control.Config) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	pods, err := e.members(ctx)
	if err != nil {
		return err
	}
	for pod := range pods {
		if e.used(pod)+2 <= podSlots {
			j := e.jobs[id]
			j.Status, j.from, j.on = control.Running, time.Now(), map[string]int{pod: 2}
			return nil
		}
	}
	return errors.New("there are no slots")
}

func (e *podEngine) Hold(ctx context.Context, id, worker string, slots int) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	pods, err := e.members(ctx)
	if err != nil || pods[worker] == "" || e.used(worker) > 0 {
		return fmt.Errorf("%w: holding %s: %w", control.ErrRefused, worker, err)
	}
	e.jobs[id] = &podJob{
		Job: control.Job{ID: id, Name: "zeta-scaler-hold-" + worker, Status: control.Running, Mode: control.Streaming},
		on:  map[string]int{worker: slots}, hold: true,
	}
	return nil
}

func (e *podEngine) Cancel(_ context.Context, id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if j := e.jobs[id]; j != nil && !j.Status.Ended() {
		j.Status, j.on = control.Canceled, nil
	}
	return nil
}

func (e *podEngine) Config(context.Context, control.Job) (control.Config, error) {
	return control.Config{Format: "json", Text: []byte("{}")}, nil
}

// drainsAPod drains a worker by hand: its pod goes and no other, and the job that
// was there runs elsewhere before.
func drainsAPod(t *testing.T, c *kube.Cluster) {
	for _, kind := range []string{kubeactuator.StatefulSet, kubeactuator.Deployment} {
		t.Run(kind, func(t *testing.T) { drainsAPodOf(t, newSiteOf(t, c, kind, 3)) })
	}
}

func drainsAPodOf(t *testing.T, s *site) {
	a := s.actuator(t)
	workers := s.workers(t, a)
	victim := workers[0].Name
	if s.kind == kubeactuator.Deployment {
		victim = workers[1].Name
	}
	e := &podEngine{s: s, jobs: map[string]*podJob{}}
	for i, w := range workers {
		id := fmt.Sprint(4501 + i)
		e.jobs[id] = &podJob{
			Job:  control.Job{ID: id, Name: "job-" + id, Status: control.Running, Mode: control.Streaming},
			from: time.Now(), on: map[string]int{w.Name: 2},
		}
	}
	store := memory.New()
	x, err := drain.New(t.Context(), acting.Options{Store: store, Clock: evaluator.WallClock{}, Epoch: 2})
	require.NoError(t, err)
	x.Configure([]drain.ScopeConfig{{
		Scope: s.target().Scope, Mode: scaling.Webhook, Kind: "kubernetes", Target: s.target().Name, Actuator: a,
		Cluster: "z", Engine: e, Configs: e, Hold: true, Cooldown: time.Second,
	}})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-done)
	})
	over := func() scaling.Drain {
		var last scaling.Drain
		harness.Wait(t, podsWithin, "the drain is over", func(ctx context.Context) error {
			r, _, err := state.Load[state.DrainRecord](ctx, store, state.Drain, s.namespace)
			if err == nil && (r.Open != nil || r.Last == nil) {
				err = fmt.Errorf("it is at %+v", r.Open)
			}
			if err == nil {
				last = *r.Last
			}
			return err
		})
		return last
	}
	_, err = x.Request(t.Context(), s.namespace, victim, "ops", "maintenance")
	require.NoError(t, err)
	d := over()
	require.Equal(t, scaling.DrainDecommissioned, d.State, "%+v", d)
	require.Equal(t, victim, d.Worker)
	require.Empty(t, d.Harm)
	require.Len(t, d.Jobs, 1)
	require.Equal(t, scaling.JobRestored, d.Jobs[0].Step)
	left := namesOf(s.workers(t, a))
	require.Len(t, left, 2)
	require.NotContains(t, left, victim)
	meta, _ := s.workload(t)
	require.Equal(t, d.ID, meta.Annotations[kubeactuator.ReleaseAnnotation])
	require.Equal(t, "2", meta.Annotations[kubeactuator.EpochAnnotation])

	// Beside an autoscaler nothing is stopped.
	least := int32(2)
	_, err = s.Admin.AutoscalingV2().HorizontalPodAutoscalers(s.namespace).Create(t.Context(), &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "by-cpu"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: s.kind, Name: workerName},
			MinReplicas:    &least, MaxReplicas: 9,
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = x.Request(t.Context(), s.namespace, "", "ops", "maintenance")
	require.NoError(t, err)
	again := over()
	require.Equal(t, scaling.DrainActive, again.State)
	require.Contains(t, again.Error, "another writer changes the target: HorizontalPodAutoscaler "+s.namespace+"/by-cpu")
	require.Empty(t, again.Jobs)
	require.Equal(t, 2, s.replicas(t))

	e.mu.Lock()
	defer e.mu.Unlock()
	require.Empty(t, e.lost)
	holds := 0
	for id, j := range e.jobs {
		require.Equal(t, !j.hold, j.Status == control.Running, id)
		if j.hold {
			holds++
		}
	}
	require.Equal(t, 1, holds, "its slots were held while it went")
}

var _ interface {
	drain.Engine
	drain.Configs
} = (*podEngine)(nil)

var _ actuators.Claimer = (*kubeactuator.Actuator)(nil)
