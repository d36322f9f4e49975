//go:build e2e && unix

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/actuators/actuatortest"
	kubeactuator "github.com/zeta-scaler/zeta-scaler/actuators/kubernetes"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/kube"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

const (
	// podsWithin is how long controllers, scheduler and pods may take on a busy
	// machine; idle it takes less than a second.
	podsWithin = time.Minute
	workerName = "worker"
)

// The rights of docs/actuators-kubernetes.md.
var (
	mayScale = rbacv1.PolicyRule{
		APIGroups: []string{"apps"}, Resources: []string{"statefulsets", "deployments"},
		ResourceNames: []string{workerName}, Verbs: []string{"get", "patch"},
	}
	mayLook = []rbacv1.PolicyRule{
		{APIGroups: []string{"autoscaling"}, Resources: []string{"horizontalpodautoscalers"}, Verbs: []string{"list"}},
		{APIGroups: []string{"keda.sh"}, Resources: []string{"scaledobjects"}, Verbs: []string{"list"}},
	}
	mayDrain = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "patch"}}
	mayTell  = rbacv1.PolicyRule{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create"}}
)

// site is a workload "worker" in a namespace of its own, and a service account
// that may scale it.
type site struct {
	*kube.Cluster
	namespace, kind string
	// account is the user name of the service account.
	account string
}

// newSite starts the workload with two ready pods.
func newSite(t *testing.T, c *kube.Cluster, kind string, rules ...rbacv1.PolicyRule) *site {
	t.Helper()
	return newSiteOf(t, c, kind, 2, rules...)
}

func newSiteOf(t *testing.T, c *kube.Cluster, kind string, replicas int, rules ...rbacv1.PolicyRule) *site {
	t.Helper()
	return newSiteWith(t, c, kind, replicas, appsv1.OrderedReadyPodManagement, rules...)
}

// newSiteWith takes the order in which a StatefulSet starts and removes its pods.
func newSiteWith(t *testing.T, c *kube.Cluster, kind string, replicas int, order appsv1.PodManagementPolicyType, rules ...rbacv1.PolicyRule) *site {
	t.Helper()
	s := &site{Cluster: c, namespace: c.Namespace(t, strings.ToLower(kind)), kind: kind}
	s.account = "system:serviceaccount:" + s.namespace + ":zeta-scaler"
	if rules == nil {
		rules = append([]rbacv1.PolicyRule{mayScale, mayTell, mayDrain}, mayLook...)
	}
	_, err := c.Admin.RbacV1().Roles(s.namespace).Create(t.Context(),
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "zeta-scaler"}, Rules: rules}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = c.Admin.RbacV1().RoleBindings(s.namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "zeta-scaler"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "zeta-scaler"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: s.account}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	s.create(t, replicas, order)
	seen := ""
	what := fmt.Sprintf("%d pods of %s %s/worker are ready and nobody writes any more", replicas, kind, s.namespace)
	harness.Wait(t, podsWithin, what, func(ctx context.Context) error {
		if err := s.hasReady(ctx, replicas); err != nil {
			return err
		}
		last := seen
		meta, _ := s.workload(t)
		if seen = meta.ResourceVersion; seen != last {
			return fmt.Errorf("the status has just changed")
		}
		return nil
	})
	return s
}

func (s *site) create(t *testing.T, pods int, order appsv1.PodManagementPolicyType) {
	t.Helper()
	labels := map[string]string{"app": workerName}
	meta := metav1.ObjectMeta{Name: workerName, Namespace: s.namespace}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	replicas := int32(pods) //nolint:gosec // a handful
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "zeta", Image: "seatunnel"}}},
	}
	var err error
	if s.kind == kubeactuator.StatefulSet {
		_, err = s.Admin.AppsV1().StatefulSets(s.namespace).Create(t.Context(), &appsv1.StatefulSet{
			ObjectMeta: meta,
			Spec: appsv1.StatefulSetSpec{
				Replicas: &replicas, Selector: selector, Template: template, ServiceName: workerName, PodManagementPolicy: order,
			},
		}, metav1.CreateOptions{})
	} else {
		_, err = s.Admin.AppsV1().Deployments(s.namespace).Create(t.Context(), &appsv1.Deployment{
			ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector, Template: template},
		}, metav1.CreateOptions{})
	}
	require.NoError(t, err)
}

func (s *site) hasReady(ctx context.Context, want int) error {
	list, err := s.Admin.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	ready := 0
	for _, p := range list.Items {
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	if ready != want || len(list.Items) != want {
		return fmt.Errorf("%d of %d pods are ready", ready, len(list.Items))
	}
	return nil
}

// workload returns metadata and spec.replicas of the workload.
func (s *site) workload(t *testing.T) (metav1.ObjectMeta, int) {
	t.Helper()
	if s.kind == kubeactuator.StatefulSet {
		w, err := s.Admin.AppsV1().StatefulSets(s.namespace).Get(t.Context(), workerName, metav1.GetOptions{})
		require.NoError(t, err)
		return w.ObjectMeta, int(*w.Spec.Replicas)
	}
	w, err := s.Admin.AppsV1().Deployments(s.namespace).Get(t.Context(), workerName, metav1.GetOptions{})
	require.NoError(t, err)
	return w.ObjectMeta, int(*w.Spec.Replicas)
}

func (s *site) replicas(t *testing.T) int {
	t.Helper()
	_, n := s.workload(t)
	return n
}

// patch changes the workload as somebody else.
func (s *site) patch(t *testing.T, manager, patch string) {
	t.Helper()
	var err error
	options := metav1.PatchOptions{FieldManager: manager}
	if s.kind == kubeactuator.StatefulSet {
		_, err = s.Admin.AppsV1().StatefulSets(s.namespace).Patch(t.Context(), workerName, types.MergePatchType, []byte(patch), options)
	} else {
		_, err = s.Admin.AppsV1().Deployments(s.namespace).Patch(t.Context(), workerName, types.MergePatchType, []byte(patch), options)
	}
	require.NoError(t, err)
}

func (s *site) options(kubeconfig string) kubeactuator.Options {
	return kubeactuator.Options{
		Namespace: s.namespace, Kind: s.kind, Name: workerName, Kubeconfig: kubeconfig,
		Timeout: 5 * time.Second, Logger: slog.New(slog.DiscardHandler),
	}
}

func (s *site) actuator(t *testing.T) *kubeactuator.Actuator {
	t.Helper()
	a, _ := s.loggingActuator(t)
	return a
}

// loggingActuator also returns what the actuator has logged, to be read after
// its calls.
func (s *site) loggingActuator(t *testing.T) (*kubeactuator.Actuator, *bytes.Buffer) {
	t.Helper()
	o, log := s.options(s.Kubeconfig(t, s.account)), new(bytes.Buffer)
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	a, err := kubeactuator.New(o)
	require.NoError(t, err)
	return a, log
}

func (s *site) target() actuators.Target {
	return actuators.Target{Scope: scaling.Scope{Key: s.namespace}, Name: s.options("").Target()}
}

func (s *site) fence(epoch, generation uint64) actuators.Fence {
	id := scaling.RecommendationID(epoch, generation, s.namespace)
	return actuators.Fence{Epoch: epoch, Generation: generation, RecommendationID: id, ActionID: id}
}

// converge waits until the platform says that want are asked for and ready.
func (s *site) converge(t *testing.T, a *kubeactuator.Actuator, want int) actuators.State {
	t.Helper()
	var last actuators.State
	harness.Wait(t, podsWithin, fmt.Sprintf("%s/worker has %d of %d ready", s.namespace, want, want), func(ctx context.Context) error {
		var err error
		if last, err = a.Observe(ctx, s.target()); err != nil {
			return err
		}
		if last.Desired != want || last.Ready != want {
			return fmt.Errorf("%d of %d are ready", last.Ready, last.Desired)
		}
		return s.hasReady(ctx, want)
	})
	return last
}

// settle waits until the pods are as many as the workload asks for, and all of
// them ready.
func (s *site) settle(t *testing.T) {
	t.Helper()
	want := s.replicas(t)
	harness.Wait(t, podsWithin, fmt.Sprintf("%s/worker has come to rest with %d pods", s.namespace, want), func(ctx context.Context) error {
		if err := s.hasReady(ctx, want); err != nil {
			return err
		}
		return s.rests(ctx, want)
	})
}

// rests fails as long as the workload's status speaks of another spec or number.
func (s *site) rests(ctx context.Context, want int) error {
	var observed, generation int64
	var replicas int32
	if s.kind == kubeactuator.StatefulSet {
		w, err := s.Admin.AppsV1().StatefulSets(s.namespace).Get(ctx, workerName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		observed, generation, replicas = w.Status.ObservedGeneration, w.Generation, w.Status.ReadyReplicas
	} else {
		w, err := s.Admin.AppsV1().Deployments(s.namespace).Get(ctx, workerName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		observed, generation, replicas = w.Status.ObservedGeneration, w.Generation, w.Status.ReadyReplicas
	}
	if observed < generation || int(replicas) != want {
		return fmt.Errorf("its status says %d ready, as of generation %d of %d", replicas, observed, generation)
	}
	return nil
}

// gateway stands between an actuator and the API server and may interfere
// with one PATCH.
type gateway struct {
	*httptest.Server
	// before is called once, before the first PATCH is passed on; after once,
	// when it has been answered, and the answer is lost then.
	before, after atomic.Pointer[func()]
	patches       atomic.Int32
	// instead may answer any request in the API server's place; it then
	// returns true.
	instead atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool]
}

func (s *site) gateway(t *testing.T, timeout time.Duration) (*gateway, *kubeactuator.Actuator) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig(t, s.account))
	require.NoError(t, err)
	transport, err := rest.TransportFor(config)
	require.NoError(t, err)
	g := &gateway{}
	to := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "https", Host: s.Address})
	to.Transport = transport
	// What the API server does not answer is not answered here either.
	to.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := g.instead.Load(); f != nil && (*f)(w, r) {
			return
		}
		// Pods are patched, too.
		if r.Method != http.MethodPatch || !strings.HasSuffix(r.URL.Path, "/"+workerName) {
			to.ServeHTTP(w, r)
			return
		}
		g.patches.Add(1)
		if f := g.before.Swap(nil); f != nil {
			(*f)()
		}
		if f := g.after.Swap(nil); f != nil {
			to.ServeHTTP(httptest.NewRecorder(), r)
			(*f)()
			panic(http.ErrAbortHandler)
		}
		to.ServeHTTP(w, r)
	}))
	t.Cleanup(g.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", g.URL)
	require.NoError(t, os.WriteFile(kubeconfig, []byte(text), 0o600))
	o := s.options(kubeconfig)
	o.Timeout = timeout
	a, err := kubeactuator.New(o)
	require.NoError(t, err)
	return g, a
}

// conforming is an empty workload behind a gateway. Rights are taken away as an
// administrator would; the other faults are of the way to the API server.
func conforming(t *testing.T, c *kube.Cluster, kind string) actuatortest.Fixture {
	t.Helper()
	s := newSiteOf(t, c, kind, 0)
	g, a := s.gateway(t, 5*time.Second)
	return actuatortest.Fixture{
		Actuator: a, Target: s.target(), Desired: s.replicas, Settle: s.settle,
		Stall: func(*testing.T) func() { return g.stall() },
		LoseReply: func(*testing.T) {
			nothing := func() {}
			g.after.Store(&nothing)
		},
		Forget: func(t *testing.T) { s.patch(t, "somebody", `{"metadata": {"annotations": null}}`) },
		Refuse: s.takePatchAway,
		Fail: func(*testing.T) {
			busy := func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPatch {
					http.Error(w, "too many requests, please try again later", http.StatusTooManyRequests)
				}
				return r.Method == http.MethodPatch
			}
			g.instead.Store(&busy)
		},
	}
}

// stall answers nothing until resume is called, and passes nothing on.
func (g *gateway) stall() (resume func()) {
	resumed := make(chan struct{})
	hang := func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-resumed:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	}
	g.instead.Store(&hang)
	return func() {
		g.instead.Store(nil)
		close(resumed)
	}
}

// takePatchAway leaves the service account the right to read, and waits until
// the API server has noticed.
func (s *site) takePatchAway(t *testing.T) {
	t.Helper()
	readOnly := mayScale
	readOnly.Verbs = []string{"get"}
	roles := s.Admin.RbacV1().Roles(s.namespace)
	role, err := roles.Get(t.Context(), "zeta-scaler", metav1.GetOptions{})
	require.NoError(t, err)
	role.Rules = append([]rbacv1.PolicyRule{readOnly, mayDrain}, mayLook...)
	_, err = roles.Update(t.Context(), role, metav1.UpdateOptions{})
	require.NoError(t, err)
	harness.Wait(t, podsWithin, s.account+" may not patch any more", func(ctx context.Context) error {
		review, err := s.Admin.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: s.account, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: s.namespace, Verb: "patch", Group: "apps", Resource: "statefulsets", Name: workerName,
			}},
		}, metav1.CreateOptions{})
		if err == nil && review.Status.Allowed {
			err = fmt.Errorf("it still may")
		}
		return err
	})
}
