package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// patience bounds how long a program may take to be ready, or to end.
const patience = 2 * time.Minute

// process is a program that runs beside this one.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan error
}

// start starts a program with its output in a file of dir.
func start(dir, name, path string, args ...string) (*process, error) {
	p := &process{log: filepath.Join(dir, name+".log"), done: make(chan error, 1)}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	//nolint:noctx // it is ended by end
	p.cmd = exec.Command(path, args...)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Dir = out, out, dir
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	return p, nil
}

// end asks the program to end and waits for it.
func (p *process) end() error {
	_ = p.cmd.Process.Signal(os.Interrupt)
	select {
	case err := <-p.done:
		if status, ok := errors.AsType[*exec.ExitError](err); ok && !status.Exited() {
			return nil // by our signal
		}
		return p.explained(err)
	case <-time.After(patience):
		return errors.Join(fmt.Errorf("%s does not end", p.cmd.Path), p.cmd.Process.Kill())
	}
}

// explained adds the end of the log to an error.
func (p *process) explained(err error) error {
	if err == nil {
		return nil
	}
	b, _ := os.ReadFile(p.log)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return fmt.Errorf("%s: %w\n%s", filepath.Base(p.cmd.Path), err, strings.Join(lines[max(0, len(lines)-20):], "\n"))
}

// until waits until ready says so.
func (p *process) until(ctx context.Context, ready func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case end := <-p.done:
			p.done <- end
			return p.explained(fmt.Errorf("it has ended: %w", errors.Join(end, err)))
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return p.explained(err)
		}
	}
}

// userHz is the unit of processor time in /proc, on every Linux that Go runs on.
const userHz = 100

// used is the processor time of a process so far.
func (p *process) used() (time.Duration, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/stat")
	if err != nil {
		return 0, p.explained(fmt.Errorf("reading its processor time: %w", err))
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	words := strings.Fields(rest)
	if len(words) < 13 {
		return 0, fmt.Errorf("reading processor time: %q", rest)
	}
	total := 0
	for _, word := range words[11:13] { // utime and stime
		n, err := strconv.Atoi(word)
		if err != nil {
			return 0, fmt.Errorf("reading processor time: %w", err)
		}
		total += n
	}
	return time.Duration(total) * time.Second / userHz, nil
}

// peak is the most memory that a running process ever took, in MB.
func (p *process) peak() (float64, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmHWM:" {
			kib, err := strconv.ParseFloat(f[1], 64)
			return kib * 1024 / 1e6, err
		}
	}
	return 0, errors.New("/proc does not say how much memory the process took")
}

// own is the processor time of this process.
func own() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// freeAddress is a port of loopback that nobody has.
func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
