//go:build e2e && unix

package postgres

import (
	"fmt"
	"os"
	"testing"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

// lab is where every test starts its programs.
var lab *harness.Lab

func TestMain(m *testing.M) {
	var err error
	if lab, err = harness.New(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	lab.Close()
	os.Exit(code)
}
