package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// opened is a file as it was when it was opened.
type opened struct {
	path string
	os.FileInfo
}

// maxLinks bounds how many links are followed, as Linux does.
const maxLinks = 40

// behindLinks is the file to which a path leads, whether or not it is there yet:
// SQLite keeps its files beside that one, not beside a link to it, and so is the
// lock of those who come by another path.
func behindLinks(path string) string {
	for range maxLinks {
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return path
}

// watch remembers the files that SQLite keeps beside the state as long as it is
// open. A transaction makes sure that they are there.
func (s *Store) watch(ctx context.Context) error {
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := tx.Rollback(); err != nil {
		return err
	}
	for _, path := range []string{s.path + "-wal", s.path + "-shm"} {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		s.files = append(s.files, opened{path, info})
	}
	return nil
}

// inPlace fails if one of the files was deleted or replaced under us. What only
// the one that is gone has is saved into the state file, where the next start
// finds it.
func (s *Store) inPlace(ctx context.Context) error {
	for i, f := range s.files {
		err := f.inPlace()
		switch {
		case err == nil:
		case i == 0:
			return explain(s.path, err)
		default:
			return explain(s.path, errors.Join(fmt.Errorf("has lost %s: %w", f.path, err), s.save(ctx)))
		}
	}
	return nil
}

func (f opened) inPlace() error {
	now, err := os.Stat(f.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("was opened but is gone, restart to create a new one: %w", err)
	case err != nil:
		return err
	case !os.SameFile(f.FileInfo, now):
		return errors.New("was replaced while it was open, restart to use the new one")
	}
	return nil
}

// save moves everything from the log, which is still open, into the file.
func (s *Store) save(ctx context.Context) error {
	if _, err := s.writer.ExecContext(context.WithoutCancel(ctx), "PRAGMA wal_checkpoint(FULL)"); err != nil {
		return fmt.Errorf("saving what was stored last: %w", err)
	}
	return nil
}
