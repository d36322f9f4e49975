package evaluator

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

func TestSilentSourceIsLoggedOncePerChangeOfState(t *testing.T) {
	rs := fixture()
	src := quietCluster(rs)
	l := newLive(t, src, memory.New(), fixtureConfig(rs, scaling.DefaultBounds(), "a"), 1)
	var log strings.Builder
	l.r.Logger = slog.New(slog.NewTextHandler(&log, nil))
	l.r.troubles = newTroubles(l.r.Logger, l.r.group)
	l.tick(t, at(rs, 100))
	src.down = func(time.Time, bool) error { return source.NoAnswer(context.DeadlineExceeded) }
	for i := 101; i < 104; i++ {
		l.tick(t, at(rs, i))
	}
	require.Equal(t, 1, strings.Count(log.String(), "the source gives no answer"))
	src.down = nil
	l.tick(t, at(rs, 104))
	require.Equal(t, 1, strings.Count(log.String(), "the source answers again"))
}

// trims counts how often the history is trimmed.
type trims struct {
	state.Store
	n int
}

func (s *trims) Trim(ctx context.Context, keep state.Retention) error {
	s.n++
	return s.Store.Trim(ctx, keep)
}

func TestHistoryIsTrimmedNowAndThen(t *testing.T) {
	rs := fixture()
	store := &trims{Store: memory.New()}
	l := newLive(t, quietCluster(rs), store, fixtureConfig(rs, scaling.DefaultBounds(), "a"), 1)
	every := int(trimEvery / rs.Interval)
	for i := range every {
		l.tick(t, at(rs, 100+i))
	}
	require.Equal(t, 1, store.n)
	l.tick(t, at(rs, 100+every))
	require.Equal(t, 2, store.n)
}
