package simulate_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/simulate"
	"github.com/zeta-scaler/zeta-scaler/simulate/peers"
	"github.com/zeta-scaler/zeta-scaler/simulate/workload"
)

// The page has plots of every controller while there are few workloads, each of
// them well-formed, and what comes from outside is escaped.
func TestHTML(t *testing.T) {
	w := rush()
	w.Name = `<b>"rush"</b>`
	o := simulate.Options{Workloads: []*workload.Workload{w}, Peers: peers.All()[:1], Static: []int{2}, Bound: true, Details: true, KillBusy: true}
	minute := time.Minute
	o.Cooldown = &minute
	r := play(t, o)
	r.Notes = append(r.Notes, "<i>note</i>")
	var page bytes.Buffer
	require.NoError(t, r.WriteHTML(&page))
	text := page.String()
	require.NotContains(t, text, "<b>")
	require.NotContains(t, text, "<i>")
	require.NotContains(t, text, "NaN")
	require.NotContains(t, text, "<script")
	require.NotContains(t, text, "http:")
	require.Contains(t, text, "by more than 1 s and 1 %", "what the columns are")
	require.Contains(t, text, "a scrape every 15s, cooldown 1m, models end busy workers.", "and what was played")
	require.Contains(t, text, "1 to 16 workers of 4 slots, which boot in 30s to 3m, fixed slots, WAIT.")
	require.Equal(t, 3*3, strings.Count(text, `<svg class="chart"`), "workers, queue and waits of the bound, a model and a static cluster")
	for _, plot := range strings.Split(text, `<svg class="chart"`)[1:] {
		svg, _, _ := strings.Cut(plot, "</svg></svg>")
		d := xml.NewDecoder(strings.NewReader(`<svg class="chart"` + svg + "</svg></svg>"))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
		}
	}

	o.Workloads = []*workload.Workload{rush(), rush(), rush(), rush()}
	o.Static = nil
	page.Reset()
	require.NoError(t, play(t, o).WriteHTML(&page))
	require.NotContains(t, page.String(), `class="chart"`, "too many for plots of controllers that are not ours")
}
