package alerts_test

import (
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/alertmanager/matcher/parse"
	amlabels "github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/alerts"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

const (
	serviceRules   = "zeta-scaler.rules.yml"
	decisionsRules = "zeta-scaler-decisions.rules.yml"
	ruleTestsFile  = "zeta-scaler.rules_test.yml"
	runbookURL     = "https://github.com/zeta-scaler/zeta-scaler/blob/main/docs/runbook.md#"
)

func ruleGroups(t *testing.T) map[string][]rulefmt.Rule {
	t.Helper()
	out := map[string][]rulefmt.Rule{}
	for file, group := range map[string]string{serviceRules: "zeta-scaler-service", decisionsRules: "zeta-scaler-scopes"} {
		groups, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
		require.Empty(t, errs)
		require.Len(t, groups.Groups, 1, file)
		require.Equal(t, group, groups.Groups[0].Name, file)
		out[group] = groups.Groups[0].Rules
	}
	return out
}

// The pulled way has the same alerts as the pushed one, with the same
// severities, and those about the service.
func TestRulesHaveTheSameAlerts(t *testing.T) {
	groups := ruleGroups(t)
	require.Len(t, groups, 2)
	var scopes []string
	for _, r := range groups["zeta-scaler-scopes"] {
		if !slices.Contains(scopes, r.Alert) {
			scopes = append(scopes, r.Alert)
		}
	}
	service := groups["zeta-scaler-service"]
	require.Equal(t, alerts.ClusterDown, service[0].Alert, "whoever pushes the others is told of clusters by Prometheus")
	require.Equal(t, alerts.Names(), append(scopes, service[0].Alert))
	severities := []string{alerts.Page, alerts.Warning, alerts.Info}
	for _, rules := range groups {
		for _, r := range rules {
			require.Contains(t, severities, r.Labels["severity"], r.Alert)
			require.Equal(t, runbookURL+strings.ToLower(r.Alert), r.Annotations["runbook_url"])
			require.NotEmpty(t, r.Annotations["summary"], r.Alert)
			require.NotEmpty(t, r.Annotations["description"], r.Alert)
		}
	}
}

// Every metric that the rules ask for is documented, which other tests hold
// against what is exported.
func TestRulesAskForMetricsThatExist(t *testing.T) {
	doc := read(t, "../docs/metrics.md") + read(t, "../docs/alerts.md") + read(t, "../docs/exporter.md")
	for _, rules := range ruleGroups(t) {
		for _, r := range rules {
			expr, err := parser.NewParser(parser.Options{}).ParseExpr(r.Expr)
			require.NoError(t, err)
			found := false
			parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
				if v, ok := n.(*parser.VectorSelector); ok {
					found = true
					require.Contains(t, doc, "`"+v.Name+"`", r.Alert)
				}
				return nil
			})
			require.True(t, found, r.Alert)
		}
	}
}

// What the notifier exports is documented.
func TestMetricsAreDocumented(t *testing.T) {
	doc := read(t, "../docs/alerts.md")
	for _, name := range []string{"sent_total", "errors_total", "dropped_total", "queue_length", "queue_capacity", "latency_seconds"} {
		require.Contains(t, doc, "`zeta_scaler_notifications_"+name+"`")
	}
}

// Every alert has a section in the runbook, and the runbook has no others.
func TestRunbookHasEveryAlert(t *testing.T) {
	want := map[string]bool{}
	for _, name := range alerts.Names() {
		want[name] = true
	}
	for _, rules := range ruleGroups(t) {
		for _, r := range rules {
			want[r.Alert] = true
		}
	}
	got := map[string]bool{}
	for section := range strings.SplitSeq(read(t, "../docs/runbook.md"), "\n## ") {
		title, text, _ := strings.Cut(section, "\n")
		if !strings.HasPrefix(title, "Zeta") {
			continue
		}
		got[title] = true
		for _, part := range []string{"**Means.**", "**Urgency.** ", "**Look at.**", "**Do.**", "**Commands.**\n\n```sh\n"} {
			require.Contains(t, text, part, title)
		}
	}
	require.Equal(t, want, got)
	for _, platform := range []string{"Kubernetes", "YARN", "machines", "compose"} {
		require.Contains(t, read(t, "../docs/runbook.md"), "\n| "+platform, "the commands of each platform")
	}
}

// Every alert of the rules has a unit test, in which it fires and does not.
func TestRulesAreTested(t *testing.T) {
	var file struct {
		Tests []struct {
			AlertRuleTest []struct {
				Alertname string
				ExpAlerts []any `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, ruleTestsFile)), &file))
	fires := map[string]bool{}
	for _, test := range file.Tests {
		for _, c := range test.AlertRuleTest {
			fires[c.Alertname] = fires[c.Alertname] || len(c.ExpAlerts) > 0
		}
	}
	for _, rules := range ruleGroups(t) {
		for _, r := range rules {
			require.True(t, fires[r.Alert], r.Alert)
		}
	}
}

// amRoute and amConfig are what the test needs of Alertmanager's format; the
// file as a whole is checked by amtool in e2e.
type amRoute struct {
	Receiver string
	Matchers []string
	GroupBy  []string `yaml:"group_by"`
	Continue bool
	Routes   []amRoute
}

type amConfig struct {
	Route     amRoute
	Receivers []struct{ Name string }
	Inhibit   []struct {
		Source []string `yaml:"source_matchers"`
		Target []string `yaml:"target_matchers"`
	} `yaml:"inhibit_rules"`
}

func (r *amRoute) matches(t *testing.T, labels map[string]string) bool {
	t.Helper()
	set := model.LabelSet{}
	for n, v := range labels {
		set[model.LabelName(n)] = model.LabelValue(v)
	}
	return matchers(t, r.Matchers).Matches(set)
}

func matchers(t *testing.T, texts []string) amlabels.Matchers {
	t.Helper()
	var out amlabels.Matchers
	for _, text := range texts {
		m, err := parse.Matcher(text)
		require.NoError(t, err, text)
		out = append(out, m)
	}
	return out
}

// receivers follows the routes as Alertmanager does.
func (r *amRoute) receivers(t *testing.T, labels map[string]string) []string {
	t.Helper()
	var out []string
	for i := range r.Routes {
		if !r.Routes[i].matches(t, labels) {
			continue
		}
		out = append(out, r.Routes[i].receivers(t, labels)...)
		if !r.Routes[i].Continue {
			return out
		}
	}
	if len(out) == 0 {
		out = append(out, r.Receiver)
	}
	return out
}

func TestExampleRoutes(t *testing.T) {
	var c amConfig
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "alertmanager.yml")), &c))
	defined := map[string]bool{}
	for _, r := range c.Receivers {
		defined[r.Name] = true
	}
	for name, tc := range map[string]struct {
		labels map[string]string
		want   []string
	}{
		"a recommendation":       {one(t, raised(t, scaleOut(2))).Labels, []string{"scaler", "team"}},
		"a failed action":        {one(t, raised(t, withAction(steady(), scaling.ActionFailed))).Labels, []string{"team"}},
		"a page":                 {one(t, raised(t, invalid(true))).Labels, []string{"on-call"}},
		"a warning":              {one(t, raised(t, invalid(false))).Labels, []string{"team"}},
		"scale in":               {map[string]string{"alertname": alerts.ScaleInCandidate, "severity": "warning", "action": "SCALE_IN_CANDIDATE", "recommendation": "7-2-prod"}, []string{"scaler", "team"}},
		"pulled":                 {map[string]string{"alertname": alerts.ScaleOutRecommended, "severity": "warning", "action": "SCALE_OUT"}, []string{"team"}},
		"info":                   {map[string]string{"alertname": alerts.ScaleInBlocked, "severity": "info"}, []string{"nobody"}},
		"a cluster that is down": {map[string]string{"alertname": alerts.ClusterDown, "severity": "page", "cluster": "prod"}, []string{"on-call"}},
		"not ours":               {map[string]string{"alertname": "Other", "severity": "page"}, []string{"team"}},
	} {
		got := c.Route.receivers(t, tc.labels)
		require.Equal(t, tc.want, got, name)
		for _, r := range got {
			require.True(t, defined[r], r)
		}
	}
	for _, r := range c.Inhibit {
		require.NotEmpty(t, matchers(t, append(r.Source, r.Target...)))
	}
	// Every alert that the file names exists.
	known := alerts.Names()
	for _, m := range regexp.MustCompile(`Zeta[A-Z]\w+`).FindAllString(read(t, "alertmanager.yml"), -1) {
		require.Contains(t, known, m)
	}
}

// The example tells its webhook everything, at once and one recommendation at a
// time, with a credential.
func TestExampleWebhook(t *testing.T) {
	var c struct {
		Route struct {
			Routes []struct {
				Receiver  string
				GroupBy   []string `yaml:"group_by"`
				GroupWait string   `yaml:"group_wait"`
				Continue  bool
			}
		}
		Receivers []struct {
			Name     string
			Webhooks []struct {
				URL          string
				SendResolved bool `yaml:"send_resolved"`
				MaxAlerts    *int `yaml:"max_alerts"`
				Payload      any  `yaml:"payload"`
				HTTPConfig   struct {
					Authorization struct {
						CredentialsFile string `yaml:"credentials_file"`
					}
				} `yaml:"http_config"`
			} `yaml:"webhook_configs"`
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "alertmanager.yml")), &c))
	route := c.Route.Routes[0]
	require.Equal(t, "scaler", route.Receiver)
	require.Equal(t, []string{"scope", "recommendation"}, route.GroupBy)
	require.Equal(t, "0s", route.GroupWait)
	require.True(t, route.Continue, "people hear of it, too")
	last := c.Receivers[len(c.Receivers)-1]
	require.Equal(t, "scaler", last.Name)
	require.Len(t, last.Webhooks, 1)
	hook := last.Webhooks[0]
	require.True(t, strings.HasSuffix(hook.URL, "/webhook/alertmanager"), hook.URL)
	require.True(t, hook.SendResolved)
	require.Equal(t, new(0), hook.MaxAlerts)
	require.Nil(t, hook.Payload)
	require.NotEmpty(t, hook.HTTPConfig.Authorization.CredentialsFile)
}

// The documentation of the labels and annotations is complete.
func TestDocumentationIsComplete(t *testing.T) {
	doc := read(t, "../docs/alerts.md")
	for _, name := range slices.Concat(alerts.Names(), alerts.Annotations(), alerts.ReservedLabels()) {
		require.Contains(t, doc, "`"+name+"`")
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(b)
}
