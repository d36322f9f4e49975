package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func report(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "out.txt")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	r, err := read([]string{file})
	require.NoError(t, err)
	return strings.Join(targets(r), "\n")
}

func TestReport(t *testing.T) {
	got := report(t, `goos: linux
BenchmarkStep-2        2000000     500 ns/op   0 B/op   0 allocs/op
BenchmarkStep-2        2000000     700 ns/op   0 B/op   0 allocs/op
BenchmarkStep-2        2000000    9000 ns/op   0 B/op   0 allocs/op
BenchmarkCycle/scopes=1000/by=zeta-scaler     5  200000000 ns/op  200.0 µs/scope
BenchmarkCycle/scopes=1000/by=rule-manager    5  1000000000 ns/op  1000 µs/scope
BenchmarkCycle/scopes=1000/by=zeta-scaler     5  200000000 ns/op  400.0 µs/scope
BenchmarkCycle/scopes=1000/by=rule-manager    5  1000000000 ns/op  1000 µs/scope
BenchmarkScrape-2  100  6000000 ns/op
BenchmarkResidentServe/store=file/scopes=1	1	33.8 MB-resident	33.9 MB-peak
BenchmarkAccept	600	1.712 ms-median	7.700 ms-p99	1.2 ×bare-p99
BenchmarkDuplicates/alerts=20	10	101.500 ms-published-loaded	10001.461 duplicates/s
BenchmarkThousandScopes/status/identity-2  46  7548214 ns/op  197.27 MB/s  4136543 B/op  26065 allocs/op
PASS
`)
	for _, want := range []string{
		"Step, per scope and tick:                    700 ns (500…9000 in 3 rounds) (target ≤ 1000 ns, met)",
		"Step, allocations:                           0 (0…0 in 3 rounds) (target ≤ 0, met)",
		"cycle 1000 scopes:                           0.30 × rule manager (0.20…0.40 in 2 rounds) (target ≤ 0.33, met)",
		"exporter scrape, 50 workers:                 6.00 ms (target ≤ 5.00 ms, MISSED)",
		"serve 1 scope, idle:                         34 MB (target ≤ 60 MB, met)",
		"webhook, durably accepted, median:           1.71 ms (target ≤ 2.00 ms, met)",
		"webhook, p99:                                1.20 × bare insert (target ≤ 3.00 × bare insert, met)",
		"  latest tick, published:                    102 ms (target ≤ 100 ms, MISSED)",
		"status of 1000 scopes:                       7.55 ms (target ≤ 50 ms, met)",
		"status of 1000 scopes, allocations:          26065",
		"restore 1000 scopes:                         not measured",
	} {
		require.Contains(t, got, want)
	}
}

func TestReportOfPeers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.txt")
	require.NoError(t, os.WriteFile(file, []byte(`BenchmarkPeers/scopes=1000/by=zeta-scaler	1	600 µs/scope	90 µs-own/scope
BenchmarkPeers/scopes=1000/by=vmalert-scoped	1	12000 µs/scope
BenchmarkReplay/by=zeta-scaler	1	3.00 s	2.40 s-processor	76.70 MB-peak
BenchmarkReplay/by=vmalert-by/points=1000	1	9.00 s	9.60 s-processor
`), 0o600))
	r, err := read([]string{file})
	require.NoError(t, err)
	got := strings.Join(peers(r), "\n")
	for _, want := range []string{
		"1000 scopes, one of them and cycle:          600 µs",
		"    zeta-scaler to that:                     0.05 × (target ≤ 0.10, met)",
		"  most memory:                               77 MB (target ≤ 150 MB, met)",
		"    backtest to that, processor time:        0.25 × (target ≤ 0.20, MISSED)",
		"    by the clock:                            0.33 ×",
		"  Prometheus, rules by (scope):              not measured",
	} {
		require.Contains(t, got, want)
	}
}

func TestReportRefusesWhatIsNoNumber(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.txt")
	require.NoError(t, os.WriteFile(file, []byte("BenchmarkStep-2 10 many ns/op\n"), 0o600))
	_, err := read([]string{file})
	require.ErrorContains(t, err, "benchmark Step")
	_, err = read([]string{file + ".missing"})
	require.ErrorIs(t, err, os.ErrNotExist)
}
