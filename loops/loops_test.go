package loops_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/loops"
)

var errFinal = errors.New("final")

// thing counts its steps.
type thing struct {
	loops.Seat
	steps atomic.Int64
	fails atomic.Pointer[error]
	every time.Duration
}

func newThing(key string, every time.Duration) func() *thing {
	return func() *thing { return &thing{Seat: loops.NewSeat(key), every: every} }
}

type wall struct{}

func (wall) WaitUntil(ctx context.Context, t time.Time) error {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func work(ended *atomic.Int64) loops.Work[*thing] {
	return loops.Work[*thing]{
		Clock: wall{},
		Advance: func(ctx context.Context, t *thing) (time.Time, error) {
			t.steps.Add(1)
			if err := t.fails.Load(); err != nil && *err != nil {
				return time.Time{}, *err
			}
			if t.every == 0 {
				return time.Time{}, ctx.Err()
			}
			return time.Now().Add(t.every), ctx.Err()
		},
		Final:  func(err error) bool { return errors.Is(err, errFinal) },
		Ended:  func(*thing, error) { ended.Add(1) },
		Failed: func(_ *thing, n int, _ error) time.Time { return time.Now().Add(time.Duration(n) * time.Second) },
	}
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, ended := loops.NewSet[*thing](), &atomic.Int64{}
		idle := set.Add("idle", newThing("idle", 0), nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- set.Run(ctx, work(ended)) }()
		synctest.Wait()
		require.EqualValues(t, 1, idle.steps.Load())
		require.ErrorContains(t, set.Run(ctx, work(ended)), "runs already")

		// What comes later has a loop, too; a poke brings a step, and time the next.
		busy := set.Add("busy", newThing("busy", time.Minute), nil)
		synctest.Wait()
		require.EqualValues(t, 1, busy.steps.Load())
		idle.Poke()
		synctest.Wait()
		require.EqualValues(t, 2, idle.steps.Load())
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		require.EqualValues(t, 11, busy.steps.Load())
		require.EqualValues(t, 2, idle.steps.Load())
		busy.Poke()
		synctest.Wait()
		require.EqualValues(t, 12, busy.steps.Load(), "before it is due")

		// An error is tried again, later and later.
		err := errors.New("for now")
		idle.fails.Store(&err)
		idle.Poke()
		time.Sleep(6*time.Second + time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, 2+4, idle.steps.Load(), "at once, after 1, 2 and 3 s")

		// What is removed has no loop any more.
		set.Remove(busy, func() bool { return false })
		require.Len(t, set.All(), 2)
		set.Remove(busy, func() bool { return true })
		set.Remove(busy, func() bool { panic("it is not there") })
		busy.Poke()
		synctest.Wait()
		was := busy.steps.Load()
		time.Sleep(time.Hour)
		require.Equal(t, was, busy.steps.Load())
		_, there := set.Get("busy")
		require.False(t, there)
		again := set.Add("busy", newThing("busy", 0), nil)
		synctest.Wait()
		require.EqualValues(t, 1, again.steps.Load(), "another one under the same key")

		final := fmt.Errorf("so: %w", errFinal)
		again.fails.Store(&final)
		again.Poke()
		require.ErrorIs(t, <-done, errFinal)
		require.EqualValues(t, 1, ended.Load())
		cancel()
	})
}

func TestRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := loops.NewSet[*thing]()
		for i := range 20 {
			key := fmt.Sprint(i)
			set.Add(key, newThing(key, time.Duration(i)*time.Second), nil)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- set.Run(ctx, work(&atomic.Int64{})) }()
		time.Sleep(time.Minute)
		cancel()
		require.NoError(t, <-done)
	})
}

func TestAdvance(t *testing.T) {
	set := loops.NewSet[*thing]()
	var changed []string
	for _, key := range []string{"c", "a", "b", "a"} {
		set.Add(key, newThing(key, 0), func(t *thing) { changed = append(changed, t.Key()) })
	}
	require.Equal(t, []string{"c", "a", "b", "a"}, changed)
	all := set.All()
	require.Len(t, all, 3)
	require.Equal(t, "a", all[0].Key())
	require.NoError(t, set.Advance(t.Context(), work(nil)))
	passing, final := errors.New("passing"), errFinal
	all[0].fails.Store(&passing)
	require.ErrorIs(t, set.Advance(t.Context(), work(nil)), passing)
	require.EqualValues(t, 2, all[2].steps.Load(), "the others go on")
	all[1].fails.Store(&final)
	require.ErrorIs(t, set.Advance(t.Context(), work(nil)), errFinal)
	require.EqualValues(t, 2, all[2].steps.Load(), "nothing goes on")
}
