package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// Limits on what is read at all.
const (
	maxFileBytes = 4 << 20
	maxDepth     = 40
)

// readFile returns the file's content; nil if it need not exist and does not.
func readFile(path string, required bool) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && !required {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening the configuration: %w", err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	return content, nil
}

// parseFile returns the report of the file and the root of its document, nil
// if there is nothing in it, or after an error.
func parseFile(file string, content []byte, kinds map[string]document.Kinds) (*report, *yaml.Node) {
	r, root := document.Parse(file, content, document.ParseOptions{MaxBytes: maxFileBytes, MaxDepth: maxDepth, Secrets: true})
	return &report{Report: r, kinds: kinds, places: map[string]place{}}, root
}

// fileLeaves decodes the configuration file.
func (r *report) fileLeaves(root *yaml.Node, dir string) []document.Leaf {
	if root == nil {
		return nil
	}
	return r.decoder(FromFile, r.File, dir).Leaves(root, document.Root[Config](), title)
}

// title is what errors call the whole document.
const title = "the configuration"

// folder is what relative paths of a file are relative to.
func folder(file string) string { return filepath.Dir(file) }
