package exec

import (
	"bytes"
	"os"
	"os/exec"
	"time"
)

// fillTimeout is for a request that does not fit into a pipe: what does, is there
// at once.
const fillTimeout = 10 * time.Millisecond

// handOver puts the request into the standard input of a command that has not
// started. If we are killed right after the start, the command has the request
// all the same, and never takes an empty input for one. started is called once
// the start was tried, and the function that it returns once the command ended.
func handOver(cmd *exec.Cmd, request []byte) (started func() (ended func()), err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	if err := w.SetWriteDeadline(time.Now().Add(fillTimeout)); err != nil {
		// Pipes cannot be written without waiting here.
		_, _ = r.Close(), w.Close()
		cmd.Stdin = bytes.NewReader(request)
		return func() func() { return func() {} }, nil
	}
	cmd.Stdin = r
	n, _ := w.Write(request) // what did not fit follows
	if n == len(request) {
		_ = w.Close()
		return func() func() { _ = r.Close(); return func() {} }, nil
	}
	return func() func() {
		_ = r.Close()
		_ = w.SetWriteDeadline(time.Time{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = w.Write(request[n:]) // a command need not read it
			_ = w.Close()
		}()
		return func() { _ = w.Close(); <-done }
	}, nil
}
