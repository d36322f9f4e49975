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
	"go.yaml.in/yaml/v3"
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
		"zeta-master", "zeta-worker-1", "zeta-worker-2", "zeta-exporter",
	}, p.ServiceNames())
	for name, s := range p.Services {
		checkService(t, name, s)
	}
	// Only the real Zeta waits for its profile.
	for name, s := range p.Services {
		require.Equal(t, strings.HasPrefix(name, "zeta-") && name != "zeta-scaler", len(s.Profiles) > 0, name)
	}
	grafana := p.Services["grafana"].Environment
	for _, key := range []string{"GF_PLUGINS_PREINSTALL_DISABLED", "GF_ANALYTICS_CHECK_FOR_UPDATES", "GF_ANALYTICS_CHECK_FOR_PLUGIN_UPDATES", "GF_PLUGINS_PLUGIN_ADMIN_ENABLED"} {
		require.NotNil(t, grafana[key], key)
		require.Equal(t, key == "GF_PLUGINS_PREINSTALL_DISABLED", *grafana[key] == "true", "%s: Grafana asks the internet when it starts", key)
	}
	require.NotNil(t, p.Services["zeta-scaler"].Build.Args["VERSION"], "the image does not know its version")
}

// The stack has the programs that the end-to-end tests run.
func TestComposeVersionsAreThoseOfTheTests(t *testing.T) {
	p, err := load(t, composeFile(t))
	require.NoError(t, err)
	version := func(file, module string) string {
		b, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		m := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(module) + ` (v\S+)`).FindSubmatch(b)
		require.NotNil(t, m, "%s does not name %s", file, module)
		return string(m[1])
	}
	require.Equal(t, "prom/alertmanager:"+version("e2e/alertmanager/go.mod", "github.com/prometheus/alertmanager"), p.Services["alertmanager"].Image)
	// Release 3.x.y of Prometheus is v0.30x.y as a module: 3.5.0 is v0.305.0, 3.16.0 is v0.316.0.
	m := regexp.MustCompile(`^v0\.3(\d\d)\.(\d+)$`).FindStringSubmatch(version("e2e/prom/go.mod", "github.com/prometheus/prometheus"))
	require.NotNil(t, m)
	require.Equal(t, "prom/prometheus:v3."+strings.TrimPrefix(m[1], "0")+"."+m[2], p.Services["prometheus"].Image)
}

// Nothing that the stack's Prometheus asks is down for ever: what is always named
// is always there, and what a profile brings is found by its name.
func TestComposeTargetsAreThere(t *testing.T) {
	p, err := load(t, composeFile(t))
	require.NoError(t, err)
	b, err := os.ReadFile(filepath.Join(root, "deploy/compose/prometheus.yml"))
	require.NoError(t, err)
	var c struct {
		RuleFiles []string `yaml:"rule_files"`
		Jobs      []struct {
			Static []struct{ Targets []string } `yaml:"static_configs"`
			DNS    []struct{ Names []string }   `yaml:"dns_sd_configs"`
			Name   string                       `yaml:"job_name"`
		} `yaml:"scrape_configs"`
	}
	require.NoError(t, yaml.Unmarshal(b, &c))
	for _, job := range c.Jobs {
		for _, s := range job.Static {
			for _, target := range s.Targets {
				host, _, _ := strings.Cut(target, ":")
				if host == "localhost" {
					continue
				}
				require.Contains(t, p.Services, host, job.Name)
				require.Empty(t, p.Services[host].Profiles, "%s is down without its profile", target)
			}
		}
		for _, s := range job.DNS {
			for _, name := range s.Names {
				require.Contains(t, p.Services, name, job.Name)
				require.NotEmpty(t, p.Services[name].Profiles, name)
			}
		}
	}
	require.Len(t, c.RuleFiles, 1)
	loaded := 0
	for _, v := range p.Services["prometheus"].Volumes {
		if ok, err := filepath.Match(c.RuleFiles[0], v.Target); ok {
			require.NoError(t, err)
			loaded++
		}
	}
	require.Positive(t, loaded, "no rule file is mounted")
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
	require.Equal(t, strings.HasSuffix(name, "exporter"), s.HealthCheck.Disable, "%s: only exporters have no health check of their own", name)
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
		require.NotNil(t, v.Bind, v.Source)
		require.Equal(t, "z", v.Bind.SELinux, "SELinux keeps %s from %s", name, v.Source)
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
