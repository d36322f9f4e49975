//go:build unix

package exec

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// ownGroup puts the command into a process group of its own, so that it can be
// ended with all that it started.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithUs(cmd.SysProcAttr)
}

// terminate asks the group of p to end.
func terminate(p *os.Process) error {
	err := syscall.Kill(-p.Pid, syscall.SIGTERM)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// kill ends what is left of the group of p. The number of a group is not given
// to others while a process of it lives.
func kill(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
