package metrics_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/events"
	"github.com/zeta-scaler/zeta-scaler/metrics"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

func documentation(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../docs/metrics.md")
	require.NoError(t, err)
	return string(b)
}

// ownSections are the sections about this package and packages source and
// events; others describe what they export in sections of their own.
func ownSections(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for section := range strings.SplitSeq(documentation(t), "\n## ") {
		title, _, _ := strings.Cut(section, "\n")
		if slices.Contains([]string{"Per scope", "Of the evaluation loop", "Of the queries", "Of the event handlers", "Of the process"}, title) {
			out.WriteString(section)
		}
	}
	return out.String()
}

// TestDocumentation: what these packages export is in docs/metrics.md with type
// and own labels, and nothing else is.
func TestDocumentation(t *testing.T) {
	type entry struct{ kind, labels string }
	documented := map[string]entry{}
	row := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (\\w+) \\|(.*?)\\| (.+) \\|$")
	for _, m := range row.FindAllStringSubmatch(ownSections(t), -1) {
		require.NotContains(t, documented, m[1], "documented twice")
		labels := strings.FieldsFunc(m[3], func(r rune) bool { return strings.ContainsRune("`, ", r) })
		slices.Sort(labels)
		documented[m[1]] = entry{m[2], strings.Join(labels, ",")}
	}
	c := collector()
	c.Publish(t.Context(), []scaling.Evaluation{evaluation()}, nil)
	reg := registry(t, c)
	askOnce(t, reg)
	events.New(events.Options{
		Handlers: map[string]events.Handler{"log": events.NewLog(slog.Default())},
		Logger:   slog.Default(), Registerer: reg,
	})
	exported := map[string]entry{}
	for name, f := range gather(t, reg) {
		exported[name] = entry{strings.ToLower(f.GetType().String()), strings.Join(labelNames(f), ",")}
	}
	require.Equal(t, exported, documented)
}

// askOnce registers the metrics of a source and sends one query.
func askOnce(t *testing.T, reg prometheus.Registerer) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"vector","result":[]}}`))
	}))
	t.Cleanup(server.Close)
	remote, err := source.NewRemote(source.RemoteOptions{URLs: []string{server.URL}, Registerer: reg})
	require.NoError(t, err)
	_, err = remote.Instant(t.Context(), "up", tick)
	require.NoError(t, err)
}

func TestDocumentationNamesEveryLabelValue(t *testing.T) {
	doc := documentation(t)
	for _, value := range slices.Concat(metrics.Statuses(), metrics.FailureReasons(), metrics.ReservedLabels()) {
		require.Contains(t, doc, "`"+value+"`")
	}
}

// Every query of the page parses and asks for what is exported.
func TestDocumentedQueries(t *testing.T) {
	block := regexp.MustCompile("(?s)```promql\n(.*?)```")
	found := block.FindAllStringSubmatch(documentation(t), -1)
	require.GreaterOrEqual(t, len(found), 5)
	for _, m := range found {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(m[1])
		require.NoError(t, err, m[1])
		for _, selectors := range parser.ExtractSelectors(expr) {
			for _, s := range selectors {
				if s.Name == "__name__" {
					require.Contains(t, schema, s.Value)
				}
			}
		}
	}
}
