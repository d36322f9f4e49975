//go:build unix

package yarn

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/java"
)

//go:embed worker
var workerFiles embed.FS

// maxWorkers is how many ports there are for workers.
const maxWorkers = 16

// ZetaWorker is a service's instance that is a real worker of a Zeta cluster, and
// the port of the one of number 0.
func (c *Cluster) ZetaWorker(t testing.TB, zeta java.Installation, master string, slots int) (d Definition, port int) {
	t.Helper()
	if err := os.CopyFS(c.Work, workerFiles); err != nil {
		t.Fatalf("writing the worker's files: %v", err)
	}
	port = harness.FreePorts(t, maxWorkers)
	script := filepath.Join(c.Work, "worker", "worker.sh")
	log4j := filepath.Join(zeta.Dir, "conf", "log4j2.properties")
	return Definition{
		Memory: 384,
		Command: fmt.Sprintf("bash %s ${COMPONENT_INSTANCE_NAME} ${COMPONENT_ID} %s %d %d '%s' %s 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr",
			script, master, port, slots, zeta.ClassPath(), log4j),
	}, port
}
