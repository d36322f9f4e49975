// Package harness starts the programs that the end-to-end tests need, on
// loopback and free ports, waits for conditions, and makes sure that nothing
// that it started outlives the test: not when a test fails, not when it
// panics, and not when the test binary itself is killed.
package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// RequireEnv names the environment variable that turns "cannot be had here,
// skipped" into a failure: CI sets it, so that nothing is skipped unseen.
const RequireEnv = "ZETA_E2E_REQUIRE"

// Lab is one run of end-to-end tests: a folder for everything that is
// written, and the processes that were started.
type Lab struct {
	// Root is the folder of the main module.
	Root string
	// Dir is a temporary folder, removed by Close.
	Dir string

	starts chan startRequest

	mu        sync.Mutex
	processes []*Process
	built     map[string]error
	// ends are of the logs of programs whose tests have failed.
	ends []string
}

// New makes a lab for the module that holds the working directory.
func New() (*Lab, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "zeta-scaler-e2e-")
	if err != nil {
		return nil, fmt.Errorf("making the lab's folder: %w", err)
	}
	l := &Lab{Root: root, Dir: dir, starts: make(chan startRequest), built: map[string]error{}}
	go l.startLoop()
	return l, nil
}

// moduleRoot climbs to the go.mod of the main module.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the module: %w", err)
	}
	for {
		b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.Contains(string(b), "module github.com/zeta-scaler/zeta-scaler\n") {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("finding the module: no go.mod of zeta-scaler above the working directory")
		}
		dir = up
	}
}

// Close kills every process that is still there and removes the lab's folder. It
// shows how the logs of the tests that have failed end: here, and not with the
// tests, whose last lines then say what they failed for.
func (l *Lab) Close() {
	l.mu.Lock()
	processes, ends := l.processes, l.ends
	l.processes, l.ends = nil, nil
	l.mu.Unlock()
	for _, p := range processes {
		p.Kill()
	}
	for _, end := range ends {
		fmt.Println(end)
	}
	close(l.starts)
	_ = os.RemoveAll(l.Dir)
}

type startRequest struct {
	cmd  *exec.Cmd
	done chan error
}

// startLoop starts every process from one thread that lives as long as the
// lab. The kernel ties "kill the child when its parent dies" to the thread
// that forked, and Go ends threads as it likes: started from anywhere else,
// children would be killed at random.
func (l *Lab) startLoop() {
	runtime.LockOSThread()
	for r := range l.starts {
		r.done <- r.cmd.Start()
	}
}
