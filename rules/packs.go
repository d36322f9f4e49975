package rules

import (
	"embed"
	"errors"
	"fmt"
	"strings"
)

//go:embed packs/*.yaml
var packFiles embed.FS

// packNames are the packs in the order in which they are shown.
func packNames() []string {
	return []string{"zeta-auto", "zeta-fixed-slot", "zeta-dynamic-slot", "zeta-telemetry-only"}
}

// Packs lists the rule sets that are part of the binary.
func Packs() []string { return packNames() }

// Pack returns an embedded rule set, and the file as it was written.
func Pack(name string) (*RuleSet, []byte, error) {
	data, err := packFiles.ReadFile("packs/" + name + ".yaml")
	if err != nil || strings.HasSuffix(name, "_test") {
		return nil, nil, fmt.Errorf("%w %q, expected %s", errNoPack, name, oneOf(packNames()))
	}
	rs, err := Parse("pack:"+name, data)
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
