package file

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// SQLite's log (the -wal file) is read before SQLite reads it: it starts without
// a word from an older state if it cannot use the log, or not all of it. The
// format is described at https://sqlite.org/fileformat2.html#walformat.
const (
	logHeader   = 32
	frameHeader = 24
	logMagic    = 0x377f0682 // with checksums in little endian; + 1: in big endian
)

// checkLog fails if the log holds what SQLite would not find: the state file is
// missing or empty, or a frame in the middle is damaged.
func checkLog(path string) error {
	f, err := os.Open(path + "-wal")
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // opened for reading
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	state, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist), err == nil && state.Size() == 0:
		return fmt.Errorf("is missing or empty, but %s-wal is not: put the state file back that belongs to it, or %s", path, startEmpty)
	case err != nil:
		return err
	}
	return readLog(f)
}

// readLog looks for commits behind a frame that is damaged. What a kill leaves
// is a torn end: at most the frames of one transaction, with its commit last.
func readLog(f io.Reader) error {
	header := make([]byte, logHeader)
	if _, err := io.ReadFull(f, header); err != nil {
		return nil // torn at its very beginning: nothing was acknowledged in it
	}
	if string(header) == string(make([]byte, logHeader)) {
		return nil // a power cut before it was written
	}
	magic := binary.BigEndian.Uint32(header)
	if magic&^1 != logMagic {
		return fmt.Errorf("is damaged: its -wal file is none: %s", startEmpty)
	}
	var order binary.ByteOrder = binary.LittleEndian
	if magic&1 == 1 {
		order = binary.BigEndian
	}
	sum := checksum{order: order}
	sum.add(header[:24])
	if !sum.is(header[24:]) {
		return fmt.Errorf("is damaged: the head of its -wal file is: %s", startEmpty)
	}
	size := binary.BigEndian.Uint32(header[8:])
	if size == 1 {
		size = 65536
	}
	frame := make([]byte, frameHeader+int(size))
	broken, behind := false, 0
	for {
		if _, err := io.ReadFull(f, frame); err != nil || string(frame[8:16]) != string(header[16:24]) {
			return nil // the end, or what an older log has left
		}
		if !broken {
			sum.add(frame[:8])
			sum.add(frame[frameHeader:])
			broken = !sum.is(frame[16:])
		}
		if !broken {
			continue
		}
		if behind > 0 {
			return fmt.Errorf("is damaged: its -wal file is, in the middle, and what was stored after that would be lost: %s", startEmpty)
		}
		if binary.BigEndian.Uint32(frame[4:]) != 0 {
			behind++
		}
	}
}

// checksum is that of SQLite's log, over all that was read.
type checksum struct {
	order  binary.ByteOrder
	s0, s1 uint32
}

func (c *checksum) add(b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		c.s0 += c.order.Uint32(b) + c.s1
		c.s1 += c.order.Uint32(b[4:]) + c.s0
	}
}

func (c *checksum) is(b []byte) bool {
	return binary.BigEndian.Uint32(b) == c.s0 && binary.BigEndian.Uint32(b[4:]) == c.s1
}
