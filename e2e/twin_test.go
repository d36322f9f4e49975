//go:build e2e && unix

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

// sampleEvery is well below the interval of the rule set, so that each tick's
// published decision is seen.
const sampleEvery = 150 * time.Millisecond

// seen is one tick as a service published it.
type seen struct {
	decision
	Provisional bool
	Epoch       uint64
	Generation  uint64
}

// watch notes what a service publishes, tick by tick, while it is there.
type watch struct {
	name string

	mu    sync.Mutex
	ticks map[time.Time]seen
}

// watchDecisions follows a service until the test ends.
func watchDecisions(t *testing.T, s *scaler) *watch {
	w := &watch{name: s.command.Name, ticks: map[time.Time]seen{}}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(sampleEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				w.look(ctx, s)
			}
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return w
}

func (w *watch) look(ctx context.Context, s *scaler) {
	st, err := s.status(ctx)
	if err != nil {
		return // killed, on purpose
	}
	r := st.Recommendation
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ticks[r.ObservedAt] = seen{
		decision: decisionOf(r), Provisional: st.Provisional, Epoch: r.MasterEpoch, Generation: r.Generation,
	}
}

// since is what was published for the ticks within (after, …].
func (w *watch) since(after time.Time) map[time.Time]seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[time.Time]seen{}
	for at, s := range w.ticks {
		if at.After(after) {
			out[at] = s
		}
	}
	return out
}

// last is the newest tick that was published.
func (w *watch) last() (time.Time, seen) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var newest time.Time
	for at := range w.ticks {
		if at.After(newest) {
			newest = at
		}
	}
	return newest, w.ticks[newest]
}

// final are the ticks of some that are not provisional. On a busy machine a
// query may run out of time for one service and not for another; such a tick
// promises nothing.
func final(ticks map[time.Time]seen) map[time.Time]seen {
	maps.DeleteFunc(ticks, func(_ time.Time, s seen) bool { return s.Provisional })
	return ticks
}

// requireEqualSince waits until both services have published enough common
// ticks after a moment that are final, and requires row, action and target to
// be equal at each of them. It returns the first common tick.
func requireEqualSince(t *testing.T, limit time.Duration, after time.Time, enough int, a, b *watch) time.Time {
	t.Helper()
	var common []time.Time
	harness.Wait(t, limit, fmt.Sprintf("%s and %s have judged %d common ticks", a.name, b.name, enough), func(context.Context) error {
		inA, inB := final(a.since(after)), final(b.since(after))
		common = common[:0]
		for at := range inA {
			if _, ok := inB[at]; ok {
				common = append(common, at)
			}
		}
		if len(common) < enough {
			return fmt.Errorf("%d so far; %s has %d, %s has %d", len(common), a.name, len(inA), b.name, len(inB))
		}
		return nil
	})
	slices.SortFunc(common, time.Time.Compare)
	inA, inB := final(a.since(after)), final(b.since(after))
	var differences []string
	for _, at := range common {
		if inA[at].decision != inB[at].decision {
			differences = append(differences, fmt.Sprintf("%s\n  %s: %+v\n  %s: %+v", at.Format("15:04:05"), a.name, inA[at], b.name, inB[at]))
		}
	}
	require.Empty(t, differences, "the two services differ:\n%s", strings.Join(differences, "\n"))
	return common[0]
}

// rowsOf are the distinct rows of some ticks, for messages.
func rowsOf(ticks map[time.Time]seen) []string {
	rows := map[string]bool{}
	for _, s := range ticks {
		rows[string(s.Row)] = true
	}
	return slices.Sorted(maps.Keys(rows))
}
