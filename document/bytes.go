package document

import (
	"fmt"
	"math"
	"strconv"
)

// Bytes is a number of bytes, written with a unit: 64MiB.
type Bytes int64

// Units of Bytes. Those with a power of ten are not read: in Prometheus, KB is
// 1024, elsewhere it is 1000.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
)

// String is the shortest exact spelling.
func (b Bytes) String() string {
	switch {
	case b != 0 && b%GiB == 0:
		return strconv.FormatInt(int64(b/GiB), 10) + "GiB"
	case b != 0 && b%MiB == 0:
		return strconv.FormatInt(int64(b/MiB), 10) + "MiB"
	case b != 0 && b%KiB == 0:
		return strconv.FormatInt(int64(b/KiB), 10) + "KiB"
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

// parseBytes reads a whole number with the unit B, KiB, MiB or GiB.
func parseBytes(s string) (Bytes, error) {
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	unit, ok := map[string]Bytes{"B": 1, "KiB": KiB, "MiB": MiB, "GiB": GiB}[s[digits:]]
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	if err != nil || !ok || n > math.MaxInt64/int64(unit) {
		return 0, fmt.Errorf("%q is not a number of bytes such as 64MiB", s)
	}
	return Bytes(n) * unit, nil
}
