//go:build unix

package kube

import (
	"testing"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

// Version is the release of Kubernetes that controlplane/go.mod names.
const Version = "1.37.2"

const (
	module = "e2e/kube/controlplane"
	// Without a version of its own the API server says one that clients cannot
	// read.
	ldflags = "-s -w -X k8s.io/component-base/version.gitVersion=v" + Version +
		" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=37"
)

// The programs of the control plane. Built for the first time they cost some
// 800 seconds of CPU, and a second each when nothing has changed.
var (
	etcd              = harness.Program{Name: "etcd", Module: module, Package: "go.etcd.io/etcd/server/v3", LDFlags: "-s -w"}
	apiServer         = kubernetesProgram("kube-apiserver")
	controllerManager = kubernetesProgram("kube-controller-manager")
	scheduler         = kubernetesProgram("kube-scheduler")
)

func kubernetesProgram(name string) harness.Program {
	return harness.Program{Name: name, Module: module, Package: "k8s.io/kubernetes/cmd/" + name, LDFlags: ldflags}
}

// build skips the test where a program cannot be built: no way to the module
// proxy, no space, an architecture that it does not know.
func build(t testing.TB, lab *harness.Lab, p harness.Program) string {
	t.Helper()
	return lab.Build(skips{t}, p)
}

// skips turns the failure of a build into the reason why a test is skipped.
type skips struct{ testing.TB }

// Fatalf skips the test, unless nothing may be skipped.
func (s skips) Fatalf(format string, args ...any) {
	s.Helper()
	harness.Unavailable(s.TB, "no Kubernetes control plane here: "+format, args...)
}
