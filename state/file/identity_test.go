package file_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/file"
)

func openAt(t *testing.T, path string) (*file.Store, error) {
	t.Helper()
	s, err := file.Open(t.Context(), file.Options{Path: path})
	if err == nil {
		t.Cleanup(func() { _ = s.Close() })
	}
	return s, err
}

func raiseTo(t *testing.T, s state.Store, epoch uint64) error {
	t.Helper()
	_, err := state.Leaders(s).Change(t.Context(), state.EpochKey,
		func(state.Row[state.LeaderRecord]) (state.LeaderRecord, []state.Entry, bool) {
			return state.LeaderRecord{Epoch: epoch}, nil, true
		})
	return err
}

func epochOf(t *testing.T, s state.Store) uint64 {
	t.Helper()
	r, err := state.Leaders(s).Get(t.Context(), state.EpochKey)
	require.NoError(t, err)
	return r.Value.Epoch
}

// killed copies a store that is open, as a kill leaves it, into a new folder.
func killed(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "state.db")
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to+suffix, b, 0o600))
	}
	return to
}

// Without the files beside it a store that goes on would acknowledge what a
// kill loses.
func TestFilesBesideTheState(t *testing.T) {
	for _, suffix := range []string{"-wal", "-shm"} {
		for name, change := range map[string]func(path string) error{
			"removed":  os.Remove,
			"replaced": func(path string) error { return os.Rename(copied(t, path), path) },
		} {
			t.Run(name+" "+suffix, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "state.db")
				s, err := openAt(t, path)
				require.NoError(t, err)
				require.NoError(t, raiseTo(t, s, 7))
				require.NoError(t, s.Check(t.Context()))
				require.NoError(t, change(path+suffix))

				err = raiseTo(t, s, 8)
				require.ErrorContains(t, err, "has lost "+path+suffix)
				require.ErrorContains(t, err, "restart")
				require.Error(t, s.Check(t.Context()))

				// What was acknowledged is in the file, whatever becomes of the process.
				b, err := os.ReadFile(path)
				require.NoError(t, err)
				alone := filepath.Join(t.TempDir(), "state.db")
				require.NoError(t, os.WriteFile(alone, b, 0o600))
				again, err := openAt(t, alone)
				require.NoError(t, err)
				require.EqualValues(t, 7, epochOf(t, again))
			})
		}
	}
}

func copied(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	to := path + ".copy"
	require.NoError(t, os.WriteFile(to, b, 0o600))
	return to
}

func TestLogWithoutItsState(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"empty":   func(path string) error { return os.Truncate(path, 0) },
		"missing": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			s, err := openAt(t, filepath.Join(t.TempDir(), "first.db"))
			require.NoError(t, err)
			require.NoError(t, s.Close())
			path := filepath.Join(t.TempDir(), "state.db")
			s, err = openAt(t, path)
			require.NoError(t, err)
			require.NoError(t, raiseTo(t, s, 7))
			left := killed(t, path)
			require.NoError(t, change(left))
			_, err = openAt(t, left)
			require.ErrorContains(t, err, "is missing or empty, but "+left+"-wal is not")
			require.ErrorContains(t, err, "put the state file back")
		})
	}
}

// A flipped bit anywhere in the log but in its last transaction is found; what a
// kill leaves is not taken for one.
func TestFlippedBitInTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := openAt(t, path)
	require.NoError(t, err)
	for epoch := range uint64(6) {
		require.NoError(t, raiseTo(t, s, epoch+1))
	}
	whole := killed(t, path)
	again, err := openAt(t, whole)
	require.NoError(t, err)
	require.EqualValues(t, 6, epochOf(t, again))

	log, err := os.ReadFile(path + "-wal")
	require.NoError(t, err)
	end := len(log)
	for at := 8; at < end*2/3; at += 997 {
		left := killed(t, path)
		b := append([]byte(nil), log...)
		b[at] ^= 0x10
		require.NoError(t, os.WriteFile(left+"-wal", b, 0o600))
		_, err := openAt(t, left)
		require.ErrorContains(t, err, "is damaged", "byte %d of %d", at, end)
	}
	// Torn anywhere: it opens, with less.
	for at := 0; at < end; at += 499 {
		left := killed(t, path)
		require.NoError(t, os.Truncate(left+"-wal", int64(at)))
		_, err := openAt(t, left)
		require.NoError(t, err, "at %d of %d", at, end)
	}
}

// A link to the state leads to what belongs to it: the log, the lock and the
// epoch of the last leader.
func TestStateBehindALink(t *testing.T) {
	folder, links := t.TempDir(), t.TempDir()
	path, link := filepath.Join(folder, "state.db"), filepath.Join(links, "second.db")
	require.NoError(t, os.Symlink(path, filepath.Join(links, "first.db")))
	require.NoError(t, os.Symlink("first.db", link))

	s, err := openAt(t, link)
	require.NoError(t, err, "also where the file is not there yet")
	require.NoError(t, raiseTo(t, s, 7))
	o := file.Options{Path: link}
	require.Equal(t, path, o.File())
	require.Equal(t, path+".lock", o.LockFile())
	entries, err := os.ReadDir(links)
	require.NoError(t, err)
	require.Len(t, entries, 2, "nothing but the links")

	// A link that leads somewhere else is another file.
	require.NoError(t, os.WriteFile(filepath.Join(links, "other.db"), nil, 0o600))
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink("other.db", link))
	require.ErrorContains(t, raiseTo(t, s, 8), "was replaced while it was open")
	require.NoError(t, s.Close())

	again, err := openAt(t, path)
	require.NoError(t, err)
	require.EqualValues(t, 7, epochOf(t, again))
}
