//go:build unix

package config

import "syscall"

// Bits of access(2).
const (
	mayExecute = 1
	mayWrite   = 2
	mayRead    = 4
)

// access reports whether this process may do something with a file.
func access(path string, mode uint32) error { return syscall.Access(path, mode) }
