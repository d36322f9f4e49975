package source_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Service discovery and glog-like loggers of the libraries start nothing
	// that is not stopped again; whatever stays was left by this package.
	goleak.VerifyTestMain(m)
}
