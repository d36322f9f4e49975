package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for anything; on a busy machine everything
// is slow, and nothing waits that long otherwise.
const patience = 60 * time.Second

// eventually polls until a condition holds.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			require.FailNow(t, "waited in vain", what)
		}
	}
}

// process is a zeta-scaler that runs beside the test.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	log  syncBuffer
	url  string
	done chan struct{} // closed when it has ended
}

// syncBuffer is written by a process and read by a test.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// count is how many lines have a text.
func (s *syncBuffer) count(text string) int {
	n := 0
	for line := range strings.Lines(s.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// command prepares a child process in a folder, untouched by the variables of
// whoever runs the tests.
func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "zeta-scaler", args...)
	cmd.Dir = dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ZETA_SCALER") })
	return cmd
}

// listening finds the address in the log.
var listening = regexp.MustCompile(`(?i)msg"?[=:]"?listening.* ?"?address"?[=:]"?([\d.]+:\d+)`)

// start starts a program that listens on a free port, and waits until it does.
func start(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: command(t, dir, append(args, "--web.listen-address", "127.0.0.1:0")...), done: make(chan struct{})}
	p.cmd.Stderr, p.cmd.Stdout = &p.log, &p.log
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // its state is looked at
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // most have ended
		<-p.done
		if t.Failed() {
			t.Logf("%v said:\n%s", args, p.log.String())
		}
	})
	eventually(t, "listening", func() bool {
		if p.ended() {
			require.FailNow(t, "ended at the start")
		}
		m := listening.FindStringSubmatch(p.log.String())
		if m == nil {
			return false
		}
		p.url = "http://" + m[1]
		return true
	})
	return p
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// request does one request to the process.
func (p *process) request(method, path string) (status int, body string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, http.NoBody)
	require.NoError(p.t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(p.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(p.t, err)
	return resp.StatusCode, string(b)
}

// get is a request that succeeds.
func (p *process) get(path string) string {
	p.t.Helper()
	status, body := p.request(http.MethodGet, path)
	require.Equal(p.t, http.StatusOK, status, body)
	return body
}

// metric is the text of a sample's value, or "" if there is none.
func (p *process) metric(sample string) string {
	p.t.Helper()
	for line := range strings.Lines(p.get("/metrics")) {
		if v, ok := strings.CutPrefix(line, sample+" "); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// client runs a client command against the process.
func (p *process) client(args ...string) string {
	p.t.Helper()
	code, stdout, stderr := runArgs(p.t, append(args, "--server", p.url)...)
	require.Zero(p.t, code, stderr)
	require.Empty(p.t, stderr)
	return stdout
}

// stop asks the process to end, which it does at once and without an error.
func (p *process) stop() {
	p.t.Helper()
	began := time.Now()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	eventually(p.t, "the end", p.ended)
	require.Zero(p.t, p.cmd.ProcessState.ExitCode())
	require.Less(p.t, time.Since(began), 10*time.Second)
	require.NotRegexp(p.t, internals, p.log.String())
}

// refused runs a program that does not even start, and returns what it says.
func refused(t *testing.T, dir string, args ...string) string {
	t.Helper()
	var errs bytes.Buffer
	cmd := command(t, dir, args...)
	cmd.Stderr = &errs
	require.Error(t, cmd.Run())
	require.Equal(t, exitBad, cmd.ProcessState.ExitCode(), errs.String())
	require.NotRegexp(t, internals, errs.String())
	return errs.String()
}

// hangs is a server that takes requests and answers none.
func hangs(t *testing.T) string {
	t.Helper()
	stop := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	}))
	t.Cleanup(func() {
		close(stop)
		s.Close()
	})
	return s.URL
}

// write writes files of a test into a folder.
func write(t *testing.T, dir, name, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
}
