package app

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/app/kinds"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// A reload keeps to what was set at run time, by the law of a change at run time;
// one that does not fit changes nothing, and says who set what and how to take it
// back. A start takes what it finds.
func TestAReloadKeepsToWhatWasSetAtRunTime(t *testing.T) {
	dir, all := nowhere(t), kinds.All()
	write := func(scopes string) {
		text := `prometheus: {urls: ["http://127.0.0.1:1"], timeout: 1s}
rule_sets: [{file: quick.yaml}]
scopes: ` + scopes + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "zeta-scaler.yml"), []byte(text), 0o600))
	}
	start := func() *service {
		s, err := newService(t.Context(), Options{Log: io.Discard, Load: func() (*config.Config, error) {
			return config.Load(config.Options{Kinds: all, File: filepath.Join(dir, "zeta-scaler.yml"), Flags: map[string]any{
				"web.listen-address": "127.0.0.1:0", "state.path": filepath.Join(dir, "state.db"),
			}})
		}})
		require.NoError(t, err)
		return s
	}
	bounds := func(most string) string {
		return `[{match: {cluster: prod}, bounds: {max_workers: ` + most + `}}, {match: {cluster: test}}]`
	}
	write(bounds("20"))
	s := start()
	set := func(r state.ControlRecord) {
		_, err := state.Controls(s.store).Change(t.Context(), "prod", func(state.Row[state.ControlRecord]) (state.ControlRecord, []state.Entry, bool) {
			return r, nil, true
		})
		require.NoError(t, err)
	}
	at := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	set(state.ControlRecord{MinWorkers: new(8), By: "ann", UpdatedAt: at})

	write(bounds("5"))
	err := s.reload(t.Context())
	require.EqualError(t, err, `the new configuration does not fit what was set at run time: scope "prod": `+
		`min_workers 8 is greater than max_workers 5 (min_workers 8 set at run time, last changed 2026-03-14T09:00:00Z by ann); `+
		`take it back with: zeta-scaler config set --scope prod --min-workers configured`)
	require.Equal(t, 20, *s.cfg.Scopes[0].Bounds.MaxWorkers, "the old configuration stays")
	write(bounds("8"))
	require.NoError(t, s.reload(t.Context()))
	require.Equal(t, 8, *s.cfg.Scopes[0].Bounds.MaxWorkers)

	// So does what holds when a bound ends.
	until := time.Now().Add(time.Hour).Truncate(time.Second).UTC()
	set(state.ControlRecord{MinWorkers: new(8), MaxTimed: &scaling.TimedBound{Bound: scaling.MaxWorkers, Workers: 9, Until: until, By: "bob"}})
	write(bounds("7"))
	err = s.reload(t.Context())
	require.ErrorContains(t, err, "from "+until.Format(time.RFC3339))
	require.ErrorContains(t, err, "max_workers 9 until "+until.Format(time.RFC3339)+" by bob")
	require.ErrorContains(t, err, "--min-workers configured --max-workers configured")

	// A scope that is gone has nothing to fit.
	write(`[{match: {cluster: test}}]`)
	require.NoError(t, s.reload(t.Context()))

	// The start with such a store starts, and what did not fit before keeps no later
	// reload away.
	set(state.ControlRecord{MinWorkers: new(8), By: "ann", UpdatedAt: at})
	require.NoError(t, s.close())
	write(bounds("5"))
	s = start()
	defer func() { require.NoError(t, s.close()) }()
	write(strings.Replace(bounds("5"), "cluster: test}", "cluster: other}", 1))
	require.NoError(t, s.reload(t.Context()))
	require.Len(t, s.cfg.Scopes, 2)
}
