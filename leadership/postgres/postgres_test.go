package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/backoff"
	"github.com/zeta-scaler/zeta-scaler/leadership"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestWhenALeaseMayBeTaken(t *testing.T) {
	const duration = 15 * time.Second
	held := row{turn: 7, holder: "other", duration: duration, server: noon, own: true}
	over := held
	over.over = true
	elsewhere := over // written by another run of the server, or by another server
	elsewhere.own = false
	longer := held
	longer.duration = time.Minute
	given := held
	given.holder = ""
	mine := held
	mine.holder = "me"
	mineElsewhere, givenElsewhere := mine, given
	mineElsewhere.own, givenElsewhere.own = false, false
	next := held
	next.turn++
	nextOver := over
	nextOver.turn++
	other := held
	other.server = noon.Add(time.Hour)
	type look struct {
		after time.Duration
		row   row
	}
	for name, tc := range map[string]struct {
		looks []look
		// at is when it may be taken, after the first look.
		at time.Duration
	}{
		"it was given up":                        {[]look{{0, given}}, 0},
		"it is ours":                             {[]look{{0, mine}}, 0},
		"given up before a failover":             {[]look{{0, givenElsewhere}}, duration},
		"ours before a failover":                 {[]look{{0, mineElsewhere}}, duration},
		"held when we began":                     {[]look{{0, held}}, duration},
		"over when we began":                     {[]look{{0, over}}, 0},
		"over by the clock of another server":    {[]look{{0, elsewhere}}, duration},
		"its holder says longer":                 {[]look{{0, longer}}, time.Minute},
		"renewed meanwhile":                      {[]look{{0, held}, {4 * time.Second, next}}, 4*time.Second + duration},
		"the database's clock was set":           {[]look{{0, held}, {4 * time.Second, over}}, duration},
		"renewed, and the clock was set":         {[]look{{0, held}, {4 * time.Second, nextOver}}, 4*time.Second + duration},
		"a failover":                             {[]look{{0, held}, {4 * time.Second, other}}, 4*time.Second + duration},
		"we were away, and it is over":           {[]look{{0, held}, {time.Hour, nextOver}}, time.Hour},
		"we were away, and it was renewed":       {[]look{{0, held}, {time.Hour, next}}, time.Hour + duration},
		"we were away, and it is over elsewhere": {[]look{{0, held}, {time.Hour, func() row { r := elsewhere; r.turn++; return r }()}}, time.Hour + duration},
	} {
		t.Run(name, func(t *testing.T) {
			e, o := elector{identity: "me", duration: duration, deadline: 10 * time.Second}, observed{}
			for _, l := range tc.looks {
				o = o.see(l.row, noon.Add(l.after), duration)
			}
			last := tc.looks[len(tc.looks)-1].after
			require.True(t, e.may(o, noon.Add(tc.at)))
			if tc.at > last {
				require.False(t, e.may(o, noon.Add(tc.at-1)))
				require.Equal(t, noon.Add(tc.at), e.ends(o, noon.Add(last)))
			}
		})
	}
}

func timing() leadership.Timing {
	var t leadership.Timing
	t.SetDefaults()
	return t
}

func candidate(t table, identity string, store state.Store) *leadership.Candidate {
	c := newCandidate(t, timing(), identity, time.Now)
	c.Store, c.Logger = store, slog.New(slog.DiscardHandler)
	return c
}

// Epochs are at least the database's time, so that one that was restored from a
// backup does not bring an old one back; and greater than any in the store.
func TestEpochIsAtLeastTheDatabasesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, store := newServer(), memory.New()
		lead := func() (epoch uint64) {
			ctx, cancel := context.WithCancel(t.Context())
			require.NoError(t, candidate(db, fmt.Sprint("replica-", time.Now().UnixNano()), store).Run(ctx, func(_ context.Context, term leadership.Term) error {
				epoch = term.Epoch
				cancel()
				return context.Canceled
			}))
			return epoch
		}
		first := lead()
		require.EqualValues(t, time.Now().UnixMilli(), first)
		store = memory.New() // an empty backup
		time.Sleep(time.Minute)
		require.EqualValues(t, time.Now().UnixMilli(), lead())
		db.setClock(-time.Hour)
		require.EqualValues(t, time.Now().UnixMilli()+1, lead())
	})
}

// Who ends in good order lets another one take over at once; who begins after a
// crash of all of them does not wait for a lease that is long over.
func TestNobodyWaitsForALeaseThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, store := newServer(), memory.New()
		crashed := path{server: db, fate: func() fate { return passes }, delay: func() time.Duration { return 0 }}
		var down bool
		crashed.fate = func() fate {
			if down {
				return lost
			}
			return passes
		}
		leads := func(db table, name string) (took time.Duration) {
			ctx, cancel := context.WithCancel(t.Context())
			began := time.Now()
			require.NoError(t, candidate(db, name, store).Run(ctx, func(context.Context, leadership.Term) error {
				took = time.Since(began)
				down = true
				cancel()
				return context.Canceled
			}))
			return took
		}
		require.Zero(t, leads(db, "first"))
		require.Zero(t, leads(db, "second"), "the first has given it up")
		down = false
		require.Zero(t, leads(crashed, "third"))
		require.Equal(t, 15*time.Second, leads(db, "fourth"), "the third could not give it up")
		down = false
		leads(crashed, "fifth")
		time.Sleep(time.Minute)
		require.Zero(t, leads(db, "sixth"), "the fifth's is over by the database's clock")
	})
}

// Replicas whose requests and replies are lost, late or slow, which stop and come
// back, on a database whose clock is set and which fails over to servers with
// other clocks that have missed the last writes: never do two lead at once, and
// every term has a greater epoch.
func TestNeverTwoLeaders(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { compete(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

// leaders are the terms of a test.
type leaders struct {
	mu    sync.Mutex
	terms []leadership.Term
}

// begins checks a term as it begins.
func (l *leaders) begins(t *testing.T, term leadership.Term) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, other := range l.terms {
		require.Less(t, other.Epoch, term.Epoch)
	}
	l.terms = append(l.terms, term)
}

// now is how many lead.
func (l *leaders) now() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, term := range l.terms {
		if term.Leads() == nil {
			n++
		}
	}
	return n
}

func compete(t *testing.T, r *rand.Rand) {
	const replicas, minutes = 3, 40
	db, store, all := newServer(), memory.New(), &leaders{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var done sync.WaitGroup
	for i := range replicas {
		weather := rand.New(rand.NewPCG(r.Uint64(), 2))
		var mu sync.Mutex
		dice := func(sides int) int {
			mu.Lock()
			defer mu.Unlock()
			return weather.IntN(sides)
		}
		way := path{
			server: db,
			fate: func() fate {
				switch n := dice(100); {
				case n < 10:
					return lost
				case n < 20:
					return unanswered
				}
				return passes
			},
			delay: func() time.Duration {
				if dice(20) > 0 {
					return 0
				}
				return time.Duration(dice(300)) * 100 * time.Millisecond // longer than any time-out
			},
		}
		lead := func(ctx context.Context, term leadership.Term) error {
			all.begins(t, term)
			_ = backoff.Wait(ctx, time.Duration(dice(600))*time.Second)
			return nil // it gives the lease up of its own accord, or was told to stop
		}
		done.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if err := candidate(way, fmt.Sprintf("replica-%d/%d", i, n), store).Run(ctx, lead); err != nil {
					t.Error(err)
				}
			}
		})
	}
	led := 0
	for range minutes * 60 * 4 {
		time.Sleep(250 * time.Millisecond)
		n := all.now()
		require.LessOrEqual(t, n, 1, "two lead at once")
		led += n
		switch r.IntN(400) {
		case 0:
			db.failOver(time.Duration(r.IntN(20))*time.Second, time.Duration(r.IntN(7200)-3600)*time.Second)
		case 1:
			// Forwards by less than a replica that has just begun could be misled by.
			db.setClock(time.Duration(r.IntN(3604)-3600) * time.Second)
		}
	}
	cancel()
	done.Wait()
	require.Greater(t, led, minutes*60*4/3, "somebody leads most of the time")
}
