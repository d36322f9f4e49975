package kubernetes

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

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
	_, err = s.Apply(t.Context(), b)
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
	for _, inline := range []int{maxInline, 1} { // in the root, and in parts
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

				other := openOn(t, srv)
				n := rounds(t, other)
				if err == nil {
					require.Equal(t, 2, n, "request %d: an acknowledged batch is gone", at)
				}
				require.NoError(t, round(t, other, n+1))
				require.Equal(t, n+1, rounds(t, other))
				require.Equal(t, n+1, rounds(t, openOn(t, srv)))
				if !died {
					require.NoError(t, err)
					require.Greater(t, at, scopes, "the batch has fewer requests than ConfigMaps")
					break
				}
			}
		}
	}
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
	for range 300 {
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
			_ = w.Trim(t.Context(), 100000, time.Time{})
		}
	}
	require.Greater(t, made, 100)
}
