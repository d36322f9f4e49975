package jobs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// maxFiles is how many entries of a folder are looked at.
const maxFiles = 10_000

// formats are the formats by the end of a file's name, as Zeta names them.
func formats() map[string]string {
	return map[string]string{".json": "json", ".conf": "hocon", ".hocon": "hocon", ".sql": "sql"}
}

// FormatOf is the format of a file by the end of its name; other files are not
// configs.
func FormatOf(name string) (format string, ok bool) {
	format, ok = formats()[strings.ToLower(filepath.Ext(name))]
	return format, ok
}

// inFolder finds what is registered for a job: in the folder itself, and in the
// one below it that is called as the cluster.
func (l *Library) inFolder(cluster string, j control.Job) ([]found, error) {
	if l.Folder == "" {
		return nil, nil
	}
	root, err := os.OpenRoot(l.Folder)
	if err != nil {
		return nil, fmt.Errorf("opening the folder of job configs: %w", err)
	}
	defer root.Close()
	all, err := l.below(root, ".", j)
	if err != nil || !filepath.IsLocal(cluster) || cluster == "." {
		return all, err
	}
	own, err := l.below(root, cluster, j)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return append(all, own...), err
}

func (l *Library) below(root *os.Root, dir string, j control.Job) ([]found, error) {
	names, err := list(root, dir)
	if err != nil {
		return nil, fmt.Errorf("reading the folder of job configs: %w", err)
	}
	var out []found
	for _, name := range names {
		format, ok := FormatOf(name)
		stem := strings.TrimSuffix(name, filepath.Ext(name))
		if !ok || !belongs(stem, j) {
			continue
		}
		where := filepath.Join(l.Folder, dir, name)
		text, err := readFile(root, path.Join(dir, name), MaxConfig)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		out = append(out, found{control.Config{Format: format, Text: text, Named: stem != j.ID}, where})
	}
	return out, nil
}

// list is what is in a folder, sorted.
func list(root *os.Root, dir string) ([]string, error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(maxFiles + 1)
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	case len(names) > maxFiles:
		return nil, fmt.Errorf("there are more than %d files in it", maxFiles)
	}
	slices.Sort(names)
	return names, nil
}

// belongs reports whether a file's name, without its end, is that of a job: its
// id or its name. A number is an id and nothing else.
func belongs(stem string, j control.Job) bool {
	if isNumber(stem) {
		return stem == j.ID
	}
	return j.Name != "" && (stem == j.Name || stem == url.PathEscape(j.Name))
}

// fileName is how a file for the job is called, without its end.
func fileName(j control.Job) string {
	if j.Name == "" || isNumber(j.Name) {
		return j.ID
	}
	return url.PathEscape(j.Name)
}

func isNumber(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

// readFile reads a file that is not too large. Links are followed as long as
// they stay in the root, as those of a mounted ConfigMap do.
func readFile(root *os.Root, name string, limit int64) ([]byte, error) {
	info, err := root.Stat(name)
	switch {
	case err != nil && strings.Contains(err.Error(), "escapes"):
		return nil, errors.New("it is a link that leads out of the folder, which is not followed")
	case err != nil:
		return nil, plain(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a file")
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, plain(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, plain(err)
	case int64(len(text)) > limit:
		return nil, fmt.Errorf("it is longer than %d KiB", limit>>10)
	case len(text) == 0:
		return nil, errors.New("it is empty")
	}
	return text, nil
}

// plain leaves out the path that the caller names anyway.
func plain(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
