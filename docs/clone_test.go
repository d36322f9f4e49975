package docs

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// elsewhere are ways to refer to what a clone does not have: notes of whoever
// writes, or a section of a proposal, which is named but not kept here.
var elsewhere = regexp.MustCompile(`\bseeds/|\bfacts/[\w.-]+|\.\./shared\b|\b(?:STIP|FLIP-\d+|AIP-5),? §`)

// TestNothingRefersToWhatACloneLacks looks through every text of the
// repository; acceptance.md says where the lines that it lists are from.
func TestNothingRefersToWhatACloneLacks(t *testing.T) {
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch d.Name() {
			case ".git", "bin", "dist", "data", "artifacts":
				return filepath.SkipDir
			}
			return nil
		}
		if name := filepath.Base(path); name == ".git" || name == "acceptance.md" || name == "clone_test.go" || name == "go.sum" || !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if bytes.IndexByte(text, 0) >= 0 {
			return nil
		}
		require.Empty(t, string(elsewhere.Find(text)), "%s refers to what a clone does not have; write what it says, or cite docs/specification", path)
		return nil
	})
	require.NoError(t, err)
}
