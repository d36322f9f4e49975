package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/kube"
)

// Arguments of the check file: there must be something in it, or one line of text.
const (
	fileFilled = "filled"
	fileLine   = "line"
)

// path makes a relative path of the file relative to the file's folder. The
// arguments file and folder say what is made, or written, when the service runs;
// it is checked that it can be. The argument read is a folder that is there.
func (d *decoder) path(_ *document.Decoder, n *yaml.Node, s, argument string, p document.Path) (string, bool) {
	s = d.resolve(s)
	if argument == "read" && s != "" {
		why := unlistable(s)
		if why != "" {
			d.Fail(n, CheckFile, d.resolved(n, s), "%s names the folder %s, which cannot be read: %s", p.Subject, strconv.Quote(n.Value), why)
		}
		return s, why == ""
	}
	if argument == "" || s == "" || !d.report.local {
		return s, true
	}
	if err := creatable(s, argument == "folder"); err != nil {
		hint := d.resolved(n, s)
		if hint == "" {
			hint = "check as the user that the service runs as"
		}
		d.Fail(n, CheckFile, hint, "%s names %s, which cannot be written: %v", p.Subject, strconv.Quote(n.Value), err)
		return s, false
	}
	return s, true
}

// creatable says what keeps a file, or a folder, from being made or written by
// this process.
func creatable(path string, folder bool) error {
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir() != folder:
		return errors.New(map[bool]string{true: "it is no folder", false: "it is a folder"}[folder])
	case err == nil && folder:
		return access(path, mayWrite|mayExecute)
	case err == nil:
		return access(path, mayWrite)
	case !missing(err):
		return errors.New(reason(err))
	}
	for above := filepath.Dir(path); ; above = filepath.Dir(above) {
		info, err := os.Stat(above)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("%s is no folder", above)
		case err == nil:
			if err := access(above, mayWrite|mayExecute); err != nil {
				return fmt.Errorf("nothing can be made in %s: %w", above, err)
			}
			return nil
		case !missing(err) || filepath.Dir(above) == above:
			return errors.New(reason(err))
		}
	}
}

// missing reports whether there is no such file, or a file where a folder would
// be.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func (d *decoder) resolve(path string) string {
	if path == "" || d.dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(d.dir, path)
}

// file checks that a file that others will read is there, and what the argument
// says about its text.
func (d *decoder) file(_ *document.Decoder, n *yaml.Node, s, argument string, p document.Path) (string, bool) {
	s = d.resolve(s)
	why := unreadable(s, argument)
	if why == "" {
		return s, true
	}
	d.Fail(n, CheckFile, d.resolved(n, s), "%s names the file %s, which %s", p.Subject, strconv.Quote(n.Value), why)
	return s, false
}

// resolved says where a relative path leads to.
func (d *decoder) resolved(n *yaml.Node, path string) string {
	if d.dir == "" || path == n.Value {
		return ""
	}
	return "relative to the folder of the configuration file, it is " + path
}

// unreadable says why a file cannot be used, empty if it can.
func unreadable(path, argument string) string {
	// Opening a pipe waits for whoever writes into it, and nothing ends that.
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		return "is a pipe: such a file is read again and again, write it to a disk or to memory"
	}
	f, err := os.Open(path)
	if err != nil {
		return "cannot be read: " + reason(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "cannot be read: " + reason(err)
	case info.IsDir():
		return "cannot be read: it is a folder"
	case argument == "":
		return ""
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFileBytes))
	switch {
	case err != nil:
		return "cannot be read: " + reason(err)
	case len(bytes.TrimSpace(b)) == 0:
		return "is empty"
	case argument == fileLine:
		return noLine(bytes.TrimSpace(b))
	}
	return ""
}

// noLine says why a text is not one line that can be sent as it is: the mark is
// invisible in an editor, and a client refuses line breaks at each request.
func noLine(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte("\uFEFF")):
		return "begins with a byte order mark, which would be sent, too: save it without"
	case bytes.ContainsFunc(b, unicode.IsControl):
		return "has a line break or another control character in it: write one line and nothing else"
	}
	return ""
}

// unlistable says why a folder cannot be read, empty if it can.
func unlistable(s string) string {
	info, err := os.Stat(s)
	if err == nil && !info.IsDir() {
		return "it is no folder"
	}
	if err == nil {
		err = access(s, mayRead|mayExecute)
	}
	if err != nil {
		return reason(err)
	}
	return ""
}

// reason is the last part of an error of the system, as paths are said already.
func reason(err error) string {
	why := err.Error()
	if i := strings.LastIndex(why, ": "); i >= 0 {
		why = why[i+2:]
	}
	return why
}

// program checks that a command can be run: a path, or a name that is looked up
// in PATH.
func (d *decoder) program(_ *document.Decoder, n *yaml.Node, s, _ string, p document.Path) (string, bool) {
	name := s
	if strings.ContainsRune(s, filepath.Separator) {
		if name = d.resolve(s); !strings.ContainsRune(name, filepath.Separator) {
			name = "." + string(filepath.Separator) + name // a name alone would be looked up in PATH
		}
	}
	found, err := exec.LookPath(name)
	if err == nil {
		err = interpreted(found)
	}
	if err != nil {
		d.Fail(n, CheckFile, d.resolved(n, name), "%s names the command %s, which cannot be run: %s", p.Subject, strconv.Quote(n.Value), reason(err))
		return name, false
	}
	return name, true
}

// interpreted checks the interpreter that a script names in its first line. One
// that is missing is reported by the system as if the script were.
func interpreted(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil //nolint:nilerr // a program need not be readable
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := io.ReadFull(f, head)
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	line, script := strings.CutPrefix(line, "#!")
	words := strings.Fields(line)
	switch {
	case !script:
		return nil
	case strings.HasSuffix(line, "\r"):
		return errors.New("its first line ends with a carriage return, which becomes a part of the interpreter's name")
	case len(words) == 0:
		return errors.New("its first line names no interpreter")
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return fmt.Errorf("its interpreter %s cannot be run", words[0])
	}
	return nil
}

// kubeconfig checks that a file says how to reach a cluster.
func (d *decoder) kubeconfig(_ *document.Decoder, n *yaml.Node, s, _ string, p document.Path) (string, bool) {
	s, ok := d.file(d.Decoder, n, s, fileFilled, p)
	if !ok {
		return s, false
	}
	if _, err := kube.Open(kube.Options{Kubeconfig: s}); err != nil {
		d.Fail(n, CheckFile, "", "%s: %v", p.Subject, err)
		return s, false
	}
	return s, true
}
