//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package leadership

import (
	"errors"
	"os"
	"syscall"
)

// flock locks the whole file for this open file, without waiting. The Go
// runtime opens files close-on-exec, so a command that we start does not
// inherit the lock.
func flock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errHeld
		default:
			return err
		}
	}
}
