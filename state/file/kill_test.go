package file_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/file"
)

// childPath makes the test binary a writer that is going to be killed.
const childPath = "ZETA_SCALER_TEST_STATE_WRITER"

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		fmt.Fprintln(os.Stderr, write(context.Background(), path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// write applies batches for ever and prints the number of each one that was
// acknowledged. Batch n sets two records to n and appends history entry n.
func write(ctx context.Context, path string) error {
	s, err := file.Open(ctx, file.Options{Path: path})
	if err != nil {
		return err
	}
	keys := []string{"a", "b"}
	for {
		b := state.Batch{}
		n := 0
		for _, key := range keys {
			have, version, err := state.Load[int](ctx, s, state.Decision, key)
			if err != nil {
				return err
			}
			n = have + 1
			p, err := state.NewPut(state.Decision, key, version, n)
			if err != nil {
				return err
			}
			b.Puts = append(b.Puts, p)
		}
		b.History = []state.Entry{{
			Scope: "a", At: time.Unix(int64(n), 0), Action: "NO_ACTION", Kind: state.DecisionEntry,
			Value: []byte(strconv.Itoa(n)),
		}}
		if _, err := s.Apply(ctx, state.NoFence, b); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// TestKilledAtAnyMoment is spec 4.4: killed at any instant, the store opens
// again with every acknowledged write.
func TestKilledAtAnyMoment(t *testing.T) {
	const rounds = 12
	path := filepath.Join(t.TempDir(), "state.db")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	acknowledged := 0
	for range rounds {
		acknowledged = max(acknowledged, runAndKill(t, path, random))

		// What was under way when the kill came may be there or not, but never a
		// part of it.
		stored := requireWhole(t, path)
		require.GreaterOrEqual(t, stored, acknowledged)
		require.LessOrEqual(t, stored, acknowledged+1)
		acknowledged = stored
	}
	require.Greater(t, acknowledged, rounds, "the writer hardly got to write")
}

// TestKilledWhileCreating kills the writer once its file is there and before it
// has written anything: the next start finds a complete empty store.
func TestKilledWhileCreating(t *testing.T) {
	creating := 0
	for i := range 20 {
		path := filepath.Join(t.TempDir(), "new", "state.db")
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childPath+"="+path)
		var acknowledged strings.Builder
		cmd.Stdout = &acknowledged
		require.NoError(t, cmd.Start())
		// Spin, because the moment is a matter of microseconds.
		for ended := time.Now().Add(time.Minute); ; {
			if _, err := os.Stat(path); err == nil {
				break
			}
			require.True(t, time.Now().Before(ended), "the writer creates no file")
		}
		for until := time.Now().Add(time.Duration(i*250) * time.Microsecond); time.Now().Before(until); {
		}
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
		if acknowledged.Len() == 0 {
			creating++
		}
		requireWhole(t, path)
	}
	require.Greater(t, creating, 3, "most were killed after they had created the file")
}

// runAndKill starts a writer, kills it after a random number of
// acknowledgements and a random fraction of a write, and returns the last
// acknowledged number.
func runAndKill(t *testing.T, path string, random *rand.Rand) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childPath+"="+path)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	after, lines, last := random.IntN(30), 0, 0
	for sc := bufio.NewScanner(out); sc.Scan(); {
		last, err = strconv.Atoi(sc.Text())
		require.NoError(t, err)
		if lines++; lines > after {
			// Spin, because the moment is a matter of microseconds; lines that
			// come meanwhile are still read below, they were acknowledged too.
			for until := time.Now().Add(time.Duration(random.IntN(1000)) * time.Microsecond); time.Now().Before(until); {
			}
			_ = cmd.Process.Kill()
			after = 1 << 30
		}
	}
	require.Error(t, cmd.Wait())
	require.Positive(t, lines, "the writer failed: %s", stderr.String())
	return last
}

// requireWhole opens the store, checks that every batch is there as a whole
// and returns the last one.
func requireWhole(t *testing.T, path string) int {
	t.Helper()
	s, err := file.Open(t.Context(), file.Options{Path: path})
	require.NoError(t, err)
	defer s.Close()
	a, _, err := state.Load[int](t.Context(), s, state.Decision, "a")
	require.NoError(t, err)
	b, _, err := state.Load[int](t.Context(), s, state.Decision, "b")
	require.NoError(t, err)
	require.Equal(t, a, b)
	f := state.Filter{Limit: state.MaxHistoryLimit}
	next := a
	for {
		page, err := s.History(t.Context(), f)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			require.Equal(t, strconv.Itoa(next), string(e.Value))
			next--
			f.Before = e.ID
		}
	}
	require.Zero(t, next, "history has a gap")
	require.NoError(t, s.Close())

	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	defer db.Close()
	var verdict, mode string
	require.NoError(t, db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict))
	require.Equal(t, "ok", verdict)
	require.NoError(t, db.QueryRowContext(t.Context(), "PRAGMA journal_mode").Scan(&mode))
	require.Equal(t, "wal", mode)
	return a
}
