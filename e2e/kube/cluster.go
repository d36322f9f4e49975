//go:build unix

// Package kube runs a real Kubernetes control plane in tests: etcd, the API
// server and, where workloads are to come and go, the controller manager and
// the scheduler, each a process of its own on loopback, built from source. Only
// the node is not real: a Kubelet here says that pods run, and runs nothing.
package kube

import (
	"context"
	"crypto/x509/pkix"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

const (
	// readyWithin covers a start on a busy machine; idle it takes 3 to 4 s.
	readyWithin = 2 * time.Minute
	// endsWithin is how long the API server may take to end: with watches that
	// are still open it would take a minute.
	endsWithin = 2 * time.Second

	adminUser  = "e2e-admin"
	adminGroup = "system:masters"

	// controllers are those that workloads and their namespaces need. The one
	// of HorizontalPodAutoscalers has no metrics here, yet holds a workload
	// within its bounds.
	controllers = "statefulset-controller,deployment-controller,replicaset-controller,garbage-collector-controller," +
		"namespace-controller,horizontal-pod-autoscaler-controller"
)

// Options say what is started besides etcd and the API server.
type Options struct {
	// Workloads starts the controller manager, the scheduler and a Kubelet, so
	// that StatefulSets and Deployments get pods.
	Workloads bool
}

// Cluster is a running control plane with role-based access control. It ends
// with the test.
type Cluster struct {
	// Address of the API server, host:port.
	Address string
	// Admin may do everything, without a rate limit.
	Admin kubernetes.Interface
	// APIServer can be frozen and thawed; StopAPIServer and StartAPIServer end
	// it and start another on the same data.
	APIServer *harness.Process
	// Kubelet is nil without workloads.
	Kubelet *Kubelet

	// owner is the test that started the cluster: what a subtest starts again
	// ends with it.
	owner   testing.TB
	lab     *harness.Lab
	dir     string
	ca      *harness.Authority
	command harness.Command
}

// Start starts a control plane and waits until it is ready. It skips the test
// where the programs cannot be built.
func Start(t testing.TB, lab *harness.Lab, o Options) *Cluster {
	t.Helper()
	programs := map[string]string{}
	needed := []harness.Program{etcd, apiServer}
	if o.Workloads {
		needed = append(needed, controllerManager, scheduler)
	}
	for _, p := range needed {
		programs[p.Name] = build(t, lab, p)
	}
	dir, err := os.MkdirTemp(lab.Dir, "kube-")
	must(t, err, "making the control plane's folder")
	ca, err := harness.NewAuthority(dir)
	must(t, err, "making certificates")
	ports := harness.FreePorts(t, 3)
	c := &Cluster{Address: harness.Loopback(ports), owner: t, lab: lab, dir: dir, ca: ca}
	t.Logf("Kubernetes %s, API server on %s, data in %s", Version, c.Address, dir)

	etcdURL := harness.URL(harness.Loopback(ports + 1))
	c.startEtcd(t, programs[etcd.Name], etcdURL, harness.URL(harness.Loopback(ports+2)))
	c.command = c.apiServerCommand(t, programs[apiServer.Name], ports, etcdURL)
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig(t, adminUser, adminGroup))
	must(t, err, "reading the administrator's kubeconfig")
	config.QPS = -1
	c.Admin, err = kubernetes.NewForConfig(rest.AddUserAgent(config, "e2e"))
	must(t, err, "making the administrator's client")
	c.StartAPIServer(t)
	if o.Workloads {
		c.startWorkloads(t, programs)
	}
	return c
}

func must(t testing.TB, err error, what string) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func (c *Cluster) startEtcd(t testing.TB, path, clientURL, peerURL string) {
	t.Helper()
	p := c.lab.Start(t, harness.Command{Name: c.processName(etcd.Name), Path: path, Args: []string{
		"--name=e2e", "--data-dir=" + filepath.Join(c.dir, "etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls=" + clientURL, "--advertise-client-urls=" + clientURL,
		"--listen-peer-urls=" + peerURL, "--initial-advertise-peer-urls=" + peerURL, "--initial-cluster=e2e=" + peerURL,
	}})
	harness.Wait(t, readyWithin, "etcd is ready", func(ctx context.Context) error {
		must(t, p.Err(), "starting etcd")
		_, err := harness.Get(ctx, clientURL+"/readyz")
		return err
	})
}

// processName tells the logs of several control planes apart.
func (c *Cluster) processName(program string) string { return filepath.Base(c.dir) + "-" + program }

func (c *Cluster) apiServerCommand(t testing.TB, path string, port int, etcdURL string) harness.Command {
	t.Helper()
	cert, key, err := c.ca.Issue("apiserver", pkix.Name{CommonName: "kube-apiserver"})
	must(t, err, "making the API server's certificate")
	return harness.Command{Name: c.processName(apiServer.Name), Path: path, Args: []string{
		"--etcd-servers=" + etcdURL, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port), "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24",
		"--tls-cert-file=" + cert, "--tls-private-key-file=" + key, "--client-ca-file=" + c.ca.File(),
		"--cert-dir=" + c.dir, "--authorization-mode=RBAC", "--anonymous-auth=false",
		"--service-account-issuer=https://" + c.Address, "--service-account-key-file=" + key, "--service-account-signing-key-file=" + key,
		// Pods need no account, and the one node is ready without a lifecycle
		// controller.
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
	}}
}

// StartAPIServer starts the API server again after StopAPIServer, on the same
// address and data, and waits until it is ready.
func (c *Cluster) StartAPIServer(t testing.TB) {
	t.Helper()
	c.APIServer = c.lab.Start(c.owner, c.command)
	harness.Wait(t, readyWithin, "the API server is ready", func(ctx context.Context) error {
		must(t, c.APIServer.Err(), "starting the API server")
		return c.Admin.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

// StopAPIServer asks the API server to end (SIGTERM), which closes its port at
// once, and does not wait for those who watch; etcd keeps the data.
func (c *Cluster) StopAPIServer(t testing.TB) {
	t.Helper()
	if err := c.APIServer.Terminate(endsWithin); err != nil {
		c.APIServer.Kill()
	}
	t.Log("stopped the API server")
}

// KillAPIServer ends the API server at once (SIGKILL).
func (c *Cluster) KillAPIServer(t testing.TB) {
	t.Helper()
	c.APIServer.Kill()
	t.Log("killed the API server")
}

func (c *Cluster) startWorkloads(t testing.TB, programs map[string]string) {
	t.Helper()
	config := c.Kubeconfig(t, "e2e-controllers", adminGroup)
	for name, args := range map[string][]string{
		controllerManager.Name: {"--controllers=" + controllers, "--horizontal-pod-autoscaler-sync-period=1s"},
		scheduler.Name:         {},
	} {
		c.lab.Start(t, harness.Command{
			Name: c.processName(name), Path: programs[name],
			Args: append([]string{"--kubeconfig=" + config, "--secure-port=0", "--leader-elect=false"}, args...),
		})
	}
	c.Kubelet = startKubelet(t, c.Admin)
}

// Kubeconfig writes a kubeconfig for a user with a client certificate and
// returns its path. A service account is the user
// "system:serviceaccount:NAMESPACE:NAME". Users have no rights but those that
// roles give them.
func (c *Cluster) Kubeconfig(t testing.TB, user string, groups ...string) string {
	t.Helper()
	return c.KubeconfigVia(t, c.Address, user, groups...)
}

// KubeconfigVia is a kubeconfig that goes to another address (host:port) on
// 127.0.0.1, such as that of a harness.Proxy in front of the API server.
func (c *Cluster) KubeconfigVia(t testing.TB, address, user string, groups ...string) string {
	t.Helper()
	dir, err := os.MkdirTemp(c.dir, "user-")
	must(t, err, "making a user's folder")
	cert, key, err := c.ca.In(dir).Issue("user", pkix.Name{CommonName: user, Organization: groups})
	must(t, err, "making a user's certificate")
	path := filepath.Join(dir, "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: e2e, cluster: {server: "https://%s", certificate-authority: %q}}]
users: [{name: %q, user: {client-certificate: %q, client-key: %q}}]
contexts: [{name: e2e, context: {cluster: e2e, user: %q}}]
current-context: e2e
`, address, c.ca.File(), user, cert, key, user)
	must(t, os.WriteFile(path, []byte(text), 0o600), "writing a kubeconfig")
	return path
}

// Namespace makes a namespace of its own for a test and returns its name.
func (c *Cluster) Namespace(t testing.TB, prefix string) string {
	t.Helper()
	ns, err := c.Admin.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}, metav1.CreateOptions{})
	must(t, err, "making a namespace")
	return ns.Name
}
