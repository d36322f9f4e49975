package jobs

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// orders is a config whose job Zeta describes as running describes it.
const orders = `{"env": {"job.mode": "STREAMING", "parallelism": 2, "checkpoint.interval": 5000},
 "source": [{"plugin_name": "FakeSource", "result_table_name": "fake", "parallelism": 2}],
 "transform": [],
 "sink": [{"plugin_name": "Console", "source_table_name": "fake"}]}`

func running(id, name string) control.Job {
	return control.Job{
		ID: id, Name: name, Status: control.Running, Mode: control.Streaming,
		Env:     map[string]string{"job.mode": "STREAMING", "parallelism": "2", "checkpoint.interval": "5000"},
		Sources: []string{"FakeSource"}, Sinks: []string{"Console"},
	}
}

// folder writes files below a new folder. A text "-> X" is a link to X.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		p := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o700))
		if to, link := strings.CutPrefix(files[name], "-> "); link {
			require.NoError(t, os.Symlink(to, p))
			continue
		}
		require.NoError(t, os.WriteFile(p, []byte(files[name]), 0o600))
	}
	return dir
}

func TestFolder(t *testing.T) {
	outside := folder(t, map[string]string{"orders.json": orders})
	other := strings.Replace(orders, `"parallelism": 2,`, `"parallelism": 4,`, 1)
	sameAsHOCON := "env { job.mode = \"STREAMING\" }\nsource { FakeSource { } }\nsink { Console { } }\n"
	for name, test := range map[string]struct {
		files map[string]string
		job   control.Job
		// format and text are what is found, err what is said if nothing is.
		format, text, err string
	}{
		"by name":                {files: map[string]string{"orders.json": orders}, job: running("4501", "orders"), format: "json", text: orders},
		"by id":                  {files: map[string]string{"4501.json": orders}, job: running("4501", "orders"), format: "json", text: orders},
		"of a cluster":           {files: map[string]string{"prod/orders.json": orders}, job: running("4501", "orders"), format: "json", text: orders},
		"HOCON":                  {files: map[string]string{"orders.conf": sameAsHOCON}, job: running("4501", "orders"), format: "hocon", text: sameAsHOCON},
		"odd name":               {files: map[string]string{"a%2F%22b%22.json": orders}, job: running("4501", `a/"b"`), format: "json", text: orders},
		"mounted":                {files: map[string]string{"orders.json": "-> ..data/orders.json", "..data": "-> ..1", "..1/orders.json": orders}, job: running("4501", "orders"), format: "json", text: orders},
		"the same":               {files: map[string]string{"orders.json": orders, "4501.json": orders}, job: running("4501", "orders"), format: "json", text: orders},
		"what Zeta does not say": {files: map[string]string{"orders.json": orders}, job: control.Job{ID: "4501", Name: "orders"}, format: "json", text: orders},

		"none":                    {files: map[string]string{"README.md": "about", "order.json": orders}, job: running("4501", "orders"), err: `no config is registered for job "orders" (4501): put it into DIR as orders.json`},
		"of another cluster":      {files: map[string]string{"test/orders.json": orders}, job: running("4501", "orders"), err: `no config is registered for job "orders" (4501): put it into DIR as orders.json`},
		"a name that is a number": {files: map[string]string{"7.json": orders}, job: running("4501", "7"), err: `no config is registered for job "7" (4501): put it into DIR as 4501.json`},
		"two":                     {files: map[string]string{"orders.json": orders, "4501.json": other}, job: running("4501", "orders"), err: `two configs are registered for job "orders" (4501): DIR/4501.json and DIR/orders.json differ; keep the one that it was submitted with`},
		"two formats":             {files: map[string]string{"orders.json": orders, "orders.conf": orders}, job: running("4501", "orders"), err: `two configs are registered for job "orders" (4501): DIR/orders.conf and DIR/orders.json differ; keep the one that it was submitted with`},
		"of another job":          {files: map[string]string{"orders.json": other}, job: running("4501", "orders"), err: `what is registered is not the config of the job "orders" (4501): DIR/orders.json: its parallelism is "4", the job's is "2"`},
		"a link outside":          {files: map[string]string{"orders.json": "-> " + outside + "/orders.json"}, job: running("4501", "orders"), err: `looking for the config of job "orders" (4501): DIR/orders.json: it is a link that leads out of the folder, which is not followed`},
		"a link to nothing":       {files: map[string]string{"orders.json": "-> gone.json"}, job: running("4501", "orders"), err: `looking for the config of job "orders" (4501): DIR/orders.json: no such file or directory`},
		"a folder":                {files: map[string]string{"orders.json/x": ""}, job: running("4501", "orders"), err: `looking for the config of job "orders" (4501): DIR/orders.json: it is not a file`},
		"empty":                   {files: map[string]string{"orders.json": ""}, job: running("4501", "orders"), err: `looking for the config of job "orders" (4501): DIR/orders.json: it is empty`},
		"too long":                {files: map[string]string{"orders.json": strings.Repeat(" ", MaxConfig+1)}, job: running("4501", "orders"), err: `looking for the config of job "orders" (4501): DIR/orders.json: it is longer than 512 KiB`},
		"not JSON":                {files: map[string]string{"orders.json": `{"env": {"password": "hunter2" oops}}`}, job: running("4501", "orders"), err: `what is registered is not the config of the job "orders" (4501): DIR/orders.json: it is not a job's config in JSON: at byte 32`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, test.files)
			got, err := New(Options{Folder: dir}).Cluster("prod").Config(t.Context(), test.job)
			if test.err != "" {
				require.Error(t, err)
				require.Equal(t, test.err, strings.ReplaceAll(err.Error(), dir, "DIR"))
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.format, got.Format)
			require.Equal(t, test.text, string(got.Text))
		})
	}
}

// What is changed in the folder counts at the next look.
func TestFolderIsReadAgain(t *testing.T) {
	dir := folder(t, nil)
	c := New(Options{Folder: dir}).Cluster("prod")
	_, err := c.Config(t.Context(), running("4501", "orders"))
	require.ErrorIs(t, err, ErrNotRegistered)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "orders.json"), []byte(orders), 0o600))
	_, err = c.Config(t.Context(), running("4501", "orders"))
	require.NoError(t, err)
}

func TestNothingConfigured(t *testing.T) {
	_, err := New(Options{}).Cluster("prod").Config(t.Context(), running("4501", "orders"))
	require.ErrorIs(t, err, ErrNotRegistered)
	require.EqualError(t, err, `no config is registered for job "orders" (4501): set jobs.folder, or jobs.key_file and submit the job with `+"`zeta-scaler submit`")
}

func TestAFolderThatIsNotThere(t *testing.T) {
	_, err := New(Options{Folder: filepath.Join(t.TempDir(), "none")}).Cluster("prod").Config(t.Context(), running("4501", "orders"))
	require.ErrorContains(t, err, "opening the folder of job configs")
	require.NotErrorIs(t, err, ErrNotRegistered)
}

// The name of a cluster never leads out of the folder.
func TestAClusterIsNoPath(t *testing.T) {
	dir := folder(t, map[string]string{"jobs/x.json": orders, "orders.json": orders})
	for _, cluster := range []string{"..", ".", "/", "a/../..", ""} {
		_, err := New(Options{Folder: filepath.Join(dir, "jobs")}).Cluster(cluster).Config(t.Context(), running("4501", "orders"))
		require.ErrorIs(t, err, ErrNotRegistered, cluster)
	}
}

// What is registered is told from any other text, and where it is. A secret that it
// names may be another one by then.
func TestDigest(t *testing.T) {
	text := strings.Replace(orders, `"result_table_name"`, `"password": "${file:pw}", "result_table_name"`, 1)
	dir, secrets := folder(t, map[string]string{"orders.json": text}), folder(t, map[string]string{"pw": "hunter2"})
	c := New(Options{Folder: dir, Secrets: secrets}).Cluster("prod")
	before, err := c.Config(t.Context(), running("4501", "orders"))
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("json:%x", sha256.Sum256([]byte(text))), before.Digest)
	require.Equal(t, filepath.Join(dir, "orders.json"), before.Where)

	require.NoError(t, os.WriteFile(filepath.Join(secrets, "pw"), []byte("another"), 0o600))
	rotated, err := c.Config(t.Context(), running("4501", "orders"))
	require.NoError(t, err)
	require.NotEqual(t, before.Text, rotated.Text)
	require.Equal(t, before.Digest, rotated.Digest)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "orders.json"), []byte(text+"\n"), 0o600))
	changed, err := c.Config(t.Context(), running("4501", "orders"))
	require.NoError(t, err)
	require.NotEqual(t, before.Digest, changed.Digest)
}

// The digest is for anybody to read: a secret in the text must not be found by it.
func TestDigestHasNoSecret(t *testing.T) {
	with := func(password string) string {
		text := strings.Replace(orders, `"result_table_name"`, `"password": "`+password+`", "result_table_name"`, 1)
		c, err := New(Options{Folder: folder(t, map[string]string{"orders.json": text})}).Cluster("prod").Config(t.Context(), running("4501", "orders"))
		require.NoError(t, err)
		require.Contains(t, string(c.Text), password)
		return c.Digest
	}
	require.Equal(t, with("hunter2"), with("hunter3"))
	require.NotEqual(t, with("hunter2"), with(`hunter2", "host": "b`))
}
