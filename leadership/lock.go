package leadership

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// errHeld says that another process has the lock.
var errHeld = errors.New("held by another process")

// fileLock is an open, locked file. The kernel frees the lock when the process
// ends, however it ends. The file is never removed: whoever waited for the old
// one and whoever created a new one would both hold a lock.
type fileLock struct {
	file *os.File
	path string
}

// lockFile locks path at once or fails. The content is for people, and for the
// error message of whoever comes second.
func lockFile(path, holder string) (*fileLock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("creating the folder of lock file %s: %w", path, err)
	}
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("lock file %s cannot be written: let this user write to it and to its folder, "+
				"or choose another leadership.lock_file: %w", path, err)
		}
		if err != nil {
			return nil, fmt.Errorf("opening lock file %s: %w", path, err)
		}
		if err := flock(f); err != nil {
			err = lockError(f, path, err)
			_ = f.Close()
			return nil, err
		}
		same, err := stillAt(f, path)
		if err == nil && same {
			l := &fileLock{file: f, path: path}
			err = l.write(fmt.Sprintf("%d %s\n", os.Getpid(), holder))
			if err == nil {
				return l, nil
			}
		}
		_ = f.Close()
		if err != nil {
			return nil, fmt.Errorf("locking file %s: %w", path, err)
		}
		// It was removed between opening and locking: lock the new one.
	}
}

// lockError names the holder.
func lockError(f *os.File, path string, err error) error {
	if !errors.Is(err, errHeld) {
		return fmt.Errorf("locking file %s: %w", path, err)
	}
	who := "its pid is not written in the file yet"
	if b, readErr := io.ReadAll(io.LimitReader(f, 1024)); readErr == nil {
		pid, holder, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
		if _, atoiErr := strconv.Atoi(pid); atoiErr == nil {
			who = strings.TrimSpace("pid " + pid + " " + holder)
		}
	}
	return fmt.Errorf("lock file %s is %w (%s): only one zeta-scaler may decide; "+
		"stop that one, or give this one its own leadership.lock_file and state.path", path, err, who)
}

// stillAt reports whether path leads to the file that is open.
func stillAt(f *os.File, path string) (bool, error) {
	open, err := f.Stat()
	if err != nil {
		return false, err
	}
	now, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return os.SameFile(open, now), nil
}

func (l *fileLock) write(text string) error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(text), 0)
	return err
}

// release empties the file, so that no pid of a process that is gone stays in
// it, and unlocks it by closing.
func (l *fileLock) release() error {
	if err := errors.Join(l.write(""), l.file.Close()); err != nil {
		return fmt.Errorf("releasing lock file %s: %w", l.path, err)
	}
	return nil
}
