//go:build !unix

package config

// Bits of what access is asked for.
const (
	mayExecute = 1
	mayWrite   = 2
	mayRead    = 4
)

// access does not know here.
func access(string, uint32) error { return nil }
