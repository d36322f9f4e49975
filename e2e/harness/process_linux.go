package harness

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
	"time"
)

// ownGroup puts a process into a group of its own, and has the kernel kill it
// when the thread that started it ends.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitStopped waits until the kernel has stopped a process. A signal that is
// sent before could otherwise overtake the one that stops it.
func awaitStopped(pid int) error {
	const limit, every = 5 * time.Second, time.Millisecond
	for waited := time.Duration(0); waited < limit; waited += every {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return fmt.Errorf("waiting for a process to stop: %w", err)
		}
		// pid (name) STATE …; the name may hold anything.
		if i := bytes.LastIndexByte(b, ')'); i >= 0 && bytes.HasPrefix(b[i:], []byte(") T")) {
			return nil
		}
		time.Sleep(every)
	}
	return fmt.Errorf("process %d did not stop within %s", pid, limit)
}
