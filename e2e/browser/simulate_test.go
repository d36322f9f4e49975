package browser

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

// The page that a simulation writes needs nothing but itself, as that of a backtest.
func TestSimulationReport(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report.html")
	out, err := exec.CommandContext(t.Context(), lab.Build(t, harness.ZetaScaler), "simulate", "--workload", "burst", "--workload", "reject",
		"--duration", "3h", "--peers", "spark", "--static", "4", "--html", report).CombinedOutput()
	require.NoError(t, err, string(out))

	for name, s := range map[string]screen{"desk": desk, "dark": deskDark, "phone": phone} {
		b := open(t, s)
		b.visit("file://" + report)
		b.see("fixed slots, WAIT", "Worker-h", "Flaps", "Waiting of each job", "asked for", "none of them is the product itself")
		require.Empty(t, ask[string](b, `performance.getEntriesByType("resource").filter(e => !e.name.startsWith("data:")).map(e => e.name).join(" ")`), "something was loaded")
		require.Equal(t, 2*4*3, int(ask[float64](b, `document.querySelectorAll("svg.chart").length`)))
		ask[bool](b, `document.querySelectorAll("details").forEach(d => d.open = true), true`)
		require.Empty(t, ask[string](b, emptyPlots), "plots without a line, or without an extent")
		require.Equal(t, ask[string](b, `getComputedStyle(document.querySelector(".chart .dots")).stroke`),
			ask[string](b, `getComputedStyle(document.querySelector(".legend .dots")).stroke`), "the legend has the colour of the dots")
		ask[bool](b, `document.querySelectorAll("details").forEach(d => d.open = false), document.querySelectorAll("details")[3].open = true`)
		b.fits()
		b.keep("simulation-" + name)
	}
}
