//go:build unix && !linux

package harness

import "syscall"

// ownGroup puts a process into a group of its own. Only Linux can also kill it
// when the test binary dies.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitStopped takes the signal's word for it.
func awaitStopped(int) error { return nil }
