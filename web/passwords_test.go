package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// counted compares without working, and counts the rounds that bcrypt would do.
func counted(p *passwords, right string) *atomic.Int64 {
	rounds := &atomic.Int64{}
	p.compare = func(hash, password []byte) error {
		cost, err := bcrypt.Cost(hash)
		if err != nil {
			return err
		}
		rounds.Add(1 << cost)
		if string(password) == right {
			return nil
		}
		return bcrypt.ErrMismatchedHashAndPassword
	}
	return rounds
}

// costly are users whose hashes have different costs.
func costly() map[string]string {
	return map[string]string{"ann": nobody(6), "bob": nobody(9), "carl": nobody(10)}
}

// The time of an answer must not tell whether there is such a user, so every
// guess costs the same work.
func TestEveryGuessCostsTheSame(t *testing.T) {
	p := newPasswords()
	rounds := counted(p, "right")
	for _, tc := range []struct{ user, password string }{
		{"ann", "guess"}, {"bob", "guess"}, {"carl", "guess"}, {"dora", "guess"}, {"", "guess"}, {"ann", "right"}, {"dora", "right"},
	} {
		before := rounds.Load()
		ok, err := p.match(t.Context(), "a", costly(), tc.user, tc.password)
		require.NoError(t, err)
		require.Equal(t, tc.user == "ann" && tc.password == "right", ok)
		require.EqualValues(t, 1<<10, rounds.Load()-before, "%s %s", tc.user, tc.password)
	}
}

func TestVerdictsAreRemembered(t *testing.T) {
	p := newPasswords()
	rounds := counted(p, "right")
	match := func(user, password string) bool {
		ok, err := p.match(t.Context(), "a", costly(), user, password)
		require.NoError(t, err)
		return ok
	}
	require.True(t, match("ann", "right"))
	for i := range 2*maxVerdicts + 1 {
		require.False(t, match("ann", fmt.Sprint(i)))
	}
	require.LessOrEqual(t, len(p.wrong), maxVerdicts)
	before := rounds.Load()
	require.True(t, match("ann", "right"), "guesses do not make those forgotten who are known")
	require.Equal(t, before, rounds.Load())
	changed := costly()
	changed["ann"] = nobody(7)
	_, err := p.match(t.Context(), "a", changed, "ann", "right")
	require.NoError(t, err)
	require.Greater(t, rounds.Load(), before, "a verdict ends with its hash")
}

// Whoever comes with a right password that nobody has compared yet waits for
// other newcomers at most, however many guess.
func TestGuessersKeepNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPasswords()
		rounds := counted(p, "right")
		work := p.compare
		p.compare = func(hash, password []byte) error {
			time.Sleep(time.Second)
			return work(hash, password)
		}
		users := map[string]string{"ann": nobody(4)}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		busy, guessers := atomic.Int64{}, sync.WaitGroup{}
		for i := range 100 {
			guessers.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					_, err := p.match(ctx, fmt.Sprint("guesser ", i%40), users, "ann", fmt.Sprint(i, n))
					if errors.Is(err, errBusy) {
						busy.Add(1)
						time.Sleep(100 * time.Millisecond)
					}
				}
			})
		}
		time.Sleep(time.Minute / 2)
		known := func() int { // a source that has not guessed wrong yet is a newcomer, too
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.suspects)
		}
		for known() < 40 {
			time.Sleep(time.Second)
		}
		before := rounds.Load()
		began := time.Now()
		ok, err := p.match(ctx, "a newcomer", users, "ann", "right")
		require.NoError(t, err)
		require.True(t, ok)
		require.LessOrEqual(t, time.Since(began), 2*time.Second, "of the clock in which a comparison takes one")
		require.LessOrEqual(t, (rounds.Load()-before)/(1<<4), int64(4), "comparisons in the meantime")
		require.Positive(t, busy.Load(), "not all of them wait")
		stop()
		guessers.Wait()
	})
}

// Who sends the same password again and again while it is compared does not
// take up all connections with that.
func TestWaitingForTheSameComparisonIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPasswords()
		counted(p, "right")
		work := p.compare
		p.compare = func(hash, password []byte) error {
			time.Sleep(time.Second)
			return work(hash, password)
		}
		var right, busy atomic.Int64
		for range maxConnections {
			go func() {
				ok, err := p.match(t.Context(), "a", map[string]string{"ann": nobody(4)}, "ann", "right")
				if ok {
					right.Add(1)
				}
				if errors.Is(err, errBusy) {
					busy.Add(1)
				}
			}()
		}
		synctest.Wait()
		require.EqualValues(t, maxConnections-1-maxSame, busy.Load(), "they are told at once")
		time.Sleep(time.Minute)
		require.EqualValues(t, 1+maxSame, right.Load())
		require.Empty(t, p.same)
	})
}

// A source that has guessed wrong is one like any other a minute later, and at
// once when it knows a password.
func TestSuspicionEnds(t *testing.T) {
	p := newPasswords()
	counted(p, "right")
	now := time.Unix(1e9, 0)
	p.now = func() time.Time { return now }
	p.everybody.taken <- struct{}{} // only the reserved place is free
	match := func(password string) error {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if _, guessed := p.suspects["a"]; !guessed || now.Sub(p.suspects["a"]) >= suspicion {
			ctx = t.Context() // there is a place for it
		}
		_, err := p.match(ctx, "a", costly(), "ann", password)
		return err
	}
	require.NoError(t, match("guess"))
	require.ErrorIs(t, match("another"), context.Canceled)
	now = now.Add(suspicion)
	require.NoError(t, match("another"))
	now = now.Add(suspicion)
	require.NoError(t, match("right"))
	require.Empty(t, p.suspects)
}

func TestSuspectsAreBounded(t *testing.T) {
	p := newPasswords()
	counted(p, "right")
	for i := range maxSuspects + 10 {
		_, err := p.match(t.Context(), fmt.Sprint(i), costly(), "ann", fmt.Sprint(i))
		require.NoError(t, err)
	}
	require.LessOrEqual(t, len(p.suspects), maxSuspects)
}

func TestSources(t *testing.T) {
	for remote, want := range map[string]string{
		"10.0.0.1:1234":           "10.0.0.1",
		"[::ffff:10.0.0.1]:1":     "10.0.0.1",
		"[2001:db8::1]:80":        "2001:db8::/64",
		"[2001:db8::ffff:1]:80":   "2001:db8::/64",
		"[fe80::1%eth0]:80":       "fe80::/64",
		"a pipe without a number": "a pipe without a number",
	} {
		require.Equal(t, want, source(remote))
	}
}

// Guessing never makes the service answer 429, which Alertmanager takes for
// final.
func TestBusyIsAReasonToTryAgain(t *testing.T) {
	s := listen(t, Options{ConfigFile: users(t)})
	for range maxWaiting {
		s.auth.passwords.unsuspected.waiting <- struct{}{}
	}
	r := request(t)
	r.SetBasicAuth("ann", "secret")
	w := httptest.NewRecorder()
	s.protect(echo).ServeHTTP(w, r)
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, "1", w.Header().Get("Retry-After"))
}

// To bcrypt, a password that is repeated behind a NUL is the same one.
func TestANULIsInNoPassword(t *testing.T) {
	s := listen(t, Options{ConfigFile: users(t)})
	for _, password := range []string{"secret\x00secret", "secret\x00"} {
		r := request(t)
		r.SetBasicAuth("ann", password)
		_, status, _ := s.refuse(r)
		require.Equal(t, http.StatusUnauthorized, status)
	}
}
