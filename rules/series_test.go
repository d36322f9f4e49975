package rules

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/metrics"
)

// TestNamesOfOurOwnMetrics: what export may name and what scope_by may not are
// what package metrics has.
func TestNamesOfOurOwnMetrics(t *testing.T) {
	require.ElementsMatch(t, metrics.InputExports(), exports())
	require.ElementsMatch(t, metrics.ReservedLabels(), ownLabels())
}

// TestExporterSeriesAreThoseOfTheExporter compares what the lints know with the
// pages in the exporter's golden files, which show every metric that it has:
// names, counter or gauge, labels, and values of labels with a closed list.
func TestExporterSeriesAreThoseOfTheExporter(t *testing.T) {
	pages, err := filepath.Glob("../zeta/testdata/golden/*.prom")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	known := exporterSeries()
	seen := map[string]bool{}
	for _, page := range pages {
		file, err := os.Open(page)
		require.NoError(t, err)
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(file)
		require.NoError(t, err, page)
		require.NoError(t, file.Close())
		for name, family := range families {
			i := slices.IndexFunc(known, func(s series) bool { return s.name == name })
			require.GreaterOrEqual(t, i, 0, "series.go does not have %s", name)
			require.Equal(t, family.GetType() == dto.MetricType_COUNTER, known[i].counter, "whether %s is a counter", name)
			for _, m := range family.Metric {
				requireLabels(t, known[i], m.Label)
			}
			seen[name] = true
		}
	}
	for _, s := range known {
		require.True(t, seen[s.name], "the exporter has no %s", s.name)
	}
}

func requireLabels(t *testing.T, s series, pairs []*dto.LabelPair) {
	t.Helper()
	var names []string
	for _, p := range pairs {
		names = append(names, p.GetName())
		if values, closed := s.values[p.GetName()]; closed {
			require.Contains(t, values, p.GetValue(), "values of %s in %s", p.GetName(), s.name)
		}
	}
	require.ElementsMatch(t, s.labels, names, "labels of %s", s.name)
}
