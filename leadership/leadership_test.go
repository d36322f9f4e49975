package leadership_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/leadership"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/file"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

var start = time.Date(2026, 3, 4, 5, 6, 7, 890000000, time.UTC)

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

func TestEpochGrowsOverRestarts(t *testing.T) {
	folder := t.TempDir()
	for want := uint64(1); want <= 3; want++ {
		s, err := file.Open(t.Context(), file.Options{Path: filepath.Join(folder, "state.db")})
		require.NoError(t, err)
		l, err := leadership.Acquire(t.Context(), leadership.Options{
			Store: s, LockFile: filepath.Join(folder, "run", "lock"), Clock: at(start), Holder: "host/1",
		})
		require.NoError(t, err)
		require.Equal(t, want, l.Epoch())
		require.Equal(t, start, l.Since())

		r, _, err := state.Load[state.LeaderRecord](t.Context(), s, state.Leader, state.EpochKey)
		require.NoError(t, err)
		require.Equal(t, state.LeaderRecord{Epoch: want, Holder: "host/1", Since: start}, r)
		require.NoError(t, l.Release())
		require.NoError(t, l.Release(), "a second release is harmless")
		require.NoError(t, s.Close())
	}
}

func TestEpochOfMemoryIsUnixMilliseconds(t *testing.T) {
	o := leadership.Options{Store: memory.New(), Clock: at(start), Memory: true}
	l, err := leadership.Acquire(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, uint64(start.UnixMilli()), l.Epoch())

	// The same store asked twice, and a clock that stands still or goes back.
	l, err = leadership.Acquire(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, uint64(start.UnixMilli())+1, l.Epoch())
	o.Clock = at(start.Add(-time.Hour))
	l, err = leadership.Acquire(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, uint64(start.UnixMilli())+2, l.Epoch())
	require.NoError(t, l.Release())
}

func TestEveryLeaderHasItsOwnEpoch(t *testing.T) {
	const leaders = 20
	s := memory.New()
	epochs := make([]uint64, leaders)
	g, ctx := errgroup.WithContext(t.Context())
	for i := range leaders {
		g.Go(func() error {
			l, err := leadership.Acquire(ctx, leadership.Options{Store: s, Clock: at(start)})
			if err == nil {
				epochs[i] = l.Epoch()
			}
			return err
		})
	}
	require.NoError(t, g.Wait())
	want := make([]uint64, leaders)
	for i := range want {
		want[i] = uint64(i) + 1
	}
	require.ElementsMatch(t, want, epochs)
}

// contended lets another writer be first for a number of writes.
type contended struct {
	state.Store
	others int
}

func (c *contended) Apply(ctx context.Context, b state.Batch) ([]uint64, error) {
	if c.others > 0 {
		c.others--
		if _, err := leadership.Acquire(ctx, leadership.Options{Store: c.Store, Clock: at(start)}); err != nil {
			return nil, err
		}
	}
	return c.Store.Apply(ctx, b)
}

func TestConflictIsRetriedAbove(t *testing.T) {
	s := &contended{Store: memory.New(), others: 3}
	l, err := leadership.Acquire(t.Context(), leadership.Options{Store: s, Clock: at(start)})
	require.NoError(t, err)
	require.Equal(t, uint64(4), l.Epoch())
}

func TestFailedStoreFreesTheLock(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "lock")
	s := memory.New()
	require.NoError(t, s.Close())
	_, err := leadership.Acquire(t.Context(), leadership.Options{Store: s, LockFile: lock, Clock: at(start)})
	require.ErrorIs(t, err, state.ErrClosed)
	require.ErrorContains(t, err, "raising the epoch")

	l, err := leadership.Acquire(t.Context(), leadership.Options{Store: memory.New(), LockFile: lock, Clock: at(start)})
	require.NoError(t, err)
	require.NoError(t, l.Release())
}

func TestUnreadableEpochIsNotOverwritten(t *testing.T) {
	s := memory.New()
	_, err := s.Apply(t.Context(), state.Batch{Puts: []state.Put{
		{Kind: state.Leader, Key: state.EpochKey, Value: []byte(`{"epoch":"seven"}`)},
	}})
	require.NoError(t, err)
	_, err = leadership.Acquire(t.Context(), leadership.Options{Store: s, Clock: at(start)})
	require.ErrorContains(t, err, `decoding leader record "epoch"`)
}

func TestLockFile(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "lock")
	o := leadership.Options{Store: memory.New(), LockFile: lock, Clock: at(start), Holder: "host/7"}
	l, err := leadership.Acquire(t.Context(), o)
	require.NoError(t, err)
	b, err := os.ReadFile(lock)
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(os.Getpid())+" host/7\n", string(b))

	_, err = leadership.Acquire(t.Context(), o)
	require.ErrorContains(t, err, lock)
	require.ErrorContains(t, err, "held by another process (pid "+strconv.Itoa(os.Getpid())+" host/7)")
	require.ErrorContains(t, err, "stop that one")
	b, err = os.ReadFile(lock)
	require.NoError(t, err)
	require.NotEmpty(t, b, "the loser leaves the holder's name alone")

	require.NoError(t, l.Release())
	b, err = os.ReadFile(lock)
	require.NoError(t, err, "the file stays, or two waiters could both hold a lock")
	require.Empty(t, b)
	l, err = leadership.Acquire(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, l.Release())
}

func TestLockFileErrors(t *testing.T) {
	folder := t.TempDir()
	notAFolder := filepath.Join(folder, "file")
	require.NoError(t, os.WriteFile(notAFolder, nil, 0o600))
	for name, tc := range map[string]struct{ path, want string }{
		"a folder":         {folder, "opening lock file " + folder},
		"folder is a file": {filepath.Join(notAFolder, "lock"), "creating the folder of lock file"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := leadership.Acquire(t.Context(),
				leadership.Options{Store: memory.New(), LockFile: tc.path, Clock: at(start)})
			require.ErrorContains(t, err, tc.want)
		})
	}
}
