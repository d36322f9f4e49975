package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"
)

// OpenMetrics names a counter without its _total, so that a gauge of that name
// would open the same family a second time, which strict parsers refuse.
func TestNoFamilyTwiceInOpenMetrics(t *testing.T) {
	req := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
	req.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	rec := httptest.NewRecorder()
	promhttp.HandlerFor(NewRegistry(), promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(rec, req)
	requireFamiliesOnce(t, rec.Body.String())
	require.Contains(t, rec.Body.String(), "\ngo_memstats_alloc_bytes_total ")
	require.Contains(t, rec.Body.String(), "\ngo_memstats_heap_alloc_bytes ")
}

func requireFamiliesOnce(t *testing.T, page string) {
	t.Helper()
	seen := map[string]bool{}
	for line := range strings.Lines(page) {
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, _, _ := strings.Cut(rest, " ")
			require.False(t, seen[name], name)
			seen[name] = true
		}
	}
	require.NotEmpty(t, seen)
}
