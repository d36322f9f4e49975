//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package leadership

import (
	"errors"
	"os"
)

// flock refuses: without a lock that ends with its process, a crash would
// either block the next start or let two processes decide.
func flock(*os.File) error { return errors.ErrUnsupported }
