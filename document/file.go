package document

import (
	"io"
	"os"
)

// ReadFile reads a file that should have at most so many bytes: of a larger one it
// gives one more, so that whoever gets them, such as Parse, says that it is too large.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}
