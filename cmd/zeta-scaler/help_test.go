package main

import (
	"bytes"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// commands are all commands, cobra's own included, by path.
func commands() map[string]*cobra.Command {
	root, _ := newRoot(nil)
	found := map[string]*cobra.Command{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		found[c.CommandPath()] = c
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return found
}

func runArgs(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), nil, args, &out, &errs)
	require.NotRegexp(t, internals, out.String())
	require.NotRegexp(t, internals, errs.String())
	return code, out.String(), errs.String()
}

func TestCommandsAreThoseOfTheDocuments(t *testing.T) {
	var ours []string
	for path := range commands() {
		if !strings.Contains(path, "completion") && path != "zeta-scaler help" {
			ours = append(ours, strings.TrimPrefix(path, "zeta-scaler "))
		}
	}
	require.ElementsMatch(t, []string{
		"zeta-scaler", "serve", "exporter", "demo", "check", "check config", "check rules", "test", "backtest", "simulate",
		"config", "config show", "config set", "rules", "rules list", "rules show", "rules export", "doctor", "explain", "status", "history", "actions", "pause", "resume", "drain", "submit",
		"version",
	}, ours)
}

// The commands of the runbook are there, with the flags that it gives them.
func TestRunbookCommands(t *testing.T) {
	page, err := os.ReadFile("../../docs/runbook.md")
	require.NoError(t, err)
	found := 0
	for _, m := range regexp.MustCompile("(?m)^zeta-scaler ([a-z][^#>\n]*)").FindAllStringSubmatch(string(page), -1) {
		args := strings.Fields(m[1])
		root, _ := newRoot(nil)
		c, rest, err := root.Find(args)
		require.NoError(t, err, m[0])
		found++
		require.NoError(t, c.ParseFlags(rest), m[0])
		if c.Args != nil {
			require.NoError(t, c.Args(c, c.Flags().Args()), m[0])
		}
	}
	require.Greater(t, found, 25)
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	for path, c := range commands() {
		t.Run(path, func(t *testing.T) {
			args := strings.Fields(path)[1:]
			code, stdout, stderr := runArgs(t, append(args, "--help")...)
			require.Zero(t, code)
			require.Empty(t, stderr)
			require.Contains(t, stdout, "Usage:\n  "+path)
			require.NotEmpty(t, c.Short)
			c.LocalFlags().VisitAll(func(f *pflag.Flag) { require.NotEmpty(t, f.Usage, "--%s", f.Name) })
			if c.HasParent() && c.Parent().Name() == "completion" {
				require.Contains(t, stdout, "zeta-scaler completion "+c.Name(), "cobra's text has the example")
				return
			}
			require.Contains(t, stdout, "Examples:\n")
			require.Contains(t, c.Example, path)
		})
	}
}

// Examples are command lines that are accepted.
func TestExamplesAreAccepted(t *testing.T) {
	for path, c := range commands() {
		if c.Example == "" {
			continue
		}
		for line := range strings.Lines(c.Example) {
			line = strings.TrimSpace(line)
			t.Run(line, func(t *testing.T) {
				require.True(t, strings.HasPrefix(line, "zeta-scaler ") || strings.HasPrefix(line, "curl "), path)
				words := strings.Fields(line)
				if words[0] == "curl" {
					return
				}
				if i := slices.Index(words, ">"); i > 0 {
					words = words[:i]
				}
				root, _ := newRoot(nil)
				cmd, rest, err := root.Find(words[1:])
				require.NoError(t, err)
				require.NoError(t, cmd.ParseFlags(rest))
				require.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()))
			})
		}
	}
}

// The dotted flags are those of Prometheus' manner that the documents name, and
// no others; the commands that talk to a service have --server and --token-file.
func TestFlagsAreThoseOfTheDocuments(t *testing.T) {
	process := []string{"config.file", "log.format", "log.level", "web.config.file", "web.listen-address"}
	service := append([]string{
		"prometheus.url", "rules.file", "rules.pack", "state.path", "web.enable-lifecycle", "web.external-url",
	}, process...)
	dotted := map[string][]string{
		"zeta-scaler serve":       service,
		"zeta-scaler doctor":      service,
		"zeta-scaler exporter":    process,
		"zeta-scaler demo":        {"web.listen-address"},
		"zeta-scaler check rules": {"prometheus.url"},
		"zeta-scaler backtest":    {"config.file", "prometheus.url"},
		"zeta-scaler rules show":  {"config.file"},
		"zeta-scaler test":        {"config.file"},
		"zeta-scaler simulate":    {"config.file", "prometheus.url", "rules.file", "rules.pack", "zeta.url"},
	}
	plain := map[string][]string{
		"zeta-scaler demo":         {"follow", "once", "output", "scenario", "seed", "speed"},
		"zeta-scaler check config": {"output", "strict"},
		"zeta-scaler check rules":  {"output", "strict"},
		"zeta-scaler doctor":       {"callback-token-file", "output", "server", "token-file"},
		"zeta-scaler test":         {"junit", "output", "run"},
		"zeta-scaler backtest":     {"checkpoint", "end", "every", "html", "limits", "openmetrics", "output", "scope", "start", "tsdb"},
		"zeta-scaler simulate": {
			"boot", "cluster", "cooldown", "drain", "duration", "end", "flap-within", "heap-garbage", "html", "kill-busy", "max-workers", "min-workers",
			"no-bound", "output", "peers", "scrape-interval", "scrape-loss", "seed", "slot-mode", "slots-per-pipeline", "slots-per-worker", "start",
			"static", "step", "strategy", "workload",
		},
		"zeta-scaler rules list":   {"output"},
		"zeta-scaler rules show":   {"tests"},
		"zeta-scaler config show":  {"output", "scope", "server", "token-file"},
		"zeta-scaler config set":   {"max-workers", "min-workers", "mode", "output", "reason", "scope", "server", "token-file", "until"},
		"zeta-scaler rules export": {"as"},
		"zeta-scaler explain":      {"at", "id", "output", "server", "table", "token-file"},
		"zeta-scaler status":       {"output", "scope", "server", "token-file", "watch"},
		"zeta-scaler actions":      {"limit", "output", "scope", "server", "state", "token-file"},
		"zeta-scaler pause":        {"for", "output", "reason", "server", "token-file", "until"},
		"zeta-scaler resume":       {"output", "reason", "server", "token-file"},
		"zeta-scaler drain":        {"cancel", "dry-run", "limit", "output", "reason", "server", "token-file", "wait"},
		"zeta-scaler submit":       {"cluster", "format", "id", "name", "output", "server", "token-file"},
		"zeta-scaler history":      {"action", "limit", "output", "scope", "server", "token-file"},
		"zeta-scaler version":      {"output"},
	}
	found := commands()
	for _, path := range slices.Sorted(maps.Keys(found)) {
		if strings.Contains(path, "completion") {
			continue
		}
		var gotDotted, gotPlain []string
		found[path].LocalFlags().VisitAll(func(f *pflag.Flag) {
			switch {
			case f.Name == "help":
			case strings.Contains(f.Name, "."):
				gotDotted = append(gotDotted, f.Name)
			default:
				gotPlain = append(gotPlain, f.Name)
			}
		})
		require.ElementsMatch(t, dotted[path], gotDotted, path)
		require.ElementsMatch(t, plain[path], gotPlain, path)
	}
	require.Equal(t, "http://127.0.0.1:9880", found["zeta-scaler status"].Flag("server").DefValue)
	require.Equal(t, "20", found["zeta-scaler demo"].Flag("speed").DefValue)
	require.Equal(t, ":9880", found["zeta-scaler serve"].Flag("web.listen-address").DefValue)
	require.Equal(t, ":9881", found["zeta-scaler exporter"].Flag("web.listen-address").DefValue)
	require.Equal(t, "127.0.0.1:9880", found["zeta-scaler demo"].Flag("web.listen-address").DefValue)
}
