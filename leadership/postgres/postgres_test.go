package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/leadership"
	"github.com/zeta-scaler/zeta-scaler/leadership/leadershiptest"
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

// contest is a lease in a database whose clock is set and which fails over to servers
// with other clocks that have missed the last writes; requests and replies of the
// replicas are lost, late or slow.
type contest struct {
	db    *server
	store state.Store
}

func (c *contest) Replica(_ *testing.T, i int, w *leadershiptest.Weather) func(int) leadershiptest.Candidate {
	way := path{server: c.db, delay: w.Delay, fate: func() fate {
		switch n := w.Dice(100); {
		case n < 10:
			return lost
		case n < 20:
			return unanswered
		}
		return passes
	}}
	return func(n int) leadershiptest.Candidate {
		return candidate(way, fmt.Sprintf("replica-%d/%d", i, n), c.store)
	}
}

// Disturb has another server take over, or sets the clock.
func (c *contest) Disturb(r *rand.Rand) {
	switch r.IntN(400) {
	case 0:
		c.db.failOver(time.Duration(r.IntN(20))*time.Second, time.Duration(r.IntN(7200)-3600)*time.Second)
	case 1:
		// Forwards by less than a replica that has just begun could be misled by.
		c.db.setClock(time.Duration(r.IntN(3604)-3600) * time.Second)
	}
}

func TestNeverTwoLeaders(t *testing.T) {
	leadershiptest.RunNeverTwoLeaders(t, func() leadershiptest.Contest { return &contest{newServer(), memory.New()} })
}
