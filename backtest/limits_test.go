package backtest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func TestLimitsOverTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`
limits:
  - {min_workers: 2, max_workers: 10}
  - {from: "2026-03-01T02:00:00Z", max_workers: 6, scope: a}
  - {from: 2026-03-01T01:00:00Z, paused: true}
  - {from: 2026-03-01T01:30:00Z, paused: false, mode: webhook, cooldown_until: 2026-03-01T01:40:00Z}
`), 0o600))
	l, err := ReadLimits(path)
	require.NoError(t, err)
	over := l.over(&scaling.Bounds{Min: 1, Max: 3, FloorDelay: time.Minute})
	at := func(scope string, after time.Duration) scaling.Limits {
		return over(scaling.Scope{Key: scope}, period.Add(after))
	}
	first := at("a", 0)
	require.Equal(t, scaling.Bounds{Min: 2, Max: 10, FloorDelay: time.Minute}, first.Bounds)
	require.False(t, first.Paused)
	require.Equal(t, scaling.Advisory, first.Mode)
	require.True(t, at("a", time.Hour).Paused, "from this instant on")
	require.False(t, at("a", time.Hour-time.Millisecond).Paused)
	require.Equal(t, 6, at("a", 2*time.Hour).Bounds.Max)
	require.Equal(t, 10, at("b", 2*time.Hour).Bounds.Max)
	require.False(t, at("a", 2*time.Hour).Paused)
	require.Equal(t, scaling.Webhook, at("b", 2*time.Hour).Mode)
	require.Equal(t, period.Add(100*time.Minute), at("b", 2*time.Hour).CooldownUntil)
	require.Equal(t, 10, at("a", 0).Bounds.Max, "ticks come in any order")
}

func TestLimitsInShort(t *testing.T) {
	for text, want := range map[string]scaling.Bounds{
		"2..5": {Min: 2, Max: 5}, "2..": {Min: 2, Max: scaling.Unbounded}, "..5": {Min: 1, Max: 5},
	} {
		l, err := ReadLimits(text)
		require.NoError(t, err, text)
		require.Equal(t, want, l.over(nil)(scaling.Scope{}, period).Bounds, text)
	}
	for text, want := range map[string]string{
		"two..5": `"two" is no number of workers`, "nowhere.yaml": "expected MIN..MAX such as 1..10, or a file",
	} {
		_, err := ReadLimits(text)
		require.ErrorContains(t, err, want)
	}
}

func TestLimitsFileIsStrict(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "expected limits",
		"limits: [{max_worker: 3}]":            "max_worker",
		"limits: [{from: yesterday}]":          "expected a time such as",
		"limits: [{mode: fast}]":               "mode",
		"limits: [{min_workers: -1}]":          "min_workers",
		"limits: [{cooldown_until: tomorrow}]": "cooldown_until",
	} {
		_, err := ParseLimits("limits.yaml", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
}
