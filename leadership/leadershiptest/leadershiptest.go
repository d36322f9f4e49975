// Package leadershiptest has the suite that every way to lead among several replicas
// passes.
package leadershiptest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/backoff"
	"github.com/zeta-scaler/zeta-scaler/leadership"
)

// Weather is what befalls one replica. It is safe for concurrent use.
type Weather struct {
	mu   sync.Mutex
	dice *rand.Rand
}

// Dice is a number from 0 to below sides.
func (w *Weather) Dice(sides int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dice.IntN(sides)
}

// Delay is how late a request or a reply is: mostly not at all, sometimes longer than
// any time-out.
func (w *Weather) Delay() time.Duration {
	if w.Dice(20) > 0 {
		return 0
	}
	return time.Duration(w.Dice(300)) * 100 * time.Millisecond
}

// Candidate competes until it has led for once, or its context ends.
type Candidate interface {
	Run(ctx context.Context, lead func(context.Context, leadership.Term) error) error
}

// Contest is what replicas compete for.
type Contest interface {
	// Replica returns what makes the candidates of a replica, one after the other: the
	// process stops and comes back.
	Replica(t *testing.T, i int, w *Weather) func(n int) Candidate
	// Disturb may do something to what they compete for. It is called every 250 ms.
	Disturb(r *rand.Rand)
}

// RunNeverTwoLeaders has replicas compete in all weathers: never do two lead at once,
// and every term has a greater epoch.
func RunNeverTwoLeaders(t *testing.T, begin func() Contest) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { compete(t, rand.New(rand.NewPCG(seed, 1)), begin()) })
		})
	}
}

func compete(t *testing.T, r *rand.Rand, contest Contest) {
	const replicas, minutes, looks = 3, 40, 4 * 60
	all := &terms{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var done sync.WaitGroup
	for i := range replicas {
		weather := &Weather{dice: rand.New(rand.NewPCG(r.Uint64(), 2))}
		candidate := contest.Replica(t, i, weather)
		lead := func(ctx context.Context, term leadership.Term) error {
			all.begins(t, term)
			_ = backoff.Wait(ctx, time.Duration(weather.Dice(600))*time.Second)
			return nil // it gives the lease up of its own accord, or was told to stop
		}
		done.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if err := candidate(n).Run(ctx, lead); err != nil {
					t.Error(err)
				}
			}
		})
	}
	led := 0
	for range minutes * looks {
		time.Sleep(time.Minute / looks)
		n := all.now()
		require.LessOrEqual(t, n, 1, "two lead at once")
		led += n
		contest.Disturb(r)
	}
	cancel()
	done.Wait()
	require.Greater(t, led, minutes*looks/3, "somebody leads most of the time")
}

// terms are those that have begun.
type terms struct {
	mu    sync.Mutex
	begun []leadership.Term
}

// begins checks a term as it begins.
func (l *terms) begins(t *testing.T, term leadership.Term) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, other := range l.begun {
		require.Less(t, other.Epoch, term.Epoch)
	}
	l.begun = append(l.begun, term)
}

// now is how many lead.
func (l *terms) now() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, term := range l.begun {
		if term.Leads() == nil {
			n++
		}
	}
	return n
}
