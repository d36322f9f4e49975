package leadership_test

import (
	"bytes"
	"context"
	"log/slog"
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
	o := leadership.Options{Store: memory.New(), Clock: at(start), Forgets: true}
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

func (c *contended) Apply(ctx context.Context, f state.Fence, b state.Batch) ([]uint64, error) {
	if c.others > 0 {
		c.others--
		if _, err := leadership.Acquire(ctx, leadership.Options{Store: c.Store, Clock: at(start)}); err != nil {
			return nil, err
		}
	}
	return c.Store.Apply(ctx, f, b)
}

func TestConflictIsRetriedAbove(t *testing.T) {
	s := &contended{Store: memory.New(), others: 3}
	l, err := leadership.Acquire(t.Context(), leadership.Options{Store: s, Clock: at(start)})
	require.NoError(t, err)
	require.Equal(t, uint64(4), l.Epoch())
}

// Who lost its lease while it was about to raise the epoch must not go above its
// successor, however often it has to try.
func TestWhoLostLeadershipRaisesNothing(t *testing.T) {
	s := memory.New()
	tries := 0
	_, err := leadership.Raise(t.Context(), &contended{Store: s, others: 1}, leadership.NewLeader{
		Holder: "old", Since: start,
		Leads: func() error {
			if tries++; tries > 1 {
				return state.ErrFenced
			}
			return nil
		},
	})
	require.ErrorIs(t, err, state.ErrFenced)
	require.Equal(t, 2, tries)
	r, err := state.Leaders(s).Get(t.Context(), state.EpochKey)
	require.NoError(t, err)
	require.Equal(t, uint64(1), r.Value.Epoch, "its successor's")
}

func TestATermWithoutAQuestionIsNeverOver(t *testing.T) {
	require.NoError(t, leadership.NewTerm(1, start, nil).Leads())
	require.NoError(t, leadership.Term{}.Leads())
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
	_, err := s.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{
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

// A service that waits for the lock asks for it again and again.
func TestRefusedLocksLeaveNoFileOpen(t *testing.T) {
	files := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("open files cannot be counted here")
		}
		return len(entries)
	}
	o := leadership.Options{Store: memory.New(), LockFile: filepath.Join(t.TempDir(), "lock"), Clock: at(start)}
	l, err := leadership.Acquire(t.Context(), o)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Release()) }()
	before := files()
	for range 100 {
		_, err = leadership.Acquire(t.Context(), o)
		require.Error(t, err)
	}
	require.Less(t, files(), before+50)
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

// An older state does not bring an old epoch back.
func TestEpochOfAnOlderState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	said := &bytes.Buffer{}
	lead := func(s state.Store) uint64 {
		t.Helper()
		l, err := leadership.Acquire(t.Context(), leadership.Options{
			Store: s, StateFile: path, Clock: at(start), Logger: slog.New(slog.NewTextHandler(said, nil)),
		})
		require.NoError(t, err)
		require.NoError(t, l.Release())
		return l.Epoch()
	}
	s := memory.New()
	require.EqualValues(t, 1, lead(s))
	require.EqualValues(t, 2, lead(s))
	require.Empty(t, said.String())
	require.EqualValues(t, 3, lead(memory.New()), "the state was lost")
	require.Contains(t, said.String(), "the state is older than the last leader")
	require.Contains(t, said.String(), "epoch_of_the_state=0 epoch_of_the_last_leader=2 epoch=3")
	said.Reset()
	require.EqualValues(t, 4, lead(s), "a copy was restored")
	require.Contains(t, said.String(), "epoch_of_the_state=2 epoch_of_the_last_leader=3")
	said.Reset()
	require.EqualValues(t, 5, lead(s))
	require.Empty(t, said.String())

	// The file was made without a witness, or has been copied from elsewhere.
	require.NoError(t, os.Remove(path+".epoch"))
	require.EqualValues(t, 6, lead(s))
	require.Empty(t, said.String())
	require.NoError(t, os.WriteFile(path+".epoch", []byte("six\n"), 0o600))
	_, err := leadership.Acquire(t.Context(), leadership.Options{Store: s, StateFile: path, Clock: at(start)})
	require.ErrorContains(t, err, path+".epoch holds no epoch")
	left, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	require.ElementsMatch(t, []string{path + ".epoch", path + ".lock"}, left)
}

// Two lock files do not make two leaders of one state.
func TestStateIsLocked(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state.db")
	s := memory.New()
	l, err := leadership.Acquire(t.Context(), leadership.Options{
		Store: s, StateFile: state, LockFile: filepath.Join(dir, "lock"), Clock: at(start), Holder: "one",
	})
	require.NoError(t, err)
	for _, lock := range []string{"", filepath.Join(dir, "other"), state + ".lock"} {
		_, err = leadership.Acquire(t.Context(), leadership.Options{Store: s, StateFile: state, LockFile: lock, Clock: at(start)})
		require.ErrorContains(t, err, state+".lock is held by another process")
	}
	free, err := leadership.Acquire(t.Context(), leadership.Options{Store: s, LockFile: filepath.Join(dir, "other"), Clock: at(start)})
	require.NoError(t, err, "who was refused has given back what it had")
	require.NoError(t, free.Release())
	require.NoError(t, l.Release())
	l, err = leadership.Acquire(t.Context(), leadership.Options{Store: s, StateFile: state, LockFile: state + ".lock", Clock: at(start)})
	require.NoError(t, err, "one lock file is locked once")
	require.NoError(t, l.Release())
}

// A process does not take its own lock for that of another, whatever name the
// configuration gives to the file.
func TestLockFileUnderTwoNames(t *testing.T) {
	dir := t.TempDir()
	data, link := filepath.Join(dir, "data"), filepath.Join(dir, "link")
	require.NoError(t, os.Mkdir(data, 0o750))
	require.NoError(t, os.Symlink(data, link))
	o := leadership.Options{
		Store: memory.New(), StateFile: filepath.Join(data, "state.db"), LockFile: filepath.Join(link, "state.db.lock"), Clock: at(start),
	}
	l, err := leadership.Acquire(t.Context(), o)
	require.NoError(t, err)
	_, err = leadership.Acquire(t.Context(), o)
	require.ErrorContains(t, err, "is held by another process")
	require.NoError(t, l.Release())
}
