package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/bench/past"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

// The page that a backtest writes needs nothing but itself: from a file, nothing
// is loaded, no policy is violated, and its plots show something, light and dark,
// on a desk and on a phone.
func TestBacktestReport(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	report := filepath.Join(dir, "report.html")
	one, two := file("one.yaml", fmt.Sprintf(reportRules, "1.0.0", 0.8)), file("two.yaml", fmt.Sprintf(reportRules, "2.0.0", 0.6))
	out, err := exec.CommandContext(t.Context(), lab.Build(t, harness.ZetaScaler), "backtest", one, two,
		"--openmetrics", file("past.txt", reportSamples()), "--start", "8h", "--html", report).CombinedOutput()
	require.NoError(t, err, string(out))

	for name, s := range map[string]screen{"desk": desk, "dark": deskDark, "phone": phone} {
		b := open(t, s)
		b.visit("file://" + report)
		b.see("Worker-hours observed", "Where A and B differ", "cpu of A", "cpu of B")
		require.Empty(t, ask[string](b, `performance.getEntriesByType("resource").filter(e => !e.name.startsWith("data:")).map(e => e.name).join(" ")`), "something was loaded")
		require.Empty(t, ask[string](b, emptyPlots), "plots without a line, or without an extent")
		require.Equal(t, 5, int(ask[float64](b, `document.querySelectorAll("svg.chart").length`)))
		require.Equal(t, ask[string](b, `getComputedStyle(document.querySelector(".chart .first")).stroke`),
			ask[string](b, `getComputedStyle(document.querySelector(".legend .first")).stroke`), "the legend has the colour of the line")
		b.fits()
		require.Empty(t, ask[string](b, `[...document.querySelectorAll("table:not([aria-label])")].map(e => e.innerText).join(" ")`), "tables without a name")
		b.keep("backtest-" + name)
	}
}

// emptyPlots names the plots in which nothing can be seen.
const emptyPlots = `[...document.querySelectorAll("svg.chart")].filter(svg => {
  const drawn = [...svg.querySelectorAll("path, rect[class^=row-]")];
  return !drawn.some(e => { const box = e.getBoundingClientRect(); return box.width > (e.tagName === "rect" ? 0 : 1) && (box.height > 1 || e.getTotalLength() > 10); }) ||
    svg.outerHTML.includes("NaN");
}).map(svg => svg.getAttribute("aria-label")).join(" ")`

const reportRules = `
format: zeta-scaler/v1
ruleset: report
version: %s
interval: 1m
scope_by: [cluster]
slot_mode: fixed
workers:
  current: {expr: workers}
  reporting: {expr: workers}
signals:
  - signal: wait
    class: blocking
    expr: wait
    unit: seconds
    scale_out: {above: 60, for: 2m}
    scale_in: {at_most: 0, for: 10m}
  - signal: cpu
    class: saturation
    expr: cpu
    unit: ratio
    range: [0, 1]
    scale_out: {above: %g, for: 10m}
    scale_in: {below: 0.3, for: 10m}
`

// reportSamples are eight hours of a cluster that gets busy, waits and grows.
func reportSamples() string {
	var b strings.Builder
	for i, value := range reportValues() {
		for m := range 8*60 + 1 {
			fmt.Fprintf(&b, "%s{cluster=\"prod & more\"} %g %d\n", reportNames[i], value(m), 1772323200+60*m)
		}
	}
	b.WriteString("# EOF\n")
	return b.String()
}

// reportNames are the metrics, and reportValues what each is at a minute.
var reportNames = [...]string{"workers", "wait", "cpu"}

func reportValues() [3]func(minute int) float64 {
	return [...]func(int) float64{
		func(m int) float64 {
			if m > 200 && m < 400 {
				return 5
			}
			return 3
		},
		func(m int) float64 {
			if m > 170 && m < 200 {
				return float64(m-170) * 60
			}
			return 0
		},
		func(m int) float64 {
			switch {
			case m < 60 || m > 420:
				return 0.1
			case m < 200:
				return 0.5 + float64(m-60)/350
			default:
				return 0.65
			}
		},
	}
}

// The section of a scope's page: without a credential it says so, with one it
// replays what Prometheus still has, alone and beside another rule set.
func TestBacktestOfAScope(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	// What the service had scraped for a day before it started, and for the hour to
	// come: eight hours again and again.
	var series []labels.Labels
	for _, name := range reportNames {
		series = append(series, labels.FromStrings("__name__", name, "cluster", "prod"))
	}
	now := time.Now()
	values := reportValues()
	require.NoError(t, past.Write(t.Context(), filepath.Join(dir, "tsdb"), series, now.Add(-30*time.Hour), now.Add(time.Hour), time.Minute,
		func(i int, at time.Time) float64 {
			minute := int(at.Sub(now)/time.Minute) % (8 * 60)
			return values[i](minute + 8*60)
		}))
	other := strings.Replace(fmt.Sprintf(reportRules, "2.0.0", 0.6), "ruleset: report", "ruleset: eager", 1)
	address := harness.FreeAddress(t)
	lab.Start(t, harness.Command{Name: "backtest-serve", Path: lab.Build(t, harness.ZetaScaler), Args: []string{
		"serve", "--config.file=" + file("zeta-scaler.yml", fmt.Sprintf(
			"web: {listen_address: %q, bearer_tokens_file: %q, open_reads: true}\nembedded: {path: %q}\nrule_sets: [{file: %q}, {file: %q}]\n"+
				"scope_defaults: {rule_set: report}\nstate: {type: file, path: %q}\n",
			address, file("tokens", token+"\n"), filepath.Join(dir, "tsdb"),
			file("one.yaml", fmt.Sprintf(reportRules, "1.0.0", 0.8)), file("two.yaml", other), filepath.Join(dir, "state.db"))),
	}})
	base := harness.URL(address)
	harness.Wait(t, time.Minute, "the service has judged the scope", func(ctx context.Context) error {
		_, err := harness.Get(ctx, base+"/autoscaler/explain?scope=prod")
		return err
	})
	for name, s := range map[string]screen{"desk": desk, "phone": phoneDark} {
		b := open(t, s)
		b.visit(base + "/?scope=prod#past")
		b.see("Replay the last 24 hours")
		press := chromedp.Click(chromedp.CSS("#backtest button"))
		b.do(press)
		b.await("it says that a credential is missing", `document.querySelector("#backtest .outcome").innerText`, "401")
		require.Equal(t, 0, int(ask[float64](b, `document.querySelectorAll("#backtest-result > *").length`)))

		b.do(chromedp.SendKeys(chromedp.CSS(`[name="secret"]`), token), press)
		b.await("the report", `document.getElementById("backtest-result").innerText`, "report 1.0.0")
		b.await("the state of the request", `document.querySelector("#backtest .outcome").innerText || "none"`, "none")
		require.NotEqual(t, 0, int(ask[float64](b, `document.querySelectorAll("#backtest-result table tbody tr").length`)), "the table is empty")
		require.Empty(t, ask[string](b, emptyPlots), "plots without a line, or without an extent")

		b.do(chromedp.SetValue(chromedp.CSS(`#backtest [name="against"]`), "eager"), press)
		b.await("the comparison", `document.getElementById("backtest-result").innerText`, "eager 2.0.0")
		require.NotEqual(t, 0, int(ask[float64](b, `document.querySelectorAll("#backtest-result svg.chart").length`)), "nothing is drawn")
		require.Empty(t, ask[string](b, emptyPlots), "plots without a line, or without an extent")
		b.fits()
		b.isNamed()
		b.keep("backtest-scope-" + name)
	}
}
