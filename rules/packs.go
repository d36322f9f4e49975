package rules

import (
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/document"
)

//go:embed packs/*.yaml
var packFiles embed.FS

// packNames are the packs in the order in which they are shown.
func packNames() []string {
	return []string{"zeta-auto", "zeta-fixed-slot", "zeta-dynamic-slot", "zeta-ample", "zeta-responsive", "zeta-thrifty", "zeta-telemetry-only"}
}

// Packs lists the rule sets that are part of the binary.
func Packs() []string { return packNames() }

// Pack returns an embedded rule set, and the file as it was written.
func Pack(name string) (*RuleSet, []byte, error) {
	if strings.HasSuffix(name, changedSuffix) {
		return nil, nil, fmt.Errorf("%w %q: it is a pack with what a configuration sets; write it to a file with zeta-scaler rules show %s --config.file FILE, and give that",
			errNoPack, name, name)
	}
	data, err := packFiles.ReadFile("packs/" + name + ".yaml")
	if err != nil || strings.HasSuffix(name, "_test") {
		return nil, nil, fmt.Errorf("%w %q, expected %s", errNoPack, name, document.OneOf(packNames()))
	}
	rs, err := Parse(packFile+name, data)
	if err != nil {
		return nil, nil, fmt.Errorf("reading pack %s: %w", name, err)
	}
	return rs, data, nil
}

// PackTest returns the rule test file that lies beside a pack.
func PackTest(name string) ([]byte, error) {
	data, err := packFiles.ReadFile("packs/" + name + "_test.yaml")
	if err != nil {
		return nil, fmt.Errorf("reading the tests of pack %q: %w", name, err)
	}
	return data, nil
}

// errNoPack is returned for a name that no pack has.
var errNoPack = errors.New("no such pack")
