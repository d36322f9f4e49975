//go:build unix

package kube_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/kube"
)

// The control plane is the release that it says it is, and the one that our
// client was made for.
func TestVersions(t *testing.T) {
	controlPlane, err := os.ReadFile(filepath.Join("controlplane", "go.mod"))
	require.NoError(t, err)
	require.Regexp(t, regexp.QuoteMeta("k8s.io/kubernetes v"+kube.Version+" "), string(controlPlane))
	// Client libraries of release 1.x.y are versioned 0.x.y.
	library := " v0" + kube.Version[len("1"):] + "\n"
	require.Regexp(t, regexp.QuoteMeta("k8s.io/client-go => k8s.io/client-go"+library), string(controlPlane))
	root, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	require.NoError(t, err)
	require.Regexp(t, regexp.QuoteMeta("k8s.io/client-go"+library), string(root))
}
