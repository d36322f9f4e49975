//go:build unix

package exec

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/actuators/actuatortest"
)

func page(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "actuators.md"))
	require.NoError(t, err)
	return string(b)
}

func TestExitCodesAreDocumented(t *testing.T) {
	_, section, ok := strings.Cut(page(t), "### Exit codes\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n###")
	var got []int
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \|`).FindAllStringSubmatch(section, -1) {
		code, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		got = append(got, code)
	}
	require.Equal(t, []int{0, ExitRefused, ExitStale, ExitUnknown, ExitTryAgain}, got)
}

// systemctl plays as much of it as the example needs.
const systemctl = `#!/bin/sh
case $1 in
start) touch "$ZETA_WORKERS_DIR/units/$3" ;;
stop) rm -f "$ZETA_WORKERS_DIR/units/$2" ;;
list-units) for unit in "$ZETA_WORKERS_DIR"/units/*; do [ -e "$unit" ] && echo "$unit loaded active"; done ;;
esac
exit 0
`

// TestExampleOfThePage runs the script of the documentation.
func TestExampleOfThePage(t *testing.T) {
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("the script needs flock, of util-linux")
	}
	script := regexp.MustCompile("(?s)```sh\n(#!/bin/sh\n.*?)```").FindStringSubmatch(page(t))
	require.NotNil(t, script)
	tools := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(tools, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o700))
		return path
	}
	write("systemctl", systemctl)
	command := write("zeta-workers", script[1])
	t.Setenv("PATH", tools+string(os.PathListSeparator)+os.Getenv("PATH"))

	actuatortest.RunConformance(t, func(t *testing.T) actuatortest.Fixture {
		dir := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(dir, "units"), 0o700))
		t.Setenv("ZETA_WORKERS_DIR", dir)
		return actuatortest.Fixture{
			Actuator: newActuator(t, func(o *Options) { o.Command, o.Args = command, nil }),
			Target:   target(),
			Desired: func(t *testing.T) int {
				units, err := os.ReadDir(filepath.Join(dir, "units"))
				require.NoError(t, err)
				return len(units)
			},
		}
	})

	t.Run("an older leader is kept out", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(dir, "units"), 0o700))
		t.Setenv("ZETA_WORKERS_DIR", dir)
		a := newActuator(t, func(o *Options) { o.Command, o.Args = command, nil })
		newer, older := fence(), fence()
		older.Epoch--
		require.NoError(t, a.Scale(t.Context(), target(), 2, newer))
		require.Equal(t, "stale", actuatortest.Kind(a.Scale(t.Context(), target(), 3, older)))
		require.NoError(t, a.Scale(t.Context(), target(), 1, newer), "the greater number stays")
		state, err := a.Observe(t.Context(), target())
		require.NoError(t, err)
		require.Equal(t, 2, state.Desired)
		require.Equal(t, "stale", actuatortest.Kind(a.Release(t.Context(), target(), []actuators.Worker{{Name: "zeta-worker@2"}}, older)))
		require.Equal(t, "refused", actuatortest.Kind(a.Release(t.Context(), target(), []actuators.Worker{{Name: "zeta-worker@../epoch"}}, newer)))
		state, err = a.Observe(t.Context(), target())
		require.NoError(t, err)
		require.Equal(t, 2, state.Desired)
	})
}
