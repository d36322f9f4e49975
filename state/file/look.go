package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	sqlite3 "modernc.org/sqlite/lib"
)

// The header of an SQLite file, and where in it what we look at stands:
// https://sqlite.org/fileformat.html.
const (
	headerSize    = 100
	atPageSize    = 16
	atPages       = 28
	atUserVersion = 60
	atApplication = 68
)

// magic begins every SQLite file.
var magic = []byte("SQLite format 3\x00")

// Look says why the store could not be opened, as far as the beginning of its
// file tells: no state, of another program or of a newer version, cut short. It
// changes nothing and may run beside the service; a file that is not there is
// made by Open. What is damaged further inside only Open finds.
func (o *Options) Look() error {
	path := o.File()
	return explain(path, look(path))
}

func look(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && info.Size() == 0:
		return checkLog(path)
	case err != nil:
		return err
	}
	if err := plausible(info); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // opened for reading
	h := make([]byte, headerSize)
	if _, err := io.ReadFull(f, h); err != nil {
		return err
	}
	if !bytes.HasPrefix(h, magic) {
		return errors.New(remedy(sqlite3.SQLITE_NOTADB))
	}
	if v := int(binary.BigEndian.Uint32(h[atUserVersion:])); v > format {
		return newerError{v}
	}
	// Until SQLite has moved them into the file, the newest pages are in the log.
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		return nil
	}
	size := int64(binary.BigEndian.Uint16(h[atPageSize:]))
	if size == 1 {
		size = 65536
	}
	if want := size * int64(binary.BigEndian.Uint32(h[atPages:])); info.Size() < want {
		return fmt.Errorf("is damaged (%d bytes of %d are there): %s", info.Size(), want, startEmpty)
	}
	if binary.BigEndian.Uint32(h[atApplication:]) != applicationID {
		return errForeign
	}
	return nil
}
