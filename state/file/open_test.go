package file_test

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/file"
)

// shell runs SQL on a file, as an operator with a shell would.
func shell(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), text)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

// filled returns the path of a closed store with some content.
func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := file.Open(t.Context(), file.Options{Path: path})
	require.NoError(t, err)
	b := state.Batch{}
	for i := range 500 {
		p, err := state.NewPut(state.Decision, strconv.Itoa(i), 0, strings.Repeat("x", 200))
		require.NoError(t, err)
		b.Puts = append(b.Puts, p)
	}
	_, err = s.Apply(t.Context(), state.NoFence, b)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	return path
}

func TestOpenErrorsSayWhatToDo(t *testing.T) {
	for name, tc := range map[string]struct {
		path func(t *testing.T) string
		want []string
	}{
		"no path":  {func(*testing.T) string { return "" }, []string{"expected the path of a file (state.path)"}},
		"a folder": {func(t *testing.T) string { return t.TempDir() }, []string{"is a directory"}},
		"not SQLite": {func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "notes.txt")
			require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("remember the milk\n"), 100), 0o600))
			return path
		}, []string{"notes.txt", "is not a state file", "choose another state.path", "-wal"}},
		"what is left of a file": {func(t *testing.T) string {
			path := filled(t)
			require.NoError(t, os.Truncate(path, 100))
			return path
		}, []string{"has 100 bytes", "choose another state.path", "restore a copy"}},
		"SQLite of another program": {func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "grafana.db")
			shell(t, path, "CREATE TABLE dashboard (id INTEGER)")
			return path
		}, []string{"an SQLite file of another program", "choose another state.path"}},
		"another application id": {func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "other.db")
			shell(t, path, "PRAGMA application_id = 7; CREATE TABLE record (id INTEGER)")
			return path
		}, []string{"an SQLite file of another program"}},
		"newer": {func(t *testing.T) string {
			path := filled(t)
			shell(t, path, "PRAGMA user_version = 9")
			return path
		}, []string{"newer zeta-scaler", "state format 9", "up to 1", "run the newer version"}},
		"no format": {func(t *testing.T) string {
			path := filled(t)
			shell(t, path, "PRAGMA user_version = 0")
			return path
		}, []string{"an SQLite file of another program"}},
		"damaged": {func(t *testing.T) string {
			path := filled(t)
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Greater(t, len(b), 20*4096)
			for i := 5 * 4096; i < 12*4096; i++ {
				b[i] ^= 0xa5
			}
			require.NoError(t, os.WriteFile(path, b, 0o600))
			return path
		}, []string{"is damaged", "restore a copy"}},
		"cut short": {func(t *testing.T) string {
			path := filled(t)
			require.NoError(t, os.Truncate(path, 3*4096))
			return path
		}, []string{"is damaged", "restore a copy"}},
		"folder is a file": {func(t *testing.T) string {
			parent := filepath.Join(t.TempDir(), "data")
			require.NoError(t, os.WriteFile(parent, nil, 0o600))
			return filepath.Join(parent, "state.db")
		}, []string{"creating its folder", "not a directory"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := tc.path(t)
			s, err := file.Open(t.Context(), file.Options{Path: path})
			require.Error(t, err)
			require.Nil(t, s)
			require.ErrorContains(t, err, path)
			for _, want := range tc.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestLockedByAnotherProcess(t *testing.T) {
	path := filled(t)
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	defer db.Close()
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)

	impatient := file.Options{Path: path, BusyTimeout: 10 * time.Millisecond}
	_, err = file.Open(t.Context(), impatient)
	require.ErrorContains(t, err, "is locked by another process: stop it")

	_, err = conn.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	s, err := file.Open(t.Context(), impatient)
	require.NoError(t, err)
	defer s.Close()
	_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	put := state.Put{Kind: state.Tick, Key: "a", Value: []byte(`{}`)}
	_, err = s.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{put}})
	require.ErrorContains(t, err, "is locked by another process")
	require.ErrorContains(t, s.Check(t.Context()), "is locked by another process")
	_, err = s.Get(t.Context(), state.Decision, "1")
	require.NoError(t, err, "reads go on beside a writer")

	_, err = conn.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	_, err = s.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{put}})
	require.NoError(t, err, "the failed write left nothing behind")
}

// A full disk is stood for by a page limit: the write fails, the content of
// before stays, and the store works again once there is room.
func TestDiskFull(t *testing.T) {
	path := filled(t)
	s := open(t, path)
	limit := func(pages int) {
		t.Helper()
		require.NoError(t, file.SetMaxPages(t.Context(), s, pages))
	}
	limit(1) // below what is used already: no growth at all
	big, err := state.NewPut(state.Control, "big", 0, strings.Repeat("x", 1<<20))
	require.NoError(t, err)
	_, err = s.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{big}})
	require.ErrorContains(t, err, "free space on its disk")
	_, err = s.Get(t.Context(), state.Control, "big")
	require.ErrorIs(t, err, state.ErrNotFound)
	limit(1 << 20)
	_, err = s.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{big}})
	require.NoError(t, err)
}

func TestFileDeletedWhileOpen(t *testing.T) {
	path := filled(t)
	s := open(t, path)
	put := state.Put{Kind: state.Tick, Key: "a", Value: []byte(`{}`)}
	require.NoError(t, os.Remove(path))
	_, err := s.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{put}})
	require.ErrorContains(t, err, "is gone, restart", "a write that nobody will find must not be acknowledged")
	require.ErrorContains(t, s.Check(t.Context()), "is gone, restart")

	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, err = s.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{put}})
	require.ErrorContains(t, err, "was replaced while it was open")
}

func TestReopenKeepsEverything(t *testing.T) {
	path := filepath.Join(t.TempDir(), `odd name?#%20;&'".db`)
	s, err := file.Open(t.Context(), file.Options{Path: path})
	require.NoError(t, err)
	at := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	versions, err := s.Apply(t.Context(), state.NoFence, state.Batch{
		Puts:    []state.Put{{Kind: state.Decision, Key: "a", Value: []byte(`{"n":1}`)}},
		History: []state.Entry{{Scope: "a", At: at, Action: "SCALE_OUT", Kind: state.DecisionEntry, Value: []byte(`{"n":1}`)}},
	})
	require.NoError(t, err)
	before, err := s.History(t.Context(), state.Filter{Limit: 1})
	require.NoError(t, err)
	require.NoError(t, s.Close())

	s = open(t, path)
	r, err := s.Get(t.Context(), state.Decision, "a")
	require.NoError(t, err)
	require.Equal(t, state.Record{Kind: state.Decision, Key: "a", Version: versions[0], Value: []byte(`{"n":1}`)}, r)
	after, err := s.History(t.Context(), state.Filter{Limit: 1})
	require.NoError(t, err)
	require.Equal(t, before, after)
	// The first trim after a restart knows about scopes that it never saw grow.
	require.NoError(t, s.Trim(t.Context(), state.Retention{Records: 0}))
	after, err = s.History(t.Context(), state.Filter{Limit: 1})
	require.NoError(t, err)
	require.Empty(t, after)
}

// Every setting that durability rests on, as SQLite itself reports it.
func TestPragmas(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "state.db"))
	got, err := file.Pragmas(t.Context(), s, "journal_mode", "synchronous", "busy_timeout", "user_version", "application_id")
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"journal_mode": "wal", "synchronous": "2", "busy_timeout": "5000",
		"user_version": "1", "application_id": strconv.Itoa(0x5A534331),
	}, got)
}

// History must be found by index for every filter that an operator can give.
func TestHistoryUsesIndexes(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "state.db"))
	now := time.Now()
	for name, f := range map[string]state.Filter{
		"scope":            {Scope: "a"},
		"scope and kind":   {Scope: "a", Kind: "decision"},
		"scope and action": {Scope: "a", Action: "SCALE_OUT"},
		"action":           {Action: "SCALE_OUT"},
		"since":            {Since: now},
		"scope and since":  {Scope: "a", Since: now},
		"cursor":           {Before: 7},
		"none":             {},
	} {
		t.Run(name, func(t *testing.T) {
			f.Limit = 10
			plan, err := file.HistoryPlan(t.Context(), s, f)
			require.NoError(t, err)
			if name != "none" {
				require.Contains(t, plan, "SEARCH history")
			}
			if !f.Since.IsZero() && f.Scope == "" {
				require.Contains(t, plan, "COVERING INDEX history_at")
			}
			if f.Since.IsZero() || f.Scope != "" {
				require.NotContains(t, plan, "TEMP B-TREE", "entries come in order without sorting")
			}
		})
	}
}

func TestApplyWaitsUnderItsContext(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "state.db"))
	release, err := file.HoldWriter(t.Context(), s)
	require.NoError(t, err)
	defer func() { require.NoError(t, release()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	_, err = s.Apply(ctx, state.NoFence, state.Batch{Removes: []state.Remove{{Kind: state.Tick, Key: "a"}}})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
