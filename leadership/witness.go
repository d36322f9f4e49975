package leadership

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// witness is a small file beside the state that has the newest epoch under which
// anybody led with it. A state that is older, because a copy was restored or
// its -wal file was lost, does not bring an old epoch back.
type witness string

// epoch is 0 if there is no witness.
func (w witness) epoch() (uint64, error) {
	b, err := os.ReadFile(string(w))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the last epoch: %w", err)
	}
	epoch, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("file %s holds no epoch: write the greatest epoch that platforms have recorded into it, "+
			"or delete it if they have recorded none: %w", w, err)
	}
	return epoch, nil
}

// write puts a new file in the place of the old one, durably.
func (w witness) write(epoch uint64) error {
	if err := w.replace(fmt.Appendf(nil, "%d\n", epoch)); err != nil {
		return fmt.Errorf("keeping the epoch beside the state: %w", err)
	}
	return nil
}

func (w witness) replace(content []byte) error {
	folder := filepath.Dir(string(w))
	f, err := os.CreateTemp(folder, filepath.Base(string(w))+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), string(w))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
