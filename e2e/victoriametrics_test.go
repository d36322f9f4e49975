//go:build e2e && unix

package e2e

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/source"
)

// A gap in the samples, as VictoriaMetrics shows it at a live tick and when the
// windows are restored: docs/sources.md says what this measures. Scrapes are 15 s
// apart.
func TestGapsOnVictoriaMetrics(t *testing.T) {
	const scrape, lookback = 15 * time.Second, 5 * time.Minute
	last := time.Now().Add(-time.Hour).Truncate(time.Minute)
	var samples bytes.Buffer
	for at := last.Add(-20 * scrape); !at.After(last); at = at.Add(scrape) {
		fmt.Fprintf(&samples, "sig{cluster=\"a\"} 1 %d\n", at.UnixMilli())
	}
	// bridged is the oldest sample, in whole seconds, that instants and ranges see.
	bridged := func(t *testing.T, url string, lookback time.Duration) (instants, ranges time.Duration) {
		src, err := source.NewRemote(source.RemoteOptions{URLs: []string{url}, LookbackDelta: lookback})
		require.NoError(t, err)
		for age := time.Duration(0); age <= 6*time.Minute; age += time.Second {
			at := last.Add(age)
			v, err := src.Instant(t.Context(), "sig", at)
			require.NoError(t, err)
			if len(v.Samples) > 0 {
				instants = age
			}
			m, err := src.Range(t.Context(), "sum(sig)", source.Window{Start: at.Add(-10 * scrape), End: at, Step: scrape})
			require.NoError(t, err)
			if len(m.Series) > 0 && m.Series[0].Points[len(m.Series[0].Points)-1].T == at.UnixMilli() {
				ranges = age
			}
		}
		return instants, ranges
	}
	t.Run("as it comes", func(t *testing.T) {
		url := lab.StartVictoriaMetrics(t, "victoriametrics-gap", samples.Bytes())
		instants, ranges := bridged(t, url, lookback)
		t.Logf("instants see %s, ranges %s", instants, ranges)
		require.Equal(t, lookback-time.Second, instants)
		require.Less(t, ranges, 2*scrape, "a range sees a scrape interval and a half")
		instants, ranges = bridged(t, url, scrape)
		require.Equal(t, scrape-time.Second, instants)
		require.Equal(t, instants, ranges, "a lookback of one scrape interval is the same for both")
	})
	t.Run("with -search.minStalenessInterval", func(t *testing.T) {
		url := lab.StartVictoriaMetrics(t, "victoriametrics-staleness", samples.Bytes(), "-search.minStalenessInterval="+lookback.String())
		instants, ranges := bridged(t, url, lookback)
		require.Equal(t, lookback-time.Second, instants)
		require.Equal(t, instants, ranges)
	})
}
