package kubernetes

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// scopes is how many ConfigMaps a batch of these tests changes.
const scopes = 5

// round writes the number n into all scopes, the tick and the history.
func round(t testing.TB, s state.Store, n int) error {
	t.Helper()
	var b state.Batch
	for i := range scopes {
		key := fmt.Sprint("scope/", i)
		_, version, err := state.Load[int](t.Context(), s, state.Decision, key)
		if err != nil {
			return err
		}
		p, err := state.NewPut(state.Decision, key, version, n)
		require.NoError(t, err)
		b.Puts = append(b.Puts, p)
		b.History = append(b.History, state.Entry{Scope: key, Kind: state.DecisionEntry, Value: p.Value})
	}
	_, version, err := state.Load[int](t.Context(), s, state.Tick, "set")
	if err != nil {
		return err
	}
	p, err := state.NewPut(state.Tick, "set", version, n)
	require.NoError(t, err)
	b.Puts = append(b.Puts, p)
	_, err = s.Apply(t.Context(), state.NoFence, b)
	return err
}

// rounds returns the number that is in everything, and fails if it is not the
// same everywhere.
func rounds(t testing.TB, s state.Store) int {
	t.Helper()
	n, _, err := state.Load[int](t.Context(), s, state.Tick, "set")
	require.NoError(t, err)
	records, err := s.List(t.Context(), state.Decision)
	require.NoError(t, err)
	require.Len(t, records, scopes)
	for _, r := range records {
		require.Equal(t, fmt.Sprint(n), string(r.Value), "list of %s", r.Key)
		one, err := s.Get(t.Context(), state.Decision, r.Key)
		require.NoError(t, err)
		require.Equal(t, r, one)
		h, err := s.History(t.Context(), state.Filter{Scope: r.Key, Limit: 1000})
		require.NoError(t, err)
		require.Len(t, h, n)
		require.Equal(t, fmt.Sprint(n), string(h[0].Value))
	}
	all, err := s.History(t.Context(), state.Filter{Limit: 1000})
	require.NoError(t, err)
	require.Len(t, all, n*scopes)
	return n
}

// A process dies at every request of a batch, with the request executed or not.
// Another one then sees all of the batch or nothing, and all of it if Apply
// said so; and it writes on.
func TestDeathAtEveryRequest(t *testing.T) {
	dieEverywhere(t, maxInline, func(t *testing.T, s *Store) int { return rounds(t, s) })
}

// Of a batch that is too large for one commit, what belongs to one scope is
// there as a whole or not at all, and the tick only if all of the rest is.
func TestDeathAtEveryRequestOfALargeBatch(t *testing.T) {
	dieEverywhere(t, tooSmall, func(t *testing.T, s *Store) int {
		tick, _, err := state.Load[int](t.Context(), s, state.Tick, "set")
		require.NoError(t, err)
		records, err := s.List(t.Context(), state.Decision)
		require.NoError(t, err)
		require.Len(t, records, scopes)
		for _, r := range records {
			require.Contains(t, []string{fmt.Sprint(tick), fmt.Sprint(tick + 1)}, string(r.Value))
			h, err := s.History(t.Context(), state.Filter{Scope: r.Key, Limit: 1000})
			require.NoError(t, err)
			require.Equal(t, string(r.Value), string(h[0].Value), "a record and its history are one")
		}
		require.NoError(t, round(t, s, tick+1))
		require.Equal(t, tick+1, lastTick(t, s))
		return tick
	})
}

// tooSmall is less than a batch of all scopes needs, and enough for one scope.
const tooSmall = 145

func lastTick(t *testing.T, s *Store) int {
	t.Helper()
	n, _, err := state.Load[int](t.Context(), s, state.Tick, "set")
	require.NoError(t, err)
	return n
}

// dieEverywhere calls look with what a writer has left that died at the n-th
// request of its batch, for every n. It returns the last round that is whole.
func dieEverywhere(t *testing.T, inline int, look func(*testing.T, *Store) int) {
	for _, last := range []fate{lost, unanswered} {
		for at := 1; ; at++ {
			srv := newServer()
			require.NoError(t, round(t, openOn(t, srv), 1))
			writer := openOn(t, srv)
			writer.maxInline = inline
			require.Equal(t, 1, rounds(t, writer))
			begin := srv.requests
			died := false
			srv.fault = func(string, string) fate {
				switch n := srv.requests - begin; {
				case n < at:
					return pass
				case n == at:
					died = true
					return last
				default:
					return lost
				}
			}
			err := round(t, writer, 2)
			srv.fault = nil

			n := look(t, openOn(t, srv))
			if err == nil {
				require.Equal(t, 2, n, "request %d: an acknowledged batch is gone", at)
			}
			other := openOn(t, srv)
			n = lastTick(t, other)
			require.NoError(t, round(t, other, n+1))
			require.Equal(t, n+1, lastTick(t, openOn(t, srv)))
			if !died {
				require.NoError(t, err)
				require.Greater(t, at, scopes, "the batch has fewer requests than ConfigMaps")
				break
			}
		}
	}
}

func TestLargeBatchIsCommittedInPieces(t *testing.T) {
	srv := newServer()
	s := openOn(t, srv)
	s.maxInline = tooSmall
	commits := 0
	srv.fault = func(verb, name string) fate {
		if verb == "update" && name == s.names.root {
			commits++
		}
		return pass
	}
	require.NoError(t, round(t, s, 1))
	require.Greater(t, commits, 1)
	require.Equal(t, 1, rounds(t, s))
	require.NoError(t, round(t, s, 2), "the versions are those of the pieces")
	require.Equal(t, 2, rounds(t, openOn(t, srv)))
}

// Writers whose requests and replies are lost or late at random: no half batch,
// no lost update, and a batch that failed does not turn up later.
func TestRandomFaults(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	srv := newServer()
	require.NoError(t, round(t, openOn(t, srv), 1))
	srv.fault = func(string, string) fate {
		switch random.IntN(30) {
		case 0:
			return lost
		case 1:
			return unanswered
		case 2:
			return delayed
		default:
			return pass
		}
	}
	quietly := func(f func()) {
		fault := srv.fault
		srv.fault = nil
		defer func() { srv.fault = fault }()
		f()
	}
	var writers []*Store
	quietly(func() { writers = []*Store{openOn(t, srv), openOn(t, srv), openOn(t, srv)} })
	made := 1
	for i := 0; i < 300 || made <= 100 && i < 600; i++ { // chance may let few through
		w := writers[random.IntN(len(writers))]
		n := made + 1
		err := round(t, w, n)
		quietly(func() {
			if errors.Is(err, ErrUnknown) {
				// Its next read settles the matter: after it nothing may change.
				require.NoError(t, w.Check(t.Context()))
			}
			have := rounds(t, writers[random.IntN(len(writers))])
			require.Contains(t, []int{made, n}, have)
			if err == nil {
				require.Equal(t, n, have)
			}
			made = have
		})
		if random.IntN(10) == 0 {
			_ = w.Trim(t.Context(), state.Retention{Records: 100000})
		}
	}
	require.Greater(t, made, 100)
}
