//go:build e2e && unix

package kube_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/kube"
)

// The API server keeps what was written over its own end, and a user without a
// role may do nothing.
func TestControlPlane(t *testing.T) {
	lab, err := harness.New()
	require.NoError(t, err)
	t.Cleanup(lab.Close)
	c := kube.Start(t, lab, kube.Options{})

	version, err := c.Admin.Discovery().ServerVersion()
	require.NoError(t, err)
	require.Equal(t, "v"+kube.Version, version.GitVersion)

	ns := c.Namespace(t, "harness")
	_, err = c.Admin.CoreV1().ConfigMaps(ns).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.KillAPIServer(t)
	c.StartAPIServer(t)
	_, err = c.Admin.CoreV1().ConfigMaps(ns).Get(t.Context(), "kept", metav1.GetOptions{})
	require.NoError(t, err)

	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig(t, "nobody"))
	require.NoError(t, err)
	nobody, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	_, err = nobody.CoreV1().ConfigMaps(ns).Get(t.Context(), "kept", metav1.GetOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
}
