//go:build unix && !linux

package exec

import "syscall"

// dieWithUs does nothing: the kernel cannot be asked for it.
func dieWithUs(*syscall.SysProcAttr) {}
