package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
)

// root is the folder of the main module.
const root = "../.."

func load(t *testing.T, file string) (*types.Project, error) {
	t.Helper()
	o, err := cli.NewProjectOptions([]string{file},
		cli.WithName("check"), cli.WithWorkingDirectory(filepath.Dir(file)), cli.WithProfiles([]string{"*"}),
		cli.WithoutEnvironmentResolution, cli.WithInterpolation(true))
	require.NoError(t, err)
	return o.LoadProject(t.Context())
}

func composeFile(t *testing.T) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join(root, "docker-compose.yml"))
	require.NoError(t, err)
	return file
}

func TestComposeFileIsWhatSpecAsksFor(t *testing.T) {
	p, err := load(t, composeFile(t))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{
		"simulator", "exporter", "prometheus", "alertmanager", "grafana", "zeta-scaler", "webhook-sink",
		"zeta-master", "zeta-worker-1", "zeta-worker-2",
	}, p.ServiceNames())
	for name, s := range p.Services {
		checkService(t, name, s)
	}
	// Only the real Zeta waits for its profile.
	for name, s := range p.Services {
		require.Equal(t, strings.HasPrefix(name, "zeta-master") || strings.HasPrefix(name, "zeta-worker"), len(s.Profiles) > 0, name)
	}
}

// pinned is a tag that names a release.
var pinned = regexp.MustCompile(`:v?\d+\.\d+\.\d+$`)

func checkService(t *testing.T, name string, s types.ServiceConfig) {
	t.Helper()
	if s.Build == nil {
		require.Regexp(t, pinned, s.Image, name)
	} else {
		stage, err := os.ReadFile(filepath.Join(s.Build.Context, "Dockerfile"))
		require.NoError(t, err, name)
		require.Contains(t, string(stage), " AS "+s.Build.Target+"\n", name)
	}
	require.Equal(t, []string{"ALL"}, s.CapDrop, name)
	require.Empty(t, s.CapAdd, name)
	require.False(t, s.Privileged, name)
	require.Contains(t, s.SecurityOpt, "no-new-privileges:true", name)
	require.Positive(t, s.MemLimit, name)
	require.NotNil(t, s.HealthCheck, name)
	require.Equal(t, name == "exporter", s.HealthCheck.Disable, "%s: only the exporter has no health check of its own", name)
	if len(s.Profiles) == 0 {
		// Zeta's own image runs as it was made: that it could do with less could not be tried.
		require.True(t, s.ReadOnly, name)
		require.NotEmpty(t, s.User, name)
		require.NotRegexp(t, `^(0|root)\b`, s.User, name)
	}
	for _, port := range s.Ports {
		require.Equal(t, "127.0.0.1", port.HostIP, "%s opens %s to others", name, port.Published)
	}
	for _, v := range s.Volumes {
		if v.Type != types.VolumeTypeBind {
			continue
		}
		_, err := os.Stat(v.Source)
		require.NoError(t, err, name)
		require.True(t, v.ReadOnly, "%s may write %s", name, v.Source)
	}
}

// The check notices faults.
func TestBadComposeFilesAreRefused(t *testing.T) {
	text, err := os.ReadFile(composeFile(t))
	require.NoError(t, err)
	for name, change := range map[string][2]string{
		"misspelt key":      {"cap_drop: [ALL]", "cap_dorp: [ALL]"},
		"unknown service":   {"depends_on: {webhook-sink:", "depends_on: {webhook-snik:"},
		"impossible port":   {"127.0.0.1:9090:9090", "127.0.0.1:99999:9090"},
		"unknown network":   {"networks: [monitoring]", "networks: [monitorign]"},
		"undeclared volume": {"grafana-data:/var", "grafana-dtaa:/var"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := strings.Replace(string(text), change[0], change[1], 1)
			require.NotEqual(t, string(text), bad)
			file := filepath.Join(t.TempDir(), "docker-compose.yml")
			require.NoError(t, os.WriteFile(file, []byte(bad), 0o600))
			_, err := load(t, file)
			require.Error(t, err)
		})
	}
}
