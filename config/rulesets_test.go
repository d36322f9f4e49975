package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/app/kinds"
	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/rules"
)

// writeSet writes a rule set, the pack zeta-fixed-slot under another name.
func writeSet(t *testing.T, file, name string) {
	t.Helper()
	_, text, err := rules.Pack("zeta-fixed-slot")
	require.NoError(t, err)
	out := strings.Replace(string(text), "ruleset: zeta-fixed-slot", "ruleset: "+name, 1)
	require.NotEqual(t, string(text), out)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o750))
	require.NoError(t, os.WriteFile(file, []byte(out), 0o600))
}

func ruleNames(c *Config) []string {
	var out []string
	for _, rs := range c.Rules {
		out = append(out, rs.Name)
	}
	return out
}

func TestRuleSetsOfFileAndFlags(t *testing.T) {
	dir := t.TempDir()
	for file, name := range map[string]string{"rules/a.yaml": "a", "rules/b.yaml": "b", "other/a.yaml": "a"} {
		writeSet(t, filepath.Join(dir, file), name)
	}
	other := filepath.Join(dir, "other", "a.yaml")
	for _, tc := range []struct {
		name, text string
		flags      map[string]any
		want       []string
		active     string
	}{
		{"nothing", "", nil, []string{"zeta-auto"}, "zeta-auto"},
		{"a pack by flag is all there is", "", map[string]any{"rules.pack": []string{"zeta-dynamic-slot"}}, []string{"zeta-dynamic-slot"}, "zeta-dynamic-slot"},
		{"a file by flag is all there is", "", map[string]any{"rules.file": []string{other}}, []string{"a"}, "a"},
		{"a flag adds", "rule_sets: [{pack: zeta-auto}]", map[string]any{"rules.file": other}, []string{"a", "zeta-auto"}, "a"},
		{"a flag takes the place", "rule_sets: [{file: rules/*.yaml}]\nscope_defaults: {rule_set: b}", map[string]any{"rules.file": other}, []string{"a", "b"}, "b"},
		{"the only one is the default", "rule_sets: [{file: rules/b.yaml}]", nil, []string{"b"}, "b"},
		{"a pack with other numbers is another one", "rule_sets: [{pack: zeta-auto, set: {avg_cpu: {scale_out: {above: 0.7}}}}]", nil, []string{"zeta-auto+set"}, "zeta-auto+set"},
		{"beside the pack", "rule_sets: [{pack: zeta-auto, set: {avg_cpu: {scale_in: {for: 20m}}}}, {pack: zeta-auto}]", nil, []string{"zeta-auto", "zeta-auto+set"}, "zeta-auto"},
		{"patterns may overlap", "rule_sets: [{file: rules/*.yaml}, {file: rules/a.yaml}, {pack: zeta-auto}]", nil, []string{"a", "b", "zeta-auto"}, "zeta-auto"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(dir, "zeta-scaler.yml")
			require.NoError(t, os.WriteFile(file, []byte(tc.text), 0o600))
			c, err := Load(Options{Kinds: kinds.All(), File: file, FileRequired: true, Flags: tc.flags})
			require.NoError(t, err)
			require.Equal(t, tc.want, ruleNames(c))
			require.Equal(t, tc.active, c.ScopeDefaults.RuleSet)
			require.Equal(t, tc.active, c.EvaluatorConfig().DefaultRuleSet)
			if tc.flags["rules.file"] != nil {
				require.Equal(t, other, c.RuleSet("a").File)
			}
		})
	}
}

func TestRuleSetsThatCannotBeChosen(t *testing.T) {
	dir := t.TempDir()
	writeSet(t, filepath.Join(dir, "rules", "a.yaml"), "a")
	writeSet(t, filepath.Join(dir, "rules", "b.yaml"), "b")
	writeSet(t, filepath.Join(dir, "more", "a.yaml"), "a")
	for _, tc := range []struct {
		name, text string
		flags      map[string]any
		want       string
	}{
		{"two and no default", "rule_sets: [{file: rules/*.yaml}]", nil, `scope_defaults.rule_set names the rule set "zeta-auto", which is not loaded`},
		{"one name twice", "rule_sets: [{file: rules/a.yaml}, {file: more/a.yaml}]", nil, `the rule set "a" is in`},
		{"a flag for nothing", "", map[string]any{"rules.file": "no/such*.yaml"}, "--rules.file: no file matches no/such*.yaml"},
		{"an unknown pack by flag", "", map[string]any{"rules.pack": "zeta-atuo"}, "did you mean zeta-auto?"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(dir, "zeta-scaler.yml")
			require.NoError(t, os.WriteFile(file, []byte(tc.text), 0o600))
			_, err := Load(Options{Kinds: kinds.All(), File: file, FileRequired: true, Flags: tc.flags})
			require.Len(t, diagnostics(t, err), 1)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestDiscoveryOffNeedsNoDefault(t *testing.T) {
	c, err := loadText(t, `
rule_sets: [{pack: zeta-fixed-slot}, {pack: zeta-dynamic-slot}]
scope_defaults: {discover: false}
scopes:
  - {match: {cluster: a}, rule_set: zeta-fixed-slot, bounds: {max_workers: 3}}
`, nil, nil)
	require.NoError(t, err)
	require.False(t, c.EvaluatorConfig().Discover)
	require.Len(t, c.Warnings, 1)
	require.Contains(t, c.Warnings[0].Message, `"zeta-dynamic-slot" is loaded, but no scope uses it`)
}

func TestScopesInherit(t *testing.T) {
	c, err := loadText(t, `
rule_sets: [{pack: zeta-auto}, {pack: zeta-fixed-slot}, {pack: zeta-dynamic-slot}]
scope_defaults: {shadows: [zeta-dynamic-slot]}
scopes:
  - match: {cluster: inherits}
  - {match: {cluster: other}, rule_set: zeta-fixed-slot}
  - {match: {cluster: none}, shadows: []}
`, nil, nil)
	require.NoError(t, err)
	scopes := c.EvaluatorConfig().Scopes
	require.Equal(t, "zeta-auto", scopes[0].RuleSet)
	require.Equal(t, []string{"zeta-dynamic-slot"}, scopes[0].Shadows)
	require.Empty(t, scopes[1].Shadows)
	require.Empty(t, scopes[2].Shadows)
	require.Nil(t, scopes[0].Bounds)
}

func TestWarnings(t *testing.T) {
	c, err := loadText(t, "probe: {http_config: {follow_redirects: false}}\n", nil, nil)
	require.NoError(t, err)
	require.Len(t, c.Warnings, 1)
	require.Equal(t, CheckUnused, c.Warnings[0].Check)
	for _, w := range c.Warnings {
		require.Equal(t, document.SeverityWarning, w.Severity)
		require.NotZero(t, w.Pos.Line)
	}
}
