//go:build e2e && unix

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/zeta"
	"github.com/zeta-scaler/zeta-scaler/jobs"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// A job that is submitted through the service runs on a real Zeta, with its secret
// put in, once however often it is asked for; its config is kept, and is what
// Zeta says that the job runs with.
func TestSubmitThroughTheService(t *testing.T) {
	t.Parallel()
	cluster := zeta.Start(t, lab, 4)
	cluster.StartWorkers(t, 1)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	tokens := write("tokens", token+"\n")
	key := write("jobs.key", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n")
	write("secrets/table", "counted")
	s := newScaler(t, "serve", "submit", fmt.Sprintf(`web: {listen_address: "%%s", bearer_tokens_file: %q}
log: {level: debug}
embedded: {path: %q}
clusters: [{name: real, urls: [%q], endpoint_timeout: 20s}]
jobs: {key_file: %q, secrets_folder: %q}
state: {path: %q}
`, tokens, filepath.Join(dir, "tsdb"), cluster.URL, key, filepath.Join(dir, "secrets"), filepath.Join(dir, "state.db")))
	s.start(t)

	job := zeta.Counted{ID: "4501", Name: `it's "one" & ü`, Table: "counted", Parallelism: 1, Rows: 10, Every: 250 * time.Millisecond}
	text := strings.Replace(string(cluster.Config(job)), `"result_table_name":"counted"`, `"result_table_name":"${file:table}"`, 1)
	require.Contains(t, text, "${file:table}")
	file := write("orders.json", text)
	submit := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), lab.Build(t, harness.ZetaScaler),
			append([]string{"submit", file, "--server", s.url(""), "--token-file", tokens, "--name", job.Name, "--id", job.ID}, args...)...).CombinedOutput()
		return string(out), err
	}
	out, err := submit()
	require.NoError(t, err, out)
	require.Equal(t, "Job "+job.Name+" submitted to cluster real under id 4501; its config is kept.\n", out)
	out, err = submit("--cluster", "real")
	require.NoError(t, err, out)
	require.Contains(t, out, "was submitted before")

	e := newEngine(t, cluster)
	awaitJob(t, e, job.ID, control.Running)
	awaitRows(t, cluster, job, 3)
	running, err := e.Job(t.Context(), job.ID)
	require.NoError(t, err)
	require.Equal(t, job.Name, running.Name)
	kept, err := harness.Get(t.Context(), s.url("/autoscaler/jobs"))
	require.NoError(t, err)
	require.Contains(t, kept, `"id":"4501"`)

	// The folder finds the same config for what Zeta says of the job.
	write("jobs/4501.json", text)
	registered := jobs.New(jobs.Options{Folder: filepath.Join(dir, "jobs"), Secrets: filepath.Join(dir, "secrets")}).Cluster("real")
	config, err := registered.Config(t.Context(), running)
	require.NoError(t, err)
	require.JSONEq(t, string(cluster.Config(job)), string(config.Text))
	write("jobs/4501.json", strings.Replace(text, `"parallelism":1`, `"parallelism":2`, 1))
	_, err = registered.Config(t.Context(), running)
	require.ErrorIs(t, err, jobs.ErrOther)

	// What Zeta refuses is not kept.
	out, err = submit("--id", "4502", "--format", "sql")
	require.Error(t, err)
	require.Contains(t, out, "422")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(text, "FakeSource", "NoSuchSource", 1)), 0o600))
	out, err = submit("--id", "4503")
	require.Error(t, err)
	require.Contains(t, out, "422", out)
	kept, err = harness.Get(t.Context(), s.url("/autoscaler/jobs"))
	require.NoError(t, err)
	require.NotContains(t, kept, "4502")
	require.NotContains(t, kept, "4503")
	require.NotContains(t, s.Tail(1000), "FakeSource", "a config in the log")
}
