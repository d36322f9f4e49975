//go:build unix

package harness_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

// childEnv makes the test binary start a long-lived child in a lab, print its
// process id and then die without cleaning up.
const childEnv = "ZETA_E2E_HARNESS_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	lab, err := harness.New()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{
		Name: "child", F: func(t *testing.T) {
			p := lab.Start(t, harness.Command{Name: "sleep", Path: "/bin/sleep", Args: []string{"600"}})
			fmt.Printf("%d %s\n", p.PID(), lab.Dir)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		},
	}}, nil, nil)
}

func TestProcessLifecycle(t *testing.T) {
	lab, err := harness.New()
	require.NoError(t, err)
	t.Cleanup(lab.Close)
	p := lab.Start(t, harness.Command{Name: "echo", Path: "/bin/sh", Args: []string{"-c", "echo hello; exec sleep 600"}})
	harness.Wait(t, 10*time.Second, "output is there", func(context.Context) error {
		if !strings.Contains(p.Tail(5), "hello") {
			return fmt.Errorf("log is %q", p.Tail(5))
		}
		return p.Err()
	})
	require.NoError(t, p.Freeze())
	require.Error(t, p.Terminate(100*time.Millisecond), "a frozen process does not end by SIGTERM")
	require.NoError(t, p.Thaw())
	<-p.Exited()
	require.Error(t, p.Err())
	p.Kill() // does nothing
}

// A test binary that is killed cannot clean up, so the kernel has to.
func TestProcessesDieWithTheTestBinary(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	out, err := cmd.Output()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "the child kills itself")
	fields := strings.Fields(string(out))
	require.Len(t, fields, 2, "output %q, errors %q", out, exit.Stderr)
	defer os.RemoveAll(fields[1])
	pid, err := strconv.Atoi(fields[0])
	require.NoError(t, err)
	harness.Wait(t, 10*time.Second, "the orphan is gone", func(context.Context) error {
		if zombie(pid) {
			return nil
		}
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("process %d is still there", pid)
		}
		return nil
	})
}

// zombie reports whether a process has ended and only waits to be collected,
// which nobody does in a container without an init.
func zombie(pid int) bool {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && strings.Contains(string(b), ") Z ")
}
