//go:build e2e && unix

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/evaluator/handclock"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// seedEnv repeats a run with the seed that it printed.
const seedEnv = "ZETA_E2E_SEED"

const (
	restoreScopes = 80
	restoreTicks  = 110
	// firstRestart leaves every window time to be full once.
	firstRestart = 20
	// restartEvery spaces the ticks at which a service starts again.
	restartEvery = 3
	// follow is for how many ticks a restarted service is compared.
	follow = 3
)

// Restart equivalence against a real Prometheus: wherever a service starts
// again with nothing but Prometheus' data, it decides what one that never
// stopped decides. With one tick less of data it would not.
func TestRestartEquivalenceAgainstRealPrometheus(t *testing.T) {
	restartEquivalence(t, func(series []byte) string {
		return lab.StartPrometheus(t, harness.PrometheusOptions{Name: "prometheus-restore", Config: "{}", Data: writeBlocks(t, series)}).URL
	})
}

// The same on a VictoriaMetrics, whose language and instants differ in details.
func TestRestartEquivalenceAgainstRealVictoriaMetrics(t *testing.T) {
	restartEquivalence(t, func(series []byte) string {
		return lab.StartVictoriaMetrics(t, "victoriametrics-restore", series)
	})
}

func restartEquivalence(t *testing.T, serve func(series []byte) (url string)) {
	rs, err := rules.ParseFile(filepath.Join("testdata", "restore.yaml"))
	require.NoError(t, err)
	now := time.Now().Add(-4 * time.Hour)
	ticks := make([]time.Time, restoreTicks)
	for i := range ticks {
		at := now.Add(time.Duration(i) * rs.Interval)
		ticks[i] = evaluator.TickAtOrBefore(at, rs.Interval, evaluator.Phase(rs.Name, rs.Interval))
	}
	seed := uint64(now.UnixNano())
	if fixed := os.Getenv(seedEnv); fixed != "" {
		seed, err = strconv.ParseUint(fixed, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("seed %d, %d scopes, %d ticks from %s", seed, restoreScopes, restoreTicks, ticks[0].Format(time.RFC3339))
	src, err := source.NewRemote(source.RemoteOptions{
		URLs: []string{serve(randomSeries(seed, ticks))},
		// Each tick has its own sample or none.
		LookbackDelta: rs.Interval / 2,
	})
	require.NoError(t, err)

	reference := judge(t, src, rs, ticks)
	rows := map[scaling.RowID]int{}
	for _, decisions := range reference {
		require.Len(t, decisions, restoreScopes)
		for _, d := range decisions {
			rows[d.Row]++
		}
	}
	t.Logf("rows that decided: %v", rows)
	require.Greater(t, len(rows), 10, "the series are too dull to prove anything")

	for i := firstRestart; i < restoreTicks-follow; i += restartEvery {
		again := judge(t, src, rs, ticks[i:i+follow])
		for at, decisions := range again {
			require.Equal(t, reference[at], decisions, "started again at tick %d, judging %s", i, at)
		}
	}

	program, err := evaluator.Compile(rs, rs.Interval)
	require.NoError(t, err)
	lookback := program.Lookback(0)
	t.Logf("lookback %s", lookback)
	require.Zero(t, differences(t, src, rs, ticks, lookback, reference), "the lookback is enough")
	less := differences(t, src, rs, ticks, lookback-rs.Interval, reference)
	t.Logf("with one tick less, %d of %d decisions differ", less, (restoreTicks-firstRestart)*restoreScopes)
	require.Positive(t, less, "with one tick less it must not be")
}

// differences counts the decisions that come out otherwise when the windows
// begin a lookback before the tick.
func differences(t *testing.T, src evaluator.Source, rs *rules.RuleSet, ticks []time.Time, lookback time.Duration, reference map[time.Time]map[string]decision) int {
	t.Helper()
	n := 0
	for _, at := range ticks[firstRestart:] {
		err := evaluator.Replay(t.Context(), src, evaluator.ReplayOptions{
			RuleSet: rs, Start: at.Add(-lookback), End: at,
			// Listed scopes exist from the first tick on, whatever is sampled.
			DiscoverAny: true,
			Limits:      func(scaling.Scope, time.Time) scaling.Limits { return limits() },
		}, func(tick time.Time, evaluations []scaling.Evaluation) error {
			if !tick.Equal(at) {
				return nil
			}
			for _, ev := range evaluations {
				if want, got := reference[at][ev.Scope.Key], decisionOf(ev.Recommendation); want != got {
					if n++; n <= 3 {
						t.Logf("with a lookback of %s, %s at %s: %+v instead of %+v", lookback, ev.Scope.Key, at.Format(time.TimeOnly), got, want)
					}
				}
			}
			return nil
		})
		require.NoError(t, err)
	}
	return n
}

func bounds() *scaling.Bounds { return &scaling.Bounds{Min: 1, Max: 4} }

func limits() scaling.Limits {
	return scaling.Limits{Bounds: *bounds(), Mode: scaling.Advisory}
}

// judge runs a fresh loop, which remembers nothing, over ticks.
func judge(t *testing.T, src evaluator.Source, rs *rules.RuleSet, ticks []time.Time) map[time.Time]map[string]decision {
	t.Helper()
	store := memory.New()
	defer func() { require.NoError(t, store.Close()) }()
	clock := handclock.New(ticks[0])
	published := make(publications)
	loop := evaluator.NewLoop(evaluator.Options{
		Source: src, Clock: clock, Store: store, Epoch: 1,
		Logger: slog.New(slog.DiscardHandler), Publishers: []evaluator.Publisher{published},
	})
	cfg := evaluator.Config{RuleSets: []*rules.RuleSet{rs}, ForgetAfter: time.Hour}
	for i := range restoreScopes {
		cfg.Scopes = append(cfg.Scopes, evaluator.ScopeConfig{
			Match: map[string]string{"cluster": scopeName(i)}, RuleSet: rs.Name, Bounds: bounds(), Mode: scaling.Advisory,
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- loop.Run(ctx, cfg) }()
	defer func() { cancel(); require.NoError(t, <-done) }()
	out := map[time.Time]map[string]decision{}
	for _, at := range ticks {
		clock.Set(at)
		select {
		case out[at] = <-published:
		case err := <-done:
			done <- nil
			t.Fatalf("the loop ended: %v", err)
		case <-time.After(time.Minute):
			t.Fatalf("nothing was published for %s", at)
		}
	}
	return out
}

// publications passes each tick's decisions on.
type publications chan map[string]decision

func (p publications) Publish(ctx context.Context, evaluations []scaling.Evaluation, _ []scaling.Scope) {
	decisions := map[string]decision{}
	for _, ev := range evaluations {
		decisions[ev.Scope.Key] = decisionOf(ev.Recommendation)
	}
	select {
	case p <- decisions:
	case <-ctx.Done():
	}
}

func scopeName(i int) string { return fmt.Sprintf("c%02d", i) }

// shape is how a signal of the made-up series moves: values that it takes in
// turn by chance, each for a few ticks. "" is no sample.
type shape []string

// randomSeries is an OpenMetrics text of every signal of every scope.
func randomSeries(seed uint64, ticks []time.Time) []byte {
	shapes := map[string]shape{
		"sig_workers":   {"1", "2", "2", "3", "4", "5", ""},
		"sig_reporting": {"1", "2", "2", "3", "4", "5", ""},
		"sig_dynamic":   {"0", "0", "0", "0", "1", "0.5", ""},
		"sig_blocked":   {"0", "0", "3", ""},
		"sig_age":       {"0", "0", "30", "90", "90", ""},
		"sig_cpu":       {"0.1", "0.1", "0.1", "0.5", "0.9", "NaN", "7", ""},
		"sig_memory":    {"0.1", "0.1", "0.5", "0.9", ""},
		"sig_slots":     {"0.1", "0.1", "0.5", "0.9", ""},
		"sig_head":      {"1", "1", "9", ""},
	}
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a test's data
	var out bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		fmt.Fprintf(&out, "# TYPE %s gauge\n", name)
		for i := range restoreScopes {
			series, s, longest := fmt.Sprintf("%s{cluster=%q}", name, scopeName(i)), shapes[name], 12
			switch {
			case quiet(i) && name == "sig_cpu":
				// Its window is the longest: that it fills is all that happens.
				s, longest = shape{"0.1", "0.1", "0.5"}, 8
			case quiet(i), i%2 == 0 && name != "sig_cpu" && name != "sig_age":
				s = s[1:2]
			}
			writeSeries(&out, r, series, s, ticks, longest)
		}
	}
	fmt.Fprintln(&out, "# TYPE sig_master gauge")
	for i := range restoreScopes {
		for j, at := range ticks {
			// Two masters that take turns, and now and then none.
			master := 1 + j/(17+i%5)%2
			if quiet(i) {
				master = 1
			}
			if quiet(i) || r.IntN(40) > 0 {
				fmt.Fprintf(&out, "sig_master{cluster=%q,master=\"m%d\"} 1 %.3f\n", scopeName(i), master, seconds(at))
			}
		}
	}
	fmt.Fprintln(&out, "# EOF")
	return out.Bytes()
}

// quiet tells a quarter of the scopes, in which windows of scale-in fill: only
// one signal moves. In another quarter two do, in the rest all of them.
func quiet(scope int) bool { return scope%4 == 0 }

// writeSeries writes one sample a tick of a series that takes values of its
// shape by chance, each for at most so many ticks.
func writeSeries(out *bytes.Buffer, r *rand.Rand, series string, s shape, ticks []time.Time, longest int) {
	value, left := "", 0
	for _, at := range ticks {
		if left == 0 {
			value, left = s[r.IntN(len(s))], 1+r.IntN(longest)
			if value == "" {
				left = 1 + r.IntN(2)
			}
		}
		left--
		if value != "" {
			fmt.Fprintf(out, "%s %s %.3f\n", series, value, seconds(at))
		}
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// writeBlocks has promtool turn a text into a data folder of Prometheus.
func writeBlocks(t *testing.T, text []byte) string {
	t.Helper()
	dir := t.TempDir()
	input, data := filepath.Join(dir, "series.txt"), filepath.Join(dir, "data")
	require.NoError(t, os.WriteFile(input, text, 0o600))
	cmd := exec.CommandContext(t.Context(), lab.Build(t, harness.Promtool), "tsdb", "create-blocks-from", "openmetrics", input, data)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "promtool: %s", out)
	return data
}
