package leadership_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/leadership"
	"github.com/zeta-scaler/zeta-scaler/state/file"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// Environment that turns the test binary into another process.
const (
	childFolder = "ZETA_SCALER_TEST_LEADER_FOLDER"
	childMode   = "ZETA_SCALER_TEST_LEADER_MODE"
)

func TestMain(m *testing.M) {
	if folder := os.Getenv(childFolder); folder != "" {
		if err := child(context.Background(), folder, os.Getenv(childMode)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child acquires and prints its epoch. In mode "hold" it then keeps the lock
// until stdin ends, in mode "again" it releases and starts over for ever.
func child(ctx context.Context, folder, mode string) error {
	for {
		s, err := file.Open(ctx, file.Options{Path: filepath.Join(folder, "state.db")})
		if err != nil {
			return err
		}
		l, err := leadership.Acquire(ctx, leadership.Options{
			Store: s, LockFile: filepath.Join(folder, "lock"), Clock: time.Now, Holder: "child",
		})
		if err != nil {
			return err
		}
		fmt.Println(l.Epoch())
		if mode == "hold" {
			_, err = io.Copy(io.Discard, os.Stdin)
			return err
		}
		if err := l.Release(); err != nil {
			return err
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
}

// process is a running child.
type process struct {
	*exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

func run(t *testing.T, folder, mode string) *process {
	t.Helper()
	p := &process{Cmd: exec.CommandContext(t.Context(), os.Args[0])}
	p.Env = append(os.Environ(), childFolder+"="+folder, childMode+"="+mode)
	var err error
	p.stdin, err = p.StdinPipe()
	require.NoError(t, err)
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	p.lines = bufio.NewScanner(out)
	require.NoError(t, p.Start())
	return p
}

func (p *process) line(t *testing.T) string {
	t.Helper()
	require.True(t, p.lines.Scan(), "the process said nothing: %v", p.lines.Err())
	return p.lines.Text()
}

func TestSecondProcessIsToldWhoHolds(t *testing.T) {
	folder := t.TempDir()
	first := run(t, folder, "hold")
	require.Equal(t, "1", first.line(t))

	second := run(t, folder, "hold")
	said := second.line(t)
	require.Contains(t, said, filepath.Join(folder, "lock"))
	require.Contains(t, said, "held by another process (pid "+strconv.Itoa(first.Process.Pid)+" child)")
	require.Error(t, second.Wait())

	// The holder crashes: its lock goes with it, its epoch stays spent.
	require.NoError(t, first.Process.Kill())
	require.Error(t, first.Wait())
	third := run(t, folder, "hold")
	require.Equal(t, "2", third.line(t))

	// It leaves in good order.
	require.NoError(t, third.stdin.Close())
	require.NoError(t, third.Wait())
}

func TestLockIsNotInheritedByCommands(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "lock")
	o := leadership.Options{Store: memory.New(), LockFile: lock, Clock: time.Now}
	l, err := leadership.Acquire(t.Context(), o)
	require.NoError(t, err)
	other := run(t, t.TempDir(), "hold")
	other.line(t)
	require.NoError(t, l.Release())
	l, err = leadership.Acquire(t.Context(), o)
	require.NoError(t, err, "a command that is still running keeps the lock")
	require.NoError(t, l.Release())
	require.NoError(t, other.stdin.Close())
	require.NoError(t, other.Wait())
}

// An epoch that anybody saw is never given again, wherever between locking,
// reading, writing and releasing the kill came.
func TestEpochIsNeverReusedAfterKills(t *testing.T) {
	folder := t.TempDir()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	last := 0
	for range 12 {
		p := run(t, folder, "again")
		after, seen := random.IntN(6), 0
		for p.lines.Scan() {
			epoch, err := strconv.Atoi(p.lines.Text())
			require.NoError(t, err)
			require.Greater(t, epoch, last)
			last = epoch
			if seen++; seen > after {
				for until := time.Now().Add(time.Duration(random.IntN(4000)) * time.Microsecond); time.Now().Before(until); {
				}
				require.NoError(t, p.Process.Kill())
				after = 1 << 30
			}
		}
		require.Error(t, p.Wait())
		require.Positive(t, seen)
	}
}
