package evaluator

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// dyingCluster is a quiet cluster that has no sample while dead is true; what the
// exporter says of it is up, absent below 0.
func dyingCluster(dead *bool, up *float64) *series {
	src := quietCluster(fixture())
	for name, f := range src.values {
		src.values[name] = func(c string, n int64) (float64, bool) {
			v, _ := f(c, n)
			return v, !*dead
		}
	}
	src.values[clusterUp] = func(string, int64) (float64, bool) { return *up, *up >= 0 }
	return src
}

// A cluster that does not answer its exporter is silent, not gone: it is kept for
// as long as that lasts, and for forget_after once it answers without the scope.
func TestAClusterThatIsDownIsNotForgotten(t *testing.T) {
	rs, dead, up := fixture(), false, 1.0
	cfg := fixtureConfig(rs, scaling.DefaultBounds())
	cfg.ForgetAfter = 10 * 30 * time.Second
	l := newLive(t, dyingCluster(&dead, &up), memory.New(), cfg, 1)
	l.tick(t, at(rs, 100))
	dead, up = true, 0
	for i := 101; i < 350; i++ {
		l.tick(t, at(rs, i))
		require.Empty(t, l.rec.gone)
		require.Equal(t, scaling.RowWorkersUnknown, l.rec.newest("a").row)
	}
	up = 1
	for i := 350; len(l.rec.gone) == 0; i++ {
		require.Less(t, i, 372, "a cluster that answers and has no workers is forgotten")
		l.tick(t, at(rs, i))
	}
	require.Equal(t, []string{"a"}, l.rec.gone)
}

// A cluster that no exporter watches any more is gone, unless the configuration
// names it, or nobody can tell.
func TestWhoIsForgottenWithoutASeries(t *testing.T) {
	for name, tc := range map[string]struct {
		clusters  []string
		unasked   bool
		forgotten bool
	}{
		"taken from the exporter":       {forgotten: true},
		"another cluster is configured": {clusters: []string{"b"}, forgotten: true},
		"the configuration names it":    {clusters: []string{"a"}},
		"the question is not answered":  {unasked: true},
		"configured, and not answered":  {clusters: []string{"a"}, unasked: true},
	} {
		t.Run(name, func(t *testing.T) {
			rs, dead, up := fixture(), false, -1.0
			src := dyingCluster(&dead, &up)
			cfg := fixtureConfig(rs, scaling.DefaultBounds())
			cfg.ForgetAfter, cfg.Clusters = 10*30*time.Second, tc.clusters
			l := newLive(t, &partlySilent{src, tc.unasked}, memory.New(), cfg, 1)
			l.tick(t, at(rs, 100))
			dead = true
			for i := 101; i < 150; i++ {
				l.tick(t, at(rs, i))
			}
			require.Equal(t, tc.forgotten, len(l.rec.gone) == 1, "%v", l.rec.gone)
		})
	}
}

// partlySilent gives no answer about clusters if silent is set.
type partlySilent struct {
	*series
	silent bool
}

func (p *partlySilent) Instant(ctx context.Context, expr string, at time.Time) (source.Vector, error) {
	if p.silent && expr == clusterUp {
		return source.Vector{}, source.NoAnswer(errors.New("time-out"))
	}
	return p.series.Instant(ctx, expr, at)
}

// A cluster of the configuration is a scope from the first tick on, whether or
// not it ever answered.
func TestConfiguredClustersAreKnownFromTheStart(t *testing.T) {
	rs := fixture()
	cfg := fixtureConfig(rs, scaling.DefaultBounds())
	cfg.Clusters, cfg.ForgetAfter = []string{"a", "never"}, 10*30*time.Second
	store := memory.New()
	l := newLive(t, quietCluster(rs), store, cfg, 1)
	for i := 100; i < 150; i++ {
		l.tick(t, at(rs, i))
	}
	require.Equal(t, scaling.RowIdle, l.rec.newest("a").row)
	require.Equal(t, scaling.RowWorkersUnknown, l.rec.newest("never").row)
	require.Equal(t, scaling.Advisory, l.rec.last["never"].Mode)
	require.Empty(t, l.rec.gone)
	l = newLive(t, quietCluster(rs), store, cfg, 2)
	l.tick(t, at(rs, 150))
	require.Equal(t, scaling.RowWorkersUnknown, l.rec.newest("never").row, "after a restart, too")
	cfg = fixtureConfig(rs, scaling.DefaultBounds(), "a")
	cfg.Clusters = []string{"a", "never"}
	l = newLive(t, quietCluster(rs), store, cfg, 3)
	l.tick(t, at(rs, 151))
	require.NotContains(t, l.rec.last, "never", "nobody asked for scopes that are not listed")
}

func TestSharedLabels(t *testing.T) {
	up := func(v float64, ls ...string) source.Sample {
		return source.Sample{Labels: labels.FromStrings(ls...), Value: v}
	}
	pool := []scaling.Label{{Name: "cluster", Value: "a"}, {Name: "pool", Value: "big"}}
	for name, tc := range map[string]struct {
		up             []source.Sample
		answers, known bool
	}{
		"nothing":                  {},
		"another cluster":          {up: []source.Sample{up(0, "cluster", "b")}},
		"no label in common":       {up: []source.Sample{up(0, "instance", "x")}},
		"down":                     {up: []source.Sample{up(0, "cluster", "a", "instance", "x")}, known: true},
		"one of two exporters":     {up: []source.Sample{up(0, "cluster", "a", "instance", "x"), up(1, "cluster", "a", "instance", "y")}, known: true, answers: true},
		"another pool of the same": {up: []source.Sample{up(1, "cluster", "a", "pool", "small")}},
		"the pool's own":           {up: []source.Sample{up(1, "cluster", "a", "pool", "big")}, known: true, answers: true},
	} {
		answers, known := answersExporter(pool, tc.up)
		require.Equal(t, tc.answers, answers, name)
		require.Equal(t, tc.known, known, name)
	}
}
