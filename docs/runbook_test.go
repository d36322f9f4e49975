package docs

import (
	"crypto/sha256"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page that the service serves at /runbook is made from runbook.md.
func TestServedRunbookIsThisOne(t *testing.T) {
	source, err := os.ReadFile("runbook.md")
	require.NoError(t, err)
	served, err := os.ReadFile("../api/page/runbook.gen")
	require.NoError(t, err)
	require.Contains(t, string(served), fmt.Sprintf("sha256:%x", sha256.Sum256(source)),
		"runbook.md was changed: run go generate ./api, which writes api/page/runbook.gen")
}
