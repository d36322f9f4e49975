package site

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/demo/sim"
	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// asked is what `check rules --prometheus.url` asks a server.
type asked struct{ engine *source.Engine }

func (a asked) Instant(ctx context.Context, expr string, at time.Time) (rules.Answer, error) {
	v, err := a.engine.Instant(ctx, expr, at)
	answer := rules.Answer{Warnings: v.Warnings}
	for i := range v.Samples {
		answer.Samples = append(answer.Samples, v.Samples[i].Labels)
	}
	return answer, err
}

// A healthy cluster, nothing waiting, fixed slots: no warning, so `--strict` is
// green.
func TestAHealthyClusterLeavesNothingToWarnOf(t *testing.T) {
	start := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	cluster, err := sim.New(sim.Options{
		Name: "prod", Version: sim.V2313, Start: start, Workers: 3, SlotsPerWorker: 4, Strategy: sim.Wait, Seed: 1,
	})
	require.NoError(t, err)
	m, err := NewMonitoring(MonitoringOptions{
		Name: "prod", Version: sim.V2313, Current: func() *sim.Cluster { return cluster }, Now: cluster.Now,
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	end := start.Add(15 * time.Minute)
	for at := start; !at.After(end); at = at.Add(15 * time.Second) {
		cluster.Advance(at)
		require.NoError(t, m.Scrape(t.Context(), at))
	}
	engine, err := source.NewEngine(source.EngineOptions{Registerer: prometheus.NewRegistry()}, m.DB())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close()) })
	for _, name := range []string{"zeta-auto", "zeta-fixed-slot", "zeta-responsive"} {
		rs, _, err := rules.Pack(name)
		require.NoError(t, err)
		ds := rules.CheckServer(t.Context(), rs, asked{engine}, rules.ServerOptions{
			Now: func() time.Time { return end.Add(rs.QueryOffset) }, Slow: time.Minute,
		})
		require.NotEmpty(t, ds)
		for _, d := range ds {
			require.Equal(t, document.SeverityInfo, d.Severity, "%s: %s (%s)", name, d.Message, d.Hint)
		}
	}
}
