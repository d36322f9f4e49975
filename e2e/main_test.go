//go:build e2e && unix

package e2e

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

// lab is where every test starts its programs.
var lab *harness.Lab

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == forwardTo {
		os.Exit(forward(os.Args[2]))
	}
	var err error
	if lab, err = harness.New(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("end-to-end tests on %s %s/%s, %d CPUs\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	code := m.Run()
	lab.Close()
	os.Exit(code)
}
