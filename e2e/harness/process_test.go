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

// childEnv says what TestOfChild does, in a test binary that another one starts.
const childEnv = "ZETA_E2E_HARNESS_CHILD"

// TestOfChild is a test of the child: it takes ports; or it starts a program, and
// then dies without cleaning up, or fails.
func TestOfChild(t *testing.T) {
	child := os.Getenv(childEnv)
	switch child {
	case "":
		return // other tests play it
	case "takes ports":
		for range 400 {
			fmt.Println(harness.FreePorts(t, 1))
		}
		return
	}
	lab := labOfChild
	p := lab.Start(t, harness.Command{Name: "program", Path: "/bin/sh", Args: []string{"-c", "echo words of the program; exec sleep 600"}})
	if child == "dies" {
		fmt.Printf("%d %s\n", p.PID(), lab.Dir)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	harness.Wait(t, 30*time.Second, "output is there", func(context.Context) error {
		if p.Tail(1) == "" {
			return errors.New("it is not")
		}
		return nil
	})
	t.Fatal("why it failed")
}

// labOfChild is closed when the child's tests are over.
var labOfChild *harness.Lab

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	var err error
	if labOfChild, err = harness.New(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	labOfChild.Close()
	os.Exit(code)
}

// childOf runs TestOfChild and returns what it prints.
func childOf(t *testing.T, does string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestOfChild$")
	cmd.Env = append(os.Environ(), childEnv+"="+does)
	out, err := cmd.Output()
	return string(out), err
}

// What a test failed for is the last that it prints: the logs of its programs
// come when all tests are over.
func TestLogsComeAfterTheFailure(t *testing.T) {
	out, err := childOf(t, "fails")
	require.Error(t, err)
	require.Regexp(t, `(?s)--- FAIL: TestOfChild.*why it failed\nFAIL\nTestOfChild failed; end of the log of program:\nwords of the program\n$`, out)
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
	out, err := childOf(t, "dies")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "the child kills itself")
	fields := strings.Fields(out)
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
