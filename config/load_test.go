package config

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/app/kinds"
	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/leadership"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state/file"
)

var update = flag.Bool("update", false, "write golden files")

// golden compares with a file, or writes it.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// loadText loads a configuration file with this text.
func loadText(t *testing.T, text string, env []string, flags map[string]any) (*Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "zeta-scaler.yml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return Load(Options{Kinds: kinds.All(), File: file, FileRequired: true, Env: env, Flags: flags})
}

// diagnostics are the errors of a load that must fail.
func diagnostics(t *testing.T, err error) []document.Diagnostic {
	t.Helper()
	var list *document.ErrorList
	require.ErrorAs(t, err, &list)
	require.NotEmpty(t, list.Diagnostics)
	return list.Diagnostics
}

func TestLoadWithoutFileIsAllDefaults(t *testing.T) {
	c, err := Load(Options{Kinds: kinds.All(), File: "does-not-exist.yml", Env: []string{"PATH=/bin", "ZETA_SCALER_PORT=tcp://10.0.0.1:9880"}})
	require.NoError(t, err)
	require.Equal(t, Log{Level: "info", Format: "logfmt"}, c.Log)
	require.Equal(t, ":9880", c.Web.ListenAddress)
	require.Equal(t, []string{"http://localhost:9090"}, c.Prometheus.URLs)
	require.Nil(t, c.Embedded)
	require.Len(t, c.Rules, 1)
	require.Equal(t, "zeta-auto", c.Rules[0].Name)
	require.Equal(t, "file", c.State.Type)
	require.Equal(t, &file.Options{Path: "data/state.db"}, c.Store())
	require.Empty(t, c.Warnings)
	for _, s := range c.Settings() {
		require.Equal(t, FromDefault, s.Origin, s.Path)
		require.Empty(t, s.Source)
	}
}

func TestLoadRequiredFile(t *testing.T) {
	_, err := Load(Options{Kinds: kinds.All(), File: "does-not-exist.yml", FileRequired: true})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "does-not-exist.yml")
}

func TestLoadAFolder(t *testing.T) {
	_, err := Load(Options{Kinds: kinds.All(), File: t.TempDir(), FileRequired: true})
	require.ErrorContains(t, err, "reading the configuration")
}

func TestLoadEmptyFiles(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "web:\nscopes:\nclusters: []\n", "null\n"} {
		c, err := loadText(t, text, nil, nil)
		require.NoError(t, err, "%q", text)
		require.Equal(t, ":9880", c.Web.ListenAddress)
	}
}

// TestBadFiles has one fault a file, and what is said about it.
func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := Load(Options{Kinds: kinds.All(), File: file, FileRequired: true})
			for _, d := range diagnostics(t, err) {
				require.NotEmpty(t, d.Check)
				require.NotZero(t, d.Pos.Line, "%s has no place", d)
			}
			golden(t, strings.TrimSuffix(file, ".yml")+".txt", err.Error()+"\n")
		})
	}
}

func TestAllErrorsAtOnce(t *testing.T) {
	_, err := loadText(t, "log: {level: loud}\nweb: {listn_address: x}\nhistory: {max_age: 7}\n",
		[]string{"ZETA_SCALER__STATE__TYPE=tape", "ZETA_SCALER__NOPE=1"}, map[string]any{"log.format": "xml"})
	ds := diagnostics(t, err)
	require.Len(t, ds, 6)
	var checks []string
	for _, d := range ds {
		checks = append(checks, d.Check)
	}
	require.Equal(t, []string{"bad-value", "unknown-key", "bad-duration", "bad-value", "unknown-variable", "bad-value"}, checks)
	require.Equal(t, "--log.format", ds[3].Pos.File)
}

// TestPrecedence sets one key in every combination of layers.
func TestPrecedence(t *testing.T) {
	for _, tc := range []struct {
		name   string
		file   string
		env    []string
		flags  map[string]any
		want   string
		origin Origin
		source string
	}{
		{name: "default", want: "info", origin: FromDefault},
		{name: "file", file: "log: {level: warn}", want: "warn", origin: FromFile, source: "zeta-scaler.yml:1:14"},
		{
			name: "environment over file", file: "log: {level: warn}", env: []string{"ZETA_SCALER__LOG__LEVEL=error"},
			want: "error", origin: FromEnvironment, source: "ZETA_SCALER__LOG__LEVEL",
		},
		{
			name: "environment alone", env: []string{"ZETA_SCALER__LOG__LEVEL=error"},
			want: "error", origin: FromEnvironment, source: "ZETA_SCALER__LOG__LEVEL",
		},
		{
			name: "flag over environment", file: "log: {level: warn}", env: []string{"ZETA_SCALER__LOG__LEVEL=error"},
			flags: map[string]any{"log.level": "debug"}, want: "debug", origin: FromFlag, source: "--log.level",
		},
		{
			name: "flag over file", file: "log: {level: warn}", flags: map[string]any{"log.level": "debug"},
			want: "debug", origin: FromFlag, source: "--log.level",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := loadText(t, tc.file, tc.env, tc.flags)
			require.NoError(t, err)
			require.Equal(t, tc.want, c.Log.Level)
			require.Equal(t, "logfmt", c.Log.Format, "the key beside it keeps its default")
			s := settingOf(t, c, "log.level")
			require.Equal(t, tc.want, s.Value)
			require.Equal(t, tc.origin, s.Origin)
			require.True(t, strings.HasSuffix(s.Source, tc.source), s.Source)
		})
	}
}

func settingOf(t *testing.T, c *Config, path string) Setting {
	t.Helper()
	for _, s := range c.Settings() {
		if s.Path == path {
			return s
		}
	}
	require.Fail(t, "no setting "+path)
	return Setting{}
}

// TestEnvironment covers every kind of key.
func TestEnvironment(t *testing.T) {
	c, err := loadText(t, "prometheus: {headers: {X-Scope-OrgID: file, X-Other: kept}}", []string{
		"ZETA_SCALER__WEB__LISTEN_ADDRESS=127.0.0.1:1",
		"ZETA_SCALER__WEB__OPEN_READS=false",
		"ZETA_SCALER__WEB__BEARER_TOKENS_FILE=testdata/good/token",
		"ZETA_SCALER__WEB__EXTERNAL_URL=https://scaler.example/base",
		"ZETA_SCALER__PROMETHEUS__TIMEOUT=3s",
		"ZETA_SCALER__PROMETHEUS__MAX_RESPONSE=1GiB",
		"ZETA_SCALER__PROMETHEUS__HEADERS__X_SCOPE_ORGID=7",
		"ZETA_SCALER__PROMETHEUS__HEADERS__X_API_KEY=hunter2",
		"ZETA_SCALER__PROMETHEUS__QUERY_PARAMS__TENANT=true",
		"ZETA_SCALER__PROMETHEUS__HTTP_CONFIG__BASIC_AUTH__USERNAME=u",
		"ZETA_SCALER__PROMETHEUS__HTTP_CONFIG__BASIC_AUTH__PASSWORD=hunter3",
		"ZETA_SCALER__PROMETHEUS__HTTP_CONFIG__PROXY_URL=http://u:hunter4@proxy:3128",
		"ZETA_SCALER__HISTORY__MAX_RECORDS=12",
		"ZETA_SCALER__STATE__PATH=0",
		"ZETA_SCALER__METRICS__PER_SIGNAL=false",
		"ZETA_SCALER__SCOPE_DEFAULTS__FORGET_AFTER=2h",
	}, nil)
	require.NoError(t, err)
	require.Equal(t, Web{ListenAddress: "127.0.0.1:1", ExternalURL: "https://scaler.example/base", BearerTokensFile: "testdata/good/token"}, c.Web)
	require.Equal(t, 3*time.Second, c.Prometheus.Timeout)
	require.Equal(t, document.GiB, c.Prometheus.MaxResponse)
	require.Equal(t, "hunter2", c.Prometheus.Headers["X-Api-Key"])
	require.Equal(t, "kept", c.Prometheus.Headers["X-Other"])
	require.Equal(t, map[string]string{"tenant": "true"}, c.Prometheus.QueryParams)
	require.EqualValues(t, "hunter3", c.Prometheus.HTTPConfig.BasicAuth.Password)
	require.True(t, c.Prometheus.HTTPConfig.FollowRedirects, "a default beside it is kept")
	require.Equal(t, 12, c.History.MaxRecords)
	require.Equal(t, "0", c.Store().(*file.Options).Path, "a text stays a text")
	require.False(t, c.Metrics.PerSignal)
	require.Equal(t, 2*time.Hour, c.ScopeDefaults.ForgetAfter)
}

func TestBadEnvironment(t *testing.T) {
	for _, tc := range []struct{ variable, want, hint string }{
		{"ZETA_SCALER__WEB__LISTN_ADDRESS=x", "means no key of the configuration", "did you mean ZETA_SCALER__WEB__LISTEN_ADDRESS?"},
		{"ZETA_SCALER__WEB__ENABLE_LIFECYCLE=true", "means no key", "known here"},
		{"ZETA_SCALER__WEB=x", "web is a section", "ZETA_SCALER__WEB__LISTEN_ADDRESS"},
		{"ZETA_SCALER__=x", "means no key", ""},
		{"ZETA_SCALER__CLUSTERS=[]", "clusters is a list, which only the file can have", "configuration file"},
		{"ZETA_SCALER__CLUSTERS__0__NAME=x", "clusters is a list", ""},
		{"ZETA_SCALER__PROMETHEUS__URLS=http://x", "prometheus.urls is a list", ""},
		{"ZETA_SCALER__PROMETHEUS__HEADERS=x", "prometheus.headers is a section", ""},
		{"ZETA_SCALER__PROMETHEUS__TIMEOUT__X=x", "means no key", ""},
		{"ZETA_SCALER__PROMETHEUS__TIMEOUT=5", "expected a duration", "5s"},
		{"ZETA_SCALER__PROMETHEUS__TIMEOUT=", "expected a duration", ""},
		{"ZETA_SCALER__WEB__OPEN_READS=perhaps", "expected true or false", ""},
		{"ZETA_SCALER__HISTORY__MAX_RECORDS=0", "expected 1 or more", ""},
		{"ZETA_SCALER__HISTORY__MAX_RECORDS=ten", "expected a whole number", ""},
		{"ZETA_SCALER__LOG__LEVEL=", "log.level is empty", ""},
		{"ZETA_SCALER__SCOPE_DEFAULTS__MODE=direct", "means no key", ""},
		{"ZETA_SCALER__PROMETHEUS__HTTP_CONFIG__BEARER_TOKEN=a\nb", "has a line break", ""},
		{"ZETA_SCALER__PROMETHEUS__HTTP_CONFIG__BASIC_AUTH__PASSWORD=\uFEFFa", "byte order mark", ""},
		{"ZETA_SCALER__PROMETHEUS__HTTP_CONFIG__HTTP_HEADERS__X__VALUES=a", "is a list", ""},
	} {
		t.Run(tc.variable, func(t *testing.T) {
			_, err := Load(Options{Kinds: kinds.All(), Env: []string{tc.variable}})
			ds := diagnostics(t, err)
			require.Len(t, ds, 1)
			require.Contains(t, ds[0].Message, tc.want)
			require.Contains(t, ds[0].Hint, tc.hint)
			name, _, _ := strings.Cut(tc.variable, "=")
			require.Equal(t, name, ds[0].Pos.String())
		})
	}
}

func TestFlags(t *testing.T) {
	c, err := loadText(t, "state: {path: s.db}", nil, map[string]any{
		"web.listen-address": ":1", "web.enable-lifecycle": true, "web.external-url": "http://x",
		"prometheus.url": []string{"http://a:9090", "http://b:9090"}, "state.path": "t.db",
	})
	require.NoError(t, err)
	require.Equal(t, Web{ListenAddress: ":1", ExternalURL: "http://x", OpenReads: true, EnableLifecycle: true}, c.Web)
	require.Equal(t, []string{"http://a:9090", "http://b:9090"}, c.Prometheus.URLs)
	require.Equal(t, "t.db", c.Store().(*file.Options).Path, "relative to the working directory, not to the file")

	_, err = Load(Options{Kinds: kinds.All(), Flags: map[string]any{"no.such": "x"}})
	require.ErrorContains(t, err, "--no.such")
	_, err = Load(Options{Kinds: kinds.All(), Flags: map[string]any{"prometheus.url": "nope"}})
	require.ErrorContains(t, err, "--prometheus.url: prometheus.urls[0] is \"nope\", expected a URL")
	_, err = loadText(t, "embedded: {}", nil, map[string]any{"prometheus.url": "http://a"})
	require.ErrorContains(t, err, "both prometheus (set by --prometheus.url) and embedded")
}

func TestPathsAreRelativeToTheFile(t *testing.T) {
	c, err := Load(Options{Kinds: kinds.All(), File: "testdata/good/full.yml", FileRequired: true, Env: []string{"ZETA_SCALER__LEADERSHIP__LOCK_FILE=lock"}})
	require.NoError(t, err)
	require.Equal(t, "testdata/good/state/state.db", c.Store().(*file.Options).Path)
	require.Equal(t, "lock", c.Elector().(*leadership.Options).LockFile)
	require.Equal(t, "testdata/good/token", c.Prometheus.HTTPConfig.Authorization.CredentialsFile)
}

func TestFullFile(t *testing.T) {
	c, err := Load(Options{Kinds: kinds.All(), File: "testdata/good/full.yml", FileRequired: true})
	require.NoError(t, err)
	golden(t, "testdata/good/full.txt", c.String())
	e := c.EvaluatorConfig()
	require.Len(t, e.Scopes, 2)
	require.Equal(t, &scaling.Bounds{Min: 2, Max: 20}, e.Scopes[0].Bounds)
	require.Nil(t, e.Scopes[1].Bounds)
	require.Equal(t, scaling.Advisory, e.Scopes[0].Mode)
	require.NoError(t, errors.Join(c.ClusterConfigs()[0].Validate(), c.ProbeConfig().Validate()))
	o := c.RemoteOptions()
	require.Equal(t, c.Prometheus.URLs, o.URLs)
	require.EqualValues(t, 64<<20, o.MaxResponse)
	require.Equal(t, "7", o.QueryParams.Get("tenant"))
}

func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.yml")
	require.NoError(f, err)
	seeds := map[string]bool{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(b)
		seeds[string(b)] = true
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		// What the search makes up may name any file of this machine.
		if bytes.Contains(content, []byte("file")) && !seeds[string(content)] {
			return
		}
		c, err := load(content, Options{Kinds: kinds.All(), File: "fuzz.yml"})
		if err != nil {
			require.NotEmpty(t, diagnostics(t, err))
			return
		}
		require.NotEmpty(t, c.String())
		c.EvaluatorConfig()
	})
}

// What the service writes has to be writable where it runs, and only there.
func TestWhatIsWrittenCanBe(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	load := func(local bool, text string) error {
		file := filepath.Join(dir, "zeta-scaler.yml")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := Load(Options{Kinds: kinds.All(), File: file, FileRequired: true, Local: local})
		return err
	}
	for text, want := range map[string]string{
		"state: {path: new}":                 "",
		"state: {path: new/below}":           "",
		"state: {path: folder/new}":          "",
		"state: {path: file}":                "",
		"state: {path: folder}":              "it is a folder",
		"state: {path: file/below}":          "file is no folder",
		"state: {path: file/far/below}":      "file is no folder",
		"leadership: {lock_file: file/lock}": "file is no folder",
		"embedded: {path: folder}":           "",
		"embedded: {path: file}":             "it is no folder",
	} {
		require.NoError(t, load(false, text), text)
		err := load(true, text)
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, want, text)
		require.Equal(t, CheckFile, diagnostics(t, err)[0].Check)
	}
}
