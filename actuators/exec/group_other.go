//go:build !unix

package exec

import (
	"os"
	"os/exec"
)

// ownGroup does nothing: there are no process groups here.
func ownGroup(*exec.Cmd) {}

// terminate kills p: it cannot be asked.
func terminate(p *os.Process) error { return p.Kill() }

// kill does nothing more than terminate.
func kill(*os.Process) {}
