package kubernetes

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
)

// drain is the fence of a release.
func drain(epoch uint64, n int) actuators.Fence {
	f := fence(epoch, 9)
	f.ActionID = fmt.Sprint("drain-", n)
	return f
}

// worker is the one of that name, as Workers has it.
func (p *platform) worker(name string) []actuators.Worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q := p.pod(name); q != nil {
		return []actuators.Worker{{Name: name, Address: q.ip}}
	}
	return []actuators.Worker{{Name: name}}
}

// Pods of the Deployment.
const (
	firstOfDeployment  = "worker-7f9c-a"
	secondOfDeployment = "worker-7f9c-b"
)

func TestReleaseWritesOneLessAndTheFenceTogether(t *testing.T) {
	p := newPods(t, StatefulSet, 3)
	a := p.actuator(t, quiet())
	require.Equal(t, actuators.Capabilities{Observes: true, Releases: true, Lists: true}, a.Capabilities())
	workers, err := a.Workers(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, []actuators.Worker{
		{Name: "worker-2", Address: "10.0.0.3"}, {Name: "worker-1", Address: "10.0.0.2"}, {Name: "worker-0", Address: "10.0.0.1"},
	}, workers)
	require.NoError(t, a.Release(t.Context(), target, workers[:1], drain(7, 1)))
	require.Equal(t, []patch{{
		Metadata: patchMeta{ResourceVersion: "1", Annotations: map[string]string{
			EpochAnnotation: "7", GenerationAnnotation: "9", RecommendationAnnotation: "7-9-prod",
			ActionAnnotation: "drain-1", ReleaseAnnotation: "drain-1", ReplicasAnnotation: "2", UIDAnnotation: "u-1",
		}},
		Spec: &patchSpec{Replicas: 2},
	}}, p.patches)
	require.Equal(t, []string{"worker-0", "worker-1"}, p.names())
	require.Empty(t, p.podCalls, "a StatefulSet's pods are only read")
}

// In words that a person reads: who goes, who would, and what to wait for.
func TestWhomAStatefulSetReleases(t *testing.T) {
	for _, tc := range []struct {
		name    string
		set     func(p *platform)
		release string
		is      error // nil: it may pass, errDone: done
		say     string
	}{
		{"the last", func(*platform) {}, "worker-2", errDone, ""},
		{"another one", func(*platform) {}, "worker-1", actuators.ErrRefused, "with 3 replicas worker-2 goes first"},
		{"one that there is not", func(*platform) {}, "worker-3", actuators.ErrRefused, "with 3 replicas worker-2 goes first"},
		{"the last, where ordinals do not begin at 0", func(p *platform) { p.start, p.pods = 5, nil; p.control() }, "worker-7", errDone, ""},
		{"another one, where ordinals do not begin at 0", func(p *platform) { p.start, p.pods = 5, nil; p.control() }, "worker-2", actuators.ErrRefused, "worker-7 goes first"},
		{"the last of none", func(p *platform) { p.replicas = 0; p.control() }, "worker-0", actuators.ErrRefused, "has no replicas"},
		{"the only one", func(p *platform) { p.replicas = 1; p.control() }, "worker-0", errDone, ""},
		{"the last, which is not there", func(p *platform) { p.pods = p.pods[:2] }, "worker-2", nil, "no such pod at the moment, but worker-1, worker-0"},
		{"the last, with another one missing", func(p *platform) { p.pods = p.pods[1:] }, "worker-2", nil, "its pods are worker-2, worker-1, and its 3 replicas are worker-2, worker-1, worker-0"},
		{"the last, with one too many", func(p *platform) { p.addPod("worker-3") }, "worker-2", nil, "its pods are worker-3, worker-2"},
		{"the last, which leaves already", func(p *platform) { p.pod("worker-2").leaving = true }, "worker-2", nil, "worker-2 (leaves since 10:20:30)"},
		{"the last, which has ended", func(p *platform) { p.pod("worker-2").phase = "Failed" }, "worker-2", nil, "no such pod at the moment"},
		{"the last, which is not ready", func(p *platform) { p.pod("worker-2").unready = true }, "worker-2", errDone, ""},
		{"the last, with another one not ready", func(p *platform) { p.pod("worker-0").unready = true }, "worker-2", nil, "worker-0 is not ready, and nothing is removed before it is"},
		{
			"the last, with another one not ready that nobody waits for", func(p *platform) { p.pod("worker-0").unready, p.policy = true, "Parallel" },
			"worker-2", errDone, "",
		},
		{"the last, of an older spec", func(p *platform) { p.generation++ }, "worker-2", nil, "has not seen the last change"},
		{"the last, with pods of others that look alike", func(p *platform) {
			p.addPod("worker-9").owner["uid"] = "another"
			p.addPod("worker-8").owner["controller"] = false
		}, "worker-2", errDone, ""},
		{"a pod that has its name and not its address", func(p *platform) { p.pod("worker-2").ip = "10.9.9.9" }, "worker-2", actuators.ErrRefused, `has the address "10.9.9.9"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPods(t, StatefulSet, 3)
			who := p.worker(tc.release)
			p.change(func() { tc.set(p) })
			if who[0].Address == "" {
				who = p.worker(tc.release)
			}
			before := p.replicas
			err := p.actuator(t, quiet()).Release(t.Context(), target, who, drain(1, 1))
			if errors.Is(tc.is, errDone) {
				require.NoError(t, err)
				require.Equal(t, before-1, p.replicas)
				return
			}
			requireMeaning(t, err, tc.is)
			require.ErrorContains(t, err, tc.say)
			require.ErrorContains(t, err, "releasing "+tc.release+" of StatefulSet st/worker")
			require.Equal(t, before, p.replicas)
			require.Empty(t, p.patches)
		})
	}
}

// errDone stands for no error in tables.
var errDone = errors.New("done")

func TestWhomADeploymentReleases(t *testing.T) {
	cost := func(p *platform, name string, n int) {
		p.pod(name).annotations[DeletionCostAnnotation] = strconv.Itoa(n)
	}
	for _, tc := range []struct {
		name string
		set  func(p *platform)
		is   error
		say  string
		cost string // of the one that is released
	}{
		{"any", func(*platform) {}, errDone, "", "-1"},
		{"one among others that cost less", func(p *platform) { cost(p, firstOfDeployment, -7) }, errDone, "", "-8"},
		{"one among others that cost more", func(p *platform) { cost(p, firstOfDeployment, 7) }, errDone, "", "-1"},
		{"one that costs least", func(p *platform) { cost(p, secondOfDeployment, -3) }, errDone, "", "-3"},
		{"one whose cost nobody can read", func(p *platform) {
			p.pod(secondOfDeployment).annotations[DeletionCostAnnotation] = "cheap"
		}, errDone, "", "-1"},
		{"one that cannot cost less", func(p *platform) { cost(p, firstOfDeployment, math.MinInt32) }, actuators.ErrRefused, "lowest deletion cost that there is", ""},
		{"one that is not there", func(p *platform) { p.pods = []*fakePod{p.pods[0], p.pods[2]} }, actuators.ErrRefused, "it has no such pod, but worker-7f9c-c, worker-7f9c-a", ""},
		{"one, with another one missing", func(p *platform) { p.pods = p.pods[1:] }, nil, "is being rolled out: of 3 replicas 2 are there", ""},
		{"one, with another one leaving", func(p *platform) { p.pods[0].leaving = true }, nil, "worker-7f9c-a (leaves since 10:20:30), and it has 3 replicas", ""},
		{"one that leaves", func(p *platform) { p.pods[1].leaving = true }, nil, "worker-7f9c-b (leaves since 10:20:30), worker-7f9c-a, and it has 3 replicas", ""},
		{"one, in a roll-out", func(p *platform) { p.rollout = true }, nil, "is being rolled out", ""},
		{"one, with another one not ready", func(p *platform) { p.pods[0].unready = true }, nil, "worker-7f9c-a is not ready, and would be removed before worker-7f9c-b", ""},
		{"one that is not ready", func(p *platform) { p.pods[1].unready = true }, errDone, "", "-1"},
		{"one among pods of others", func(p *platform) {
			p.addPod("other").owner["name"] = "worker-blue-7f9c"
			p.pods = p.pods[:3]
		}, errDone, "", "-1"},
		{"one that is another by now", func(p *platform) { p.pods[1].ip = "10.9.9.9" }, actuators.ErrRefused, "it is another one by now", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPods(t, Deployment, 3)
			who := p.worker(secondOfDeployment)
			p.change(func() { tc.set(p) })
			victim := p.pod(secondOfDeployment)
			a := p.actuator(t, quiet())
			require.True(t, a.Capabilities().Chooses)
			err := a.Release(t.Context(), target, who, drain(1, 1))
			if errors.Is(tc.is, errDone) {
				require.NoError(t, err)
				require.Equal(t, 2, p.replicas)
				require.NotContains(t, p.names(), secondOfDeployment)
				require.Equal(t, tc.cost, victim.annotations[DeletionCostAnnotation])
				return
			}
			requireMeaning(t, err, tc.is)
			require.ErrorContains(t, err, tc.say)
			require.Equal(t, 3, p.replicas)
			require.Empty(t, p.patches)
			require.Empty(t, p.podCalls)
		})
	}
}

// What a Deployment has removed is read: a cost is a wish.
func TestADeploymentThatRemovesAnotherPod(t *testing.T) {
	p := newPods(t, Deployment, 3)
	a := p.actuator(t, quiet())
	p.before = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch && r.URL.Path == p.workloadPath() {
			p.mu.Lock()
			p.pod(firstOfDeployment).unready = true // between read and write
			p.mu.Unlock()
		}
		return false
	}
	who := p.worker(secondOfDeployment)
	var other *actuators.OtherWorkerError
	require.ErrorAs(t, a.Release(t.Context(), target, who, drain(1, 1)), &other)
	require.Equal(t, &actuators.OtherWorkerError{Named: secondOfDeployment, Gone: firstOfDeployment}, other)
	require.Equal(t, []string{secondOfDeployment, "worker-7f9c-c"}, p.names())

	p.before = nil
	require.ErrorAs(t, a.Release(t.Context(), target, who, drain(1, 1)), &other, "it is known for as long as nothing else is asked")
	require.Equal(t, &actuators.OtherWorkerError{Named: secondOfDeployment}, other)
	require.EqualError(t, other, "the platform was asked to remove worker "+secondOfDeployment+" and has removed another one")
	require.Len(t, p.patches, 1)
}

func TestADeploymentThatRemovesNobodyYet(t *testing.T) {
	p := newPods(t, Deployment, 3)
	a := p.actuator(t, quiet())
	a.watch = 20 * time.Millisecond
	p.before = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch && r.URL.Path == p.workloadPath() {
			p.mu.Lock()
			p.controls = false
			p.mu.Unlock()
		}
		return false
	}
	// Its status is not known without controllers, so that this is tried first.
	require.NoError(t, a.Release(t.Context(), target, p.worker(secondOfDeployment), drain(1, 1)))
	require.Equal(t, 2, p.replicas)
	require.Len(t, p.names(), 3)
	require.NoError(t, a.Release(t.Context(), target, p.worker(secondOfDeployment), drain(1, 1)), "asked again, it is still to come")
	require.Len(t, p.patches, 1)
}

// Whatever comes between the look and the write is looked at again.
func TestAfterAConflictAReleaseDecidesAgain(t *testing.T) {
	for _, tc := range []struct {
		name   string
		kind   string
		change func(p *platform)
		is     error
		say    string
		want   int
	}{
		{"only the status changed", StatefulSet, func(*platform) {}, errDone, "", 2},
		{"a newer leader came", StatefulSet, func(p *platform) { p.annotations[EpochAnnotation] = "9" }, actuators.ErrStale, "epoch 9", 3},
		{"somebody has removed one", StatefulSet, func(p *platform) { p.replicas = 2; p.control() }, actuators.ErrRefused, "worker-1 goes first", 2},
		{"somebody has added one", StatefulSet, func(p *platform) { p.replicas = 4; p.control() }, actuators.ErrRefused, "worker-3 goes first", 4},
		{"the pod was replaced", StatefulSet, func(p *platform) { p.pods = p.pods[:2]; p.control() }, actuators.ErrRefused, "it is another one by now", 3},
		{"it became Application Mode", StatefulSet, func(p *platform) { p.labels = map[string]string{applicationLabel: "x"} }, actuators.ErrRefused, "Application Mode", 3},
		{"the pod changed", Deployment, func(p *platform) { p.pod(secondOfDeployment).version++ }, errDone, "", 2},
		{"the pod was replaced", Deployment, func(p *platform) {
			p.pods = []*fakePod{p.pods[0], p.pods[2]}
			p.control()
		}, actuators.ErrRefused, "it has no such pod", 3},
	} {
		t.Run(tc.kind+": "+tc.name, func(t *testing.T) {
			p := newPods(t, tc.kind, 3)
			name := "worker-2"
			if tc.kind == Deployment {
				name = secondOfDeployment
			}
			who := p.worker(name)
			var patches atomic.Int32
			p.before = func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPatch && patches.Add(1) == 1 {
					p.change(func() { tc.change(p) })
				}
				return false
			}
			err := p.actuator(t, quiet()).Release(t.Context(), target, who, drain(1, 1))
			if errors.Is(tc.is, errDone) {
				require.NoError(t, err)
			} else {
				requireMeaning(t, err, tc.is)
				require.ErrorContains(t, err, tc.say)
			}
			require.Equal(t, tc.want, p.replicas)
		})
	}
}

// A release that was carried out, and whose reply was lost, is not carried out
// again: not under a newer leader, not after the worker has come back, not if
// somebody else has written meanwhile.
func TestAReleaseIsNotRepeated(t *testing.T) {
	p := newPods(t, StatefulSet, 3)
	p.loseReply()
	a := p.actuator(t, quiet())
	who := p.worker("worker-2")
	requireMeaning(t, a.Release(t.Context(), target, who, drain(1, 1)), actuators.ErrUnknownOutcome)
	require.NoError(t, a.Claim(t.Context(), target, actuators.Fence{Epoch: 2}))
	require.NoError(t, a.Release(t.Context(), target, who, drain(2, 1)))
	requireMeaning(t, a.Release(t.Context(), target, who, drain(1, 1)), actuators.ErrStale)
	require.Equal(t, 2, p.replicas)

	scaled := fence(2, 2)
	scaled.Fenced = true
	require.NoError(t, a.Scale(t.Context(), target, 3, scaled), "the release was our own write")
	require.Contains(t, p.names(), "worker-2")
	require.NoError(t, a.Release(t.Context(), target, []actuators.Worker{{Name: "worker-2"}}, drain(2, 1)))
	require.Equal(t, 3, p.replicas, "who has come back stays")

	require.NoError(t, a.Release(t.Context(), target, p.worker("worker-2"), drain(2, 2)))
	p.change(func() {
		p.replicas = 3
		p.managers = []map[string]any{manager("gitops", "", "2026-01-01T00:00:00Z", map[string]any{"f:spec": map[string]any{"f:replicas": map[string]any{}}})}
		p.control()
	})
	requireOtherWriter(t, a.Release(t.Context(), target, p.worker("worker-2"), drain(2, 2)), "field manager gitops")
	requireOtherWriter(t, a.Release(t.Context(), target, p.worker("worker-2"), drain(2, 3)), "field manager gitops")
	require.Equal(t, 3, p.replicas)
	accepted := drain(2, 3)
	accepted.AcceptPresent = true
	require.NoError(t, a.Release(t.Context(), target, p.worker("worker-2"), accepted))
	require.Equal(t, 2, p.replicas)
}

// A workload that came out of a backup has our annotations, and nothing of them
// happened to it.
func TestACopiedReleaseIsNoRelease(t *testing.T) {
	p := newPods(t, StatefulSet, 3)
	a := p.actuator(t, quiet())
	require.NoError(t, a.Release(t.Context(), target, p.worker("worker-2"), drain(1, 1)))
	p.change(func() {
		p.uid, p.replicas, p.pods = "u-2", 3, nil
		p.control()
	})
	requireOtherWriter(t, a.Release(t.Context(), target, p.worker("worker-2"), drain(1, 1)), actuators.LostFence)
	require.Equal(t, 3, p.replicas)
}

func TestAnAutoscalerForbidsARelease(t *testing.T) {
	p := newPods(t, StatefulSet, 3)
	p.lists[hpaPath] = []map[string]any{scalerOf("x", map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "worker"})}
	requireOtherWriter(t, p.actuator(t, quiet()).Release(t.Context(), target, p.worker("worker-2"), drain(1, 1)), "HorizontalPodAutoscaler st/x")
	require.Empty(t, p.patches)
}

func TestRightsOfARelease(t *testing.T) {
	for _, tc := range []struct {
		kind, method, path string
		code               int
		is                 error
		say                string
	}{
		{StatefulSet, http.MethodGet, podsPath, http.StatusForbidden, actuators.ErrRefused, "not allowed to list pods of StatefulSet st/worker"},
		{StatefulSet, http.MethodGet, podsPath, http.StatusInternalServerError, nil, "calling list of pods of StatefulSet st/worker"},
		{Deployment, http.MethodPatch, podsPath + "/" + secondOfDeployment, http.StatusForbidden, actuators.ErrRefused, "not allowed to patch pod st/" + secondOfDeployment},
		{Deployment, http.MethodPatch, podsPath + "/" + secondOfDeployment, http.StatusInternalServerError, nil, "calling patch of pod st/" + secondOfDeployment},
	} {
		t.Run(fmt.Sprint(tc.kind, " ", tc.method, " ", tc.code), func(t *testing.T) {
			p := newPods(t, tc.kind, 3)
			p.before = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == tc.method && r.URL.Path == tc.path {
					status(w, tc.code)
					return true
				}
				return false
			}
			name := "worker-2"
			if tc.kind == Deployment {
				name = secondOfDeployment
			}
			a := p.actuator(t, quiet())
			err := a.Release(t.Context(), target, p.worker(name), drain(1, 1))
			requireMeaning(t, err, tc.is)
			require.ErrorContains(t, err, tc.say)
			require.Equal(t, 3, p.replicas)
			if tc.method == http.MethodGet {
				_, err = a.Workers(t.Context(), target)
				requireMeaning(t, err, tc.is)
			}
		})
	}
}

func TestOrderOfADeploymentsWorkers(t *testing.T) {
	p := newPods(t, Deployment, 4)
	p.pods[0].annotations[DeletionCostAnnotation] = "5"
	p.pods[1].unready = true
	p.pods[3].leaving = true
	workers, err := p.actuator(t, quiet()).Workers(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, []actuators.Worker{
		{Name: "worker-7f9c-b", Address: "10.0.0.2"}, // not ready
		{Name: "worker-7f9c-d", Address: "10.0.0.4", Leaving: true},
		{Name: "worker-7f9c-c", Address: "10.0.0.3"},
		{Name: "worker-7f9c-a", Address: "10.0.0.1"}, // costs more
	}, workers)
}

func TestAddressesAreCompared(t *testing.T) {
	for address, same := range map[string]bool{
		"": true, "10.0.0.7": true, "10.0.0.7:5801": true, "[10.0.0.7]:5801": true, "10.0.0.8": false, "10.0.0.8:5801": false, "worker-7:5801": false, "x": false,
	} {
		require.Equal(t, same, sameHost(address, "10.0.0.7"), address)
	}
	require.True(t, sameHost("[fd00::1]:5801", "fd00:0::1"))
	require.True(t, sameHost("fd00::1", "fd00::1"))
	require.False(t, sameHost("10.0.0.7", ""))
}
