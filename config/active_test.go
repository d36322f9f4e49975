package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/app/kinds"
)

func TestActiveScopes(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte("secret\n"), 0o600))
	const web = "web: {bearer_tokens_file: "
	for _, tc := range []struct {
		name, file string
		warnings   []string
	}{
		{
			"webhook with all it needs",
			web + tokens + "}\nalerting: {alertmanagers: [{url: \"http://am:9093\"}]}\nscopes: [{match: {cluster: a}, mode: webhook, bounds: {max_workers: 3}, actuator: {exec: {command: /bin/true, target: a}}}]\n",
			nil,
		},
		{
			"webhook that nobody calls",
			web + tokens + "}\nscopes: [{match: {cluster: a}, mode: webhook, bounds: {max_workers: 3}, actuator: {exec: {command: /bin/true, target: a}}}]\n",
			[]string{"none can call back"},
		},
		{"direct needs no credential", "scopes: [{match: {cluster: a}, mode: direct, bounds: {max_workers: 3}, actuator: {log: {}}}]\n", nil},
		{"direct without an actuator", "scopes: [{match: {cluster: a}, mode: direct, bounds: {max_workers: 3}}]\n", []string{"only logged"}},
		{
			"replicas", "state: {type: kubernetes, namespace: st}\nleadership: {type: kubernetes}\n" +
				"scopes: [{match: {cluster: a}, mode: direct, bounds: {max_workers: 3}, actuator: {kubernetes: {namespace: st, kind: StatefulSet, name: w}}}]\n", nil,
		},
		{"an event webhook that is off", "event_webhook: {url: \"http://h\"}\n", []string{"is not used"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := load([]byte(tc.file), Options{Kinds: kinds.All()})
			require.NoError(t, err)
			require.Len(t, c.Warnings, len(tc.warnings))
			for i, w := range tc.warnings {
				require.Contains(t, c.Warnings[i].Message, w)
			}
		})
	}
}

// TestNothingActsByDefault goes through every place from which a mode could
// come: without one that a listed scope sets by name, all are advisory.
func TestNothingActsByDefault(t *testing.T) {
	for _, file := range []string{
		"",
		"rule_sets: [{pack: zeta-auto}]\n",
		"scope_defaults: {discover: true}\n",
		"scopes: [{match: {cluster: a}}]\n",
		"scopes: [{match: {cluster: a}, bounds: {max_workers: 9}, actuator: {exec: {command: /bin/true, target: a}}}]\n",
		"scopes: [{match: {cluster: a}, actuator: {kubernetes: {namespace: st, kind: StatefulSet, name: w}}}]\n",
		"alerting: {alertmanagers: [{url: \"http://am:9093\"}]}\nscopes: [{match: {cluster: a}, actuator: {webhook: {url: \"http://h\", target: t}}}]\n",
	} {
		c, err := load([]byte(file), Options{Kinds: kinds.All()})
		require.NoError(t, err, file)
		for _, s := range c.EvaluatorConfig().Scopes {
			require.Equal(t, "advisory", string(s.Mode), file)
		}
	}
	_, err := load([]byte("scope_defaults: {mode: direct}\n"), Options{Kinds: kinds.All()})
	require.ErrorContains(t, err, "mode")
}
