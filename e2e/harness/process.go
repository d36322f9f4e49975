//go:build unix

package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// killTimeout is how long the kernel may take to end a killed process.
	killTimeout = 20 * time.Second
	// tailLines is how much of a program's log a failed test shows.
	tailLines = 40
)

// Command is a program to start.
type Command struct {
	// Name is what the test calls it; its output goes to Name.log.
	Name string
	Path string
	Args []string
	// Env is added to the environment, "KEY=value".
	Env []string
	Dir string
	// As is the user that runs it, nil for our own.
	As *syscall.Credential
}

// Process is a started program.
type Process struct {
	Name string
	// Log is the file with its output.
	Log string

	cmd    *exec.Cmd
	exited chan struct{}
	err    error
}

// Start starts a program, says so, and kills it when the test ends. When the
// test has failed by then, Close shows the end of its log.
func (l *Lab) Start(t testing.TB, c Command) *Process {
	t.Helper()
	p, err := l.start(c)
	if err != nil {
		t.Fatalf("starting %s: %v", c.Name, err)
	}
	t.Logf("started %s (pid %d): %s", c.Name, p.PID(), shortened(filepath.Base(c.Path)+" "+strings.Join(c.Args, " ")))
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			l.keepEnd(t.Name(), p)
		}
	})
	return p
}

// keepEnd keeps the end of a program's log until Close.
func (l *Lab) keepEnd(test string, p *Process) {
	end := fmt.Sprintf("%s failed; end of the log of %s:\n%s", test, p.Name, p.Tail(tailLines))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends = append(l.ends, end)
}

func (l *Lab) start(c Command) (*Process, error) {
	log := filepath.Join(l.Dir, c.Name+".log")
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening its log: %w", err)
	}
	defer out.Close()
	//nolint:noctx // a process ends when the test says so, not with a context
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = out, out, c.Dir
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.SysProcAttr = ownGroup()
	cmd.SysProcAttr.Credential = c.As
	p := &Process{Name: c.Name, Log: log, cmd: cmd, exited: make(chan struct{})}
	done := make(chan error, 1)
	l.starts <- startRequest{cmd: cmd, done: done}
	if err := <-done; err != nil {
		return nil, err
	}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	l.mu.Lock()
	l.processes = append(l.processes, p)
	l.mu.Unlock()
	return p, nil
}

// shortened keeps the command line of a JVM from filling the screen.
func shortened(line string) string {
	const longest = 300
	if len(line) > longest {
		return line[:longest] + " …"
	}
	return line
}

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited is closed once the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err is nil while the process runs, else how it ended.
func (p *Process) Err() error {
	select {
	case <-p.exited:
		if p.err == nil {
			return fmt.Errorf("%s ended", p.Name)
		}
		return fmt.Errorf("%s ended: %w", p.Name, p.err)
	default:
		return nil
	}
}

// Kill ends the process and its group at once (SIGKILL) and waits until it is
// gone. It does nothing when it has ended already.
func (p *Process) Kill() {
	select {
	case <-p.exited:
		return
	default:
	}
	_ = syscall.Kill(-p.PID(), syscall.SIGKILL)
	select {
	case <-p.exited:
	case <-time.After(killTimeout):
	}
}

// Terminate asks the process to end (SIGTERM) and returns how it did, or an
// error when it is still there after the limit.
func (p *Process) Terminate(limit time.Duration) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("asking %s to end: %w", p.Name, err)
	}
	select {
	case <-p.exited:
		return p.err
	case <-time.After(limit):
		return fmt.Errorf("%s is still there %s after SIGTERM", p.Name, limit)
	}
}

// Freeze stops the process without ending it (SIGSTOP) and waits until it has
// stopped: it keeps its connections, and answers nothing.
func (p *Process) Freeze() error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("freezing %s: %w", p.Name, err)
	}
	return awaitStopped(p.PID())
}

// Thaw lets a frozen process go on (SIGCONT).
func (p *Process) Thaw() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

// Tail is the last n lines of the log.
func (p *Process) Tail(n int) string {
	b, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
